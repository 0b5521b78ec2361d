package catfish

import (
	"sync"
	"sync/atomic"
)

// sessions owns which session of a client is the present one. Searches load
// it without a lock; those that find it ended wait for the next.
type sessions struct {
	present atomic.Pointer[session] // the latest: it may have ended

	mu      sync.Mutex
	changed chan struct{} // closed when present is replaced
	lastErr error         // of the latest attempt to replace it
}

func (p *sessions) init() { p.changed = make(chan struct{}) }

// latest is nil before the first one only.
func (p *sessions) latest() *session { return p.present.Load() }

// watch returns the latest session, and a channel that is closed when there
// is another.
func (p *sessions) watch() (*session, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.present.Load(), p.changed
}

// set publishes a session.
func (p *sessions) set(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.present.Store(s)
	p.lastErr = nil
	close(p.changed)
	p.changed = make(chan struct{})
}

// failed notes why there is no new session yet.
func (p *sessions) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr = err
}

func (p *sessions) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastErr
}
