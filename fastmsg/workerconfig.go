package fastmsg

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// Handler handles the requests that a Worker receives. All calls come from
// the worker's goroutine, one at a time.
type Handler interface {
	// Opened announces a connection before its first request.
	Opened(c *Conn)
	// Serve handles one request, and answers it by c.Respond (and
	// c.RespondPart) at any time during the call, or defers the answer: to
	// steps by c.Continue, or to another goroutine by c.Later. m.Payload is
	// valid during the call only; the handler may modify it.
	Serve(c *Conn, m Message)
	// Closed announces the end of a connection; err is the reason.
	// c.Respond has no effect any more, and c.QueuePair is closed.
	Closed(c *Conn, err error)
}

// WorkerConfig configures a Worker. The zero value works.
type WorkerConfig struct {
	// RingBytes is the size of each connection's request ring (0:
	// DefaultRingBytes). The largest request is a quarter of it.
	RingBytes int
	// Polling is the paper's polling mode: the worker never sleeps.
	Polling bool
	// OwnThread gives the worker an operating system thread of its own while it
	// polls, and then it never yields to other goroutines: only the kernel
	// takes its core away, as from a thread of the paper's server. It keeps one of
	// GOMAXPROCS, so there must be more of those than such workers. Over an emulated
	// device it changes nothing: goroutines are the card there.
	OwnThread bool
	// MailboxInRing makes Conn.Ride write messages into the rings of answers, as the
	// paper sends its heartbeats (section IV-A). Clients of programs before it
	// end their connections on such a message.
	MailboxInRing bool
	// Budget counts the bytes that wait at the server for clients to take them:
	// encoded answers beyond 64 KiB of a connection, requests that are answered
	// later, and the bytes that Conn.Hold takes. A source is a host, or a
	// process of this one. Nil: without bounds.
	Budget *limits.Budget
	// Rings counts how much memory of this process the rings of connections may
	// take (RingsBytes): a client chooses the size of its response ring, and
	// the worker keeps a copy of that ring. A connection that Rings refuses is
	// rejected. Nil: without bounds.
	Rings *limits.Budget
	// MaxLater is how many requests of one connection may be answered later
	// (Conn.Later) at a time; 0: as many as a Caller has in flight by default.
	MaxLater int
	// StallTimeout (0: 10 s) ends the connection of a client that takes none of
	// its answers during that time (slow.go).
	StallTimeout time.Duration
	// Hello, if set, checks a client's hello and returns the answer, at
	// most MaxHello bytes. If it fails, the connection is rejected with
	// that error. It is called from Accept.
	Hello func(peer string, hello []byte) (answer []byte, err error)
	// Tick, if set, is called every TickEvery (0: 10 ms) while there are
	// connections, also between the requests of a saturated worker. conns
	// is valid during the call. If Tick returns false, ticks stop until
	// something arrives; if a tick is overdue then, it comes at once.
	TickEvery time.Duration
	Tick      func(now time.Time, conns []*Conn) (more bool)
	// Now is the clock (nil: time.Now), for tests.
	Now func() time.Time
}

// defaultTick is the heartbeat interval of the paper (section IV-A).
const defaultTick = 10 * time.Millisecond

func (c *WorkerConfig) setDefaults() error {
	if c.RingBytes == 0 {
		c.RingBytes = DefaultRingBytes
	}
	if c.TickEvery == 0 {
		c.TickEvery = defaultTick
	}
	if c.StallTimeout == 0 {
		c.StallTimeout = defaultStall
	}
	if c.StallTimeout < slowChecks {
		return fmt.Errorf("%w: StallTimeout %v, must be positive", ErrConfig, c.StallTimeout)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxLater == 0 {
		c.MaxLater = defaultInFlight
	}
	if c.MaxLater < 0 {
		return fmt.Errorf("%w: MaxLater %d, must be positive", ErrConfig, c.MaxLater)
	}
	if c.TickEvery < 0 {
		return fmt.Errorf("%w: TickEvery %v, must be positive", ErrConfig, c.TickEvery)
	}
	return checkRing(c.RingBytes)
}
