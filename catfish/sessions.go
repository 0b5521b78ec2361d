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
	changed chan struct{} // closed when present is replaced, or that has failed
	lastErr error         // of the latest attempt to replace it
}

func (p *sessions) init() { p.changed = make(chan struct{}) }

// latest is nil before the first one only.
func (p *sessions) latest() *session { return p.present.Load() }

// watch returns the latest session, and a channel that is closed when there
// is another, or when an attempt to make one has failed.
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
	p.tell()
}

// tell has those that wait look again. The caller holds mu.
func (p *sessions) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// failed notes why there is no new session yet. Those that wait get it: some
// failures stay, such as that of a key that has ended.
func (p *sessions) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr = err
	p.tell()
}

func (p *sessions) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastErr
}
