package client

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
)

// reader reads over a read channel of its own: a tree (*remote.Reader), or
// records (*recordReader).
type reader interface {
	Err() error
	StopBy(stop *atomic.Bool)
	Close() error
}

// channelPool has read channels of some sessions with one incarnation of a
// server. They are opened when they are needed, up to the number that the sessions
// together may have. An offloaded search has one to itself, from take to put, so
// a channel that breaks concerns this search only:
//
//	      take                  put
//	free -----> one search's --------> free, or the longest waiter
//	 ^                 |
//	 | open            | it broke, or there are too many
//	not opened <-------+
//
// The channel that was put back last is taken first: a few searches at a time
// use a few, whose buffers stay in the cache, however many clients there are.
type channelPool struct {
	mu      sync.Mutex
	allowed int // sum of what the sessions may have
	have    int // channels, and permissions to open one that take gave out
	free    []reader
	first   *poolWaiter // empty while a channel is free or may be opened
	last    *poolWaiter
	spare   *poolWaiter // former waiters, for reuse
}

// poolWaiter is a caller of take that waits.
type poolWaiter struct {
	next  *poolWaiter
	given chan reader // has room for one
}

// most is how many channels there may be. The caller holds mu.
func (p *channelPool) most() int { return min(p.allowed, wire.MaxReadChannels) }

// admit changes how many channels the sessions may have, when a session joins (n > 0)
// or leaves. When all have left, all channels are closed.
func (p *channelPool) admit(n int) {
	p.mu.Lock()
	p.allowed += n
	for p.first != nil && p.have < p.most() {
		p.have++
		p.give(nil)
	}
	var excess []reader
	for p.have > p.most() && len(p.free) > 0 {
		excess = append(excess, p.free[0])
		p.free = p.free[1:]
		p.have--
	}
	p.mu.Unlock()
	for _, r := range excess {
		r.Close()
	}
}

// empty reports whether no channel is open or about to be.
func (p *channelPool) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.have == 0
}

// take returns a free channel, or nil, which is the permission to open one.
// The caller puts back either. If all are in use, take waits, unless ended is closed.
// Waiters are served in the order of their arrival.
func (p *channelPool) take(ctx context.Context, ended <-chan struct{}) (reader, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		r := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return r, nil
	}
	if p.have < p.most() {
		p.have++
		p.mu.Unlock()
		return nil, nil
	}
	w := p.spare
	if w == nil {
		w = &poolWaiter{given: make(chan reader, 1)}
	} else {
		p.spare, w.next = w.next, nil
	}
	if p.first == nil {
		p.first = w
	} else {
		p.last.next = w
	}
	p.last = w
	p.mu.Unlock()

	var err error
	select {
	case r := <-w.given:
		p.keep(w)
		return r, nil
	case <-ended:
		err = offload.ErrStopped
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !p.leave(w) { // give has served it meanwhile
		p.put(<-w.given)
	}
	p.keep(w)
	return nil, err
}

// keep saves the next waiter an allocation.
func (p *channelPool) keep(w *poolWaiter) {
	p.mu.Lock()
	p.spare, w.next = w, p.spare
	p.mu.Unlock()
}

// leave takes w out of the queue; false if w is not in it any more.
func (p *channelPool) leave(w *poolWaiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var before *poolWaiter
	for q := p.first; q != nil; before, q = q, q.next {
		if q != w {
			continue
		}
		if before == nil {
			p.first = w.next
		} else {
			before.next = w.next
		}
		if p.last == w {
			p.last = before
		}
		w.next = nil
		return true
	}
	return false
}

// give hands a channel, or the permission to open one, to the longest waiter.
// The caller holds mu.
func (p *channelPool) give(r reader) {
	w := p.first
	p.first, w.next = w.next, nil
	w.given <- r
}

// put takes a channel back; nil gives back the permission to open one. The cause that
// broke one may have broken free channels, too, which is not noticed until they are
// used. So put closes the free ones: otherwise one search might meet all of them.
func (p *channelPool) put(r reader) {
	broke := r != nil && r.Err() != nil
	var doubtful []reader
	p.mu.Lock()
	if broke {
		doubtful, p.free = p.free, nil
		p.have -= len(doubtful)
	}
	drop := broke || r != nil && p.have > p.most()
	switch {
	case drop || r == nil:
		p.have--
		for p.first != nil && p.have < p.most() {
			p.have++
			p.give(nil)
		}
	case p.first != nil:
		p.give(r)
	default:
		p.free = append(p.free, r)
	}
	p.mu.Unlock()
	if drop {
		r.Close()
	}
	for _, r := range doubtful {
		r.Close()
	}
}

// poolKey is common to the sessions that share read channels. A restarted server
// has another boot id.
type poolKey struct {
	device deviceKey
	addr   string // that channels dial
	boot   uint64
	window int
	block  int // of the channels' blocks
	ticket uint64
}

// channelPools are those of a Shared. The zero value is empty.
type channelPools struct {
	mu sync.Mutex
	of map[poolKey]*usedPool
}

type usedPool struct {
	channelPool
	users int
}

// join returns the pool of a key. The pool is forgotten when leave was called as
// often as join.
func (ps *channelPools) join(k poolKey) (p *channelPool, leave func()) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	u := ps.of[k]
	if u == nil {
		if ps.of == nil {
			ps.of = map[poolKey]*usedPool{}
		}
		u = new(usedPool)
		ps.of[k] = u
	}
	u.users++
	return &u.channelPool, sync.OnceFunc(func() {
		ps.mu.Lock()
		defer ps.mu.Unlock()
		if u.users--; u.users == 0 {
			delete(ps.of, k)
		}
	})
}
