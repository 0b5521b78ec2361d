package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// WatchLimits bound what watchers take. 0 means the default.
type WatchLimits struct {
	// Watchers of a store; default 10,000, each up to 20 KB.
	Watchers int
	// WatcherAreas of one watcher, default 200,000, and Areas of all, default
	// 1,000,000, each 1 KB. A polygon counts once more for each 64 of its
	// positions, which take as much.
	WatcherAreas, Areas int
	// Changes that wait in memory for watchers, default 65,536: 3 s of 20,000
	// writes a second. Bytes of them, default 64 MiB.
	Changes int
	Bytes   int64
}

// WatchLimits are those of the store, with defaults.
func (st *Store) WatchLimits() WatchLimits { return st.hub.limits }

func (l WatchLimits) withDefaults() (WatchLimits, error) {
	for _, x := range []struct {
		n *int
		d int
	}{{&l.Watchers, 10_000}, {&l.WatcherAreas, 200_000}, {&l.Areas, limits.WatchedAreas}, {&l.Changes, 1 << 16}} {
		if *x.n < 0 {
			return l, fmt.Errorf("%w: %d in the limits of watchers, want 0 or more", ErrOptions, *x.n)
		}
		if *x.n == 0 {
			*x.n = x.d
		}
	}
	if l.Bytes < 0 {
		return l, fmt.Errorf("%w: %d bytes for watchers, want 0 or more", ErrOptions, l.Bytes)
	}
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	return l, nil
}

// hub carries changes from the commit leader to the watchers of a store.
type hub struct {
	st     *Store
	limits WatchLimits
	on     atomic.Bool // changes go to the ring; set by the commit leader
	ring   ring
	wake   chan struct{}
	stop   chan struct{}
	ended  sync.WaitGroup

	// Used by the commit leader.
	unpublished []*change // committed, but not seen by readers yet
	broken      bool      // a change could not be made

	count atomic.Int64  // of watchers; changed under mu
	left  atomic.Uint64 // the last revision when the last watcher left

	mu      sync.Mutex
	closed  error // why no more watchers are accepted
	running bool
	done    uint64 // up to here changes have been queued
	areas   int
	watched map[uint32]*watched

	// Used by the hub's goroutine.
	batch  []*change
	boxes  []feature.Box
	toWake []*Watcher
	// demoted watchers are not looked for any more when the batch ends.
	demoted []*Watcher
	visit   func(*area)
	visits  int // of this step
	now     uint64
}

// watched is a collection that has watchers.
type watched struct {
	watchers map[*Watcher]struct{}
	areas    areas
}

const (
	// hubBatch is how many changes the hub looks at before it lets others have the
	// lock, or those for which it visits hubVisits watchers: some 100 us.
	hubBatch  = 64
	hubVisits = 4096
	// queueLength is how many revisions wait for a watcher. A full queue costs a scan
	// of the ring, and loses nothing.
	queueLength = 1024
)

func (h *hub) init(st *Store, l WatchLimits) {
	h.st, h.limits = st, l
	h.wake, h.stop = make(chan struct{}, 1), make(chan struct{})
	h.watched = map[uint32]*watched{}
	h.visit = func(a *area) { h.push(a.w) }
	h.ring.clear(0, 0, 0)
}

// register adds the watcher to those of its collection.
func (h *hub) register(w *Watcher) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed != nil:
		return h.closed
	case h.count.Load() >= int64(h.limits.Watchers):
		return fmt.Errorf("%w: %d watchers", ErrWatchLimit, h.limits.Watchers)
	}
	if !h.running {
		h.running = true
		h.ended.Go(h.run)
	}
	of := h.watched[w.c.num]
	if of == nil {
		of = &watched{watchers: map[*Watcher]struct{}{}}
		of.areas.init()
		h.watched[w.c.num] = of
	}
	of.watchers[w] = struct{}{}
	w.out = true
	h.count.Add(1)
	return nil
}

// close ends all watchers.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = ErrClosed
	for _, of := range h.watched {
		for w := range of.watchers {
			w.endLocked(ErrClosed)
		}
	}
	h.mu.Unlock()
	close(h.stop)
	h.ended.Wait()
}

// run queues revisions for watchers.
func (h *hub) run() {
	for {
		select {
		case <-h.stop:
			return
		case <-h.wake:
			for h.step() {
			}
		}
	}
}

// step looks at some changes, or leaves out some demoted watchers, and reports whether
// there is more to do. Others have the lock after each step.
func (h *hub) step() bool {
	h.mu.Lock()
	if len(h.demoted) > 0 {
		h.leaveOutSome()
		h.mu.Unlock()
		return true
	}
	var first, last uint64
	h.batch, first, last = h.ring.scan(h.batch[:0], h.done+1, hubBatch)
	before := h.done
	if h.done+1 < first { // forgotten
		for _, of := range h.watched {
			for w := range of.watchers {
				w.demote(h.done)
			}
		}
		h.done = first - 1
	}
	h.visits = 0
	for _, c := range h.batch {
		if h.visits >= hubVisits {
			break // The next step has them again.
		}
		h.now = c.revision
		if of := h.watched[c.collection]; of != nil {
			h.look(of, c)
		}
		h.done = c.revision
	}
	if h.done/progressEvery != before/progressEvery {
		for _, of := range h.watched {
			for w := range of.watchers {
				h.toWake = append(h.toWake, w)
			}
		}
	}
	more := h.done < last || len(h.demoted) > 0
	h.mu.Unlock()
	for _, w := range h.toWake {
		w.signal()
	}
	clear(h.toWake)
	clear(h.batch)
	h.toWake = h.toWake[:0]
	return more
}

// look queues a change for the watchers that it may concern.
func (h *hub) look(of *watched, c *change) {
	if c.kind == disk.Drop || c.kind == disk.Alter {
		for w := range of.watchers {
			h.push(w)
		}
		return
	}
	h.boxes = c.boxes(h.boxes[:0])
	of.areas.visit(h.boxes, h.visit)
}

// push queues the revision that the hub is at.
func (h *hub) push(w *Watcher) {
	h.visits++
	n := len(w.queue)
	switch {
	case !w.live, n > 0 && w.queue[n-1] == h.now:
		return
	case n == queueLength:
		w.demote(h.done)
		return
	case n == 0:
		h.toWake = append(h.toWake, w)
	}
	w.queue = append(w.queue, h.now)
}

// turnOn makes changes go to the ring.
func (h *hub) turnOn(ctx context.Context) error {
	if h.on.Load() {
		return nil
	}
	on := make(chan error, 1)
	h.st.submit(&write{
		run: func() error {
			if !h.on.Load() {
				h.ring.clear(h.limits.Changes, h.limits.Bytes, h.st.revision)
				h.mu.Lock()
				h.done = h.st.revision
				h.mu.Unlock()
				h.st.keepsOld = true
				h.on.Store(true)
			}
			return nil
		},
		done: func(_ uint64, err error) { on <- err },
	})
	select {
	case err := <-on:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
