package client

import (
	"sync"
	"sync/atomic"
)

// sessions holds the present session of a client. Searches load it without a
// lock; a search that finds it ended waits for the next.
type sessions struct {
	present atomic.Pointer[session] // the latest, which may have ended

	mu      sync.Mutex
	changed chan struct{} // closed when present is replaced, or replacing it has failed
	lastErr error         // of the latest attempt to replace present
}

func (p *sessions) init() { p.changed = make(chan struct{}) }

// latest returns the latest session: nil only before the first one.
func (p *sessions) latest() *session { return p.present.Load() }

// watch returns the latest session, and a channel that is closed when another
// is published, or when an attempt to make one has failed.
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
	p.notify()
}

// notify wakes the waiting searches, which look again. The caller holds mu.
func (p *sessions) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// failed notes why no new session exists. Waiting searches get the error: some
// failures are permanent, such as that of a key that is no longer valid.
func (p *sessions) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr = err
	p.notify()
}

func (p *sessions) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastErr
}
