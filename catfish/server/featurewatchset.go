package server

import (
	"context"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// watch is a connection's watcher of one id.
type watch struct {
	f       store.Follower // its At is that of the last answer
	account *limits.Account
	last    time.Duration      // time of the last answer, by Server.now
	stop    context.CancelFunc // of the request that owns it; nil: none
	ended   bool               // it is closed after that request
}

// close ends a watcher that no request owns.
func (w *watch) close() {
	if w.f.Watcher != nil {
		w.f.Close()
	}
	w.account.Close()
}

// watchSet is the set of a connection's watchers.
type watchSet struct {
	mu     sync.Mutex
	have   map[uint64]*watch
	closed bool
}

// expire ends the watchers without requests for watchIdle.
func (set *watchSet) expire(now time.Duration) {
	set.mu.Lock()
	defer set.mu.Unlock()
	for id, w := range set.have {
		if w.stop == nil && now-w.last >= watchIdle {
			set.drop(id)
		}
	}
}

// close ends all watchers of a connection that has ended.
func (set *watchSet) close(all *sets[*watchSet]) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.closed = true
	for id := range set.have {
		set.drop(id)
	}
	all.list(set, false)
}

// end is drop for a caller that does not hold mu.
func (set *watchSet) end(id uint64) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.drop(id)
}

// drop ends a watcher, if there is one. The caller holds mu.
func (set *watchSet) drop(id uint64) {
	w := set.have[id]
	if w == nil {
		return
	}
	delete(set.have, id)
	if w.stop != nil {
		w.ended = true
		w.stop()
		return
	}
	w.close()
}
