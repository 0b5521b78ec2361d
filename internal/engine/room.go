// Package engine watches a server, for the engine room of package web, and starts
// clients against it, bounded in number and time, so that users see them choose.
//
//	room.go    the followers, and the snapshot of each second
//	server.go  the server's figures
//	service.go requests over HTTP and gRPC
//	calls.go   how calls over gRPC are counted
//	load.go    a load: its limits and its collection
//	drive.go   its processes
//	client.go  what such a process does
//	clients.go the figures of its clients
//
// All figures are measured: of the server by its own counters, of the load's clients
// by theirs. The reads of other clients are not visible here.
package engine

import (
	"context"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/web"
)

// Options of a Room.
type Options struct {
	Server *catfish.Server
	// Spawn starts the load's clients; nil: there is no load. They run on CPUs,
	// or, if that is empty, where the server does.
	Spawn child.Spawn
	CPUs  affinity.Set
	// GRPC counts the calls over gRPC; nil: it is not served.
	GRPC *Service
	// Every is the time between snapshots; 0: a second.
	Every time.Duration
}

// Room is a web.Engine. Close it, before the server.
type Room struct {
	o      Options
	http   Service
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu        sync.Mutex
	followers map[chan web.EngineSnapshot]bool
	last      seen
	run       *run   // nil: no load is running
	ended     string // how the last load ended, until a snapshot has reported it
}

var _ web.Engine = (*Room)(nil)

// New begins to watch a server.
func New(o Options) *Room {
	if o.Every == 0 {
		o.Every = time.Second
	}
	r := &Room{o: o, http: Service{name: "http"}, began: time.Now(), followers: map[chan web.EngineSnapshot]bool{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.done.Go(r.watch)
	return r
}

// Close ends the load, and the snapshots.
func (r *Room) Close() {
	r.cancel()
	r.done.Wait()
}

// Observe implements web.Engine.
func (r *Room) Observe(took time.Duration, failed bool) { r.http.Observe(took, failed) }

// watch publishes a snapshot each second, unless a load's clients do.
func (r *Room) watch() {
	tick := time.NewTicker(r.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case now := <-tick.C:
			r.mu.Lock()
			switch {
			case len(r.followers) == 0:
				r.last = seen{} // The next snapshot's interval begins with its follower.
			case r.run == nil || now.Sub(r.last.at) > r.o.Every*3/2:
				r.publishLocked(nil)
			}
			r.mu.Unlock()
		}
	}
}

// Follow implements web.Engine.
func (r *Room) Follow() (<-chan web.EngineSnapshot, func()) {
	c := make(chan web.EngineSnapshot, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.at.IsZero() {
		r.last = r.look()
	}
	r.followers[c] = true
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.followers, c)
	}
}

// publishLocked gives all followers a snapshot. The caller holds mu.
func (r *Room) publishLocked(samples []Sample) {
	if len(r.followers) == 0 {
		return
	}
	now := r.look()
	s := web.EngineSnapshot{
		At: now.at, Seconds: now.at.Sub(r.last.at).Seconds(), Server: now.since(&r.last),
		Clients: []web.EngineClient{}, Map: now.groups, Ended: r.ended,
	}
	r.last, r.ended = now, ""
	if r.run != nil {
		s.Run = r.run.state()
		s.Clients = r.run.clients(samples)
	}
	for c := range r.followers {
		select { // A snapshot that was not taken is stale.
		case <-c:
		default:
		}
		c <- s // No other goroutine sends, so there is room.
	}
}
