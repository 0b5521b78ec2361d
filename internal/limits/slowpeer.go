package limits

import "time"

// How slow a peer may be. A peer that rests costs little. But what it began to send
// must arrive, and what it asked for must be taken, in time:
//
//	a request, a frame   FrameTimeout, and its bytes at LeastRate
//	an answer            StallTimeout for each WriteChunk, and all of it at LeastRate
//	a call over gRPC, or a request over HTTP
//	                     some of it in each IdleTimeout: proxies are slow, and their
//	                     bytes are counted
const (
	FrameTimeout = 5 * time.Second
	StallTimeout = 10 * time.Second
	IdleTimeout  = 30 * time.Second
	// GreetingTimeout bounds a TLS handshake, its wait for a scheduling slot, the time
	// until a connection speaks HTTP/2, and that of a request's headers.
	GreetingTimeout = 10 * time.Second

	LeastRate = 64 << 10 // bytes per second
	// WriteChunk is how many bytes are passed to a socket at once.
	WriteChunk = 256 << 10
)

// TransferTime is the time that n bytes take at LeastRate.
func TransferTime(n int) time.Duration { return time.Duration(n) * time.Second / LeastRate }
