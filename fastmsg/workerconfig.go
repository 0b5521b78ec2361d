package fastmsg

import (
	"fmt"
	"time"
)

// Handler is what a Worker serves. All calls come from the worker's
// goroutine, one at a time.
type Handler interface {
	// Opened announces a connection before its first request.
	Opened(c *Conn)
	// Serve handles one request. Answers go out by c.Respond (and
	// c.RespondPart) at any time during the call. m.Payload is valid
	// during the call only, and the handler may change it.
	Serve(c *Conn, m Message)
	// Closed ends a connection: err is why. c.Respond does nothing any
	// more, and c.QueuePair is closed.
	Closed(c *Conn, err error)
}

// WorkerConfig configures a Worker. The zero value works.
type WorkerConfig struct {
	// RingBytes is the size of each connection's request ring (0:
	// DefaultRingBytes). The largest request is a quarter of it.
	RingBytes int
	// Polling is the paper's polling mode: the worker never sleeps.
	Polling bool
	// Hello, if set, judges a client's hello and makes the answer, at
	// most MaxHello bytes. Its error is the reason of the refusal.
	// Called from Accept.
	Hello func(peer string, hello []byte) (answer []byte, err error)
	// Tick, if set, is called every TickEvery (0: 10 ms) while there
	// are connections, also between the requests of a saturated worker.
	// conns is valid during the call. Returning false stops the ticks
	// until something arrives; the first tick after that comes at once
	// if one is overdue.
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
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.TickEvery < 0 {
		return fmt.Errorf("%w: TickEvery %v, must be positive", ErrConfig, c.TickEvery)
	}
	return checkRing(c.RingBytes)
}
