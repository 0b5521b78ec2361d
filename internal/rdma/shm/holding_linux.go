package shm

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/catfish-index/catfish/internal/limits"
)

// holding is the share of the device's budgets that one connection holds.
// When one of them needs the room, it ends the connection.
type holding struct {
	from       string          // the source that the peer counts for
	connection *limits.Account // nil if this side dialed
	mapped     *limits.Account

	mu    sync.Mutex
	cause error       // why the connection was cut
	end   func(error) // ends the connection in its present state
}

// holdFor opens the accounts of a connection that end ends, for the peer.
func (d *device) holdFor(p process, accepted bool, end func(error)) *holding {
	h := &holding{from: p.source(uint32(os.Geteuid())), end: end}
	if accepted {
		h.connection = d.opt.Connections.Open(h.from, h.cut)
	}
	h.mapped = d.opt.Mapped.Open(h.from, h.cut)
	return h
}

func (h *holding) cut(why error) {
	h.mu.Lock()
	end := h.end
	if h.cause == nil {
		h.cause = why
	}
	h.mu.Unlock()
	end(why)
}

// why adds to an error that the connection was cut, if that caused the error.
func (h *holding) why(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil || errors.Is(err, h.cause) {
		return err
	}
	return fmt.Errorf("%w: %w", h.cause, err)
}

// endBy replaces the function that ends the connection. The error is that of
// an earlier cut.
func (h *holding) endBy(end func(error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = end
	return h.cause
}

// close returns everything. A second call does nothing.
func (h *holding) close() {
	h.connection.Close()
	h.mapped.Close()
}

// takeMapping counts n more bytes of the peer's regions. The caller holds mu.
func (p *queuePair) takeMapping(n int) error {
	if limit := p.dev.opt.MaxMapped; int64(n) > limit-p.mapped {
		return fmt.Errorf("%w: %s: a region of %d bytes, %d are mapped, limit %d for one connection",
			ErrLimit, p.peer, n, p.mapped, limit)
	}
	if err := p.holds.mapped.Take(int64(n)); err != nil {
		return fmt.Errorf("shm: map a region of %s: %w", p.peer, err)
	}
	p.mapped += int64(n)
	return nil
}

// giveMapping is the opposite. The caller holds mu.
func (p *queuePair) giveMapping(n int) {
	p.mapped -= int64(n)
	p.holds.mapped.Give(int64(n))
}
