package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/web"
)

// Interval is between two samples.
const Interval = time.Second

// stale is after how many intervals the state before is too old to take the difference
// to.
const stale = 3

// Room is the engine room of one server. It is a web.Engine: its methods are safe for
// concurrent use. It does nothing while nobody looks and no load runs.
type Room struct {
	srv *catfish.Server
	o   Options

	mu     sync.Mutex
	before state  // the last sample's
	sample []byte // the last one, as JSON
	number uint64
	load   *load // the last one; nil: there was none
	closed bool
	loads  sync.WaitGroup
}

var _ web.Engine = (*Room)(nil)

// state is what a sample is the difference of.
type state struct {
	at       time.Time
	cpu      float64
	requests map[string]uint64
}

// New returns the engine room of a server. Close it.
func New(srv *catfish.Server, o Options) *Room {
	return &Room{srv: srv, o: o.withDefaults()}
}

// Close ends the load, and returns when its processes have ended.
func (r *Room) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.Stop()
	r.loads.Wait()
}

// About is what does not change while the server runs, but for its collections.
type About struct {
	Version    string      `json:"version"`
	Addr       string      `json:"addr"`
	Cores      float64     `json:"cores"`
	Heartbeat  float64     `json:"heartbeat_seconds"`
	Polling    bool        `json:"polling"`
	Transports []Transport `json:"transports"`
	// Collections are those of features, which a load may search.
	Collections []Collection `json:"collections"`
	// Load is what may be asked of Start; nil: no load is started.
	Load *Limits `json:"load,omitempty"`
}

// Transport is one way to the server.
type Transport struct {
	Name    string `json:"name"`
	What    string `json:"what"` // in words
	Detail  string `json:"detail,omitempty"`
	Workers int    `json:"workers"`
}

// Collection is one of features.
type Collection struct {
	Name     string `json:"name"`
	Features int    `json:"features"`
}

// About is an About.
func (r *Room) About() any {
	s := r.srv.Stats()
	a := About{
		Version: s.Version, Addr: s.Addr, Cores: s.Cores, Heartbeat: s.Heartbeat, Polling: s.Polling,
		Transports: []Transport{}, Collections: []Collection{}, Load: r.o.limits(),
	}
	for _, t := range s.Transports {
		a.Transports = append(a.Transports, Transport{t.Transport, bench.DescribeTransport(t.Transport), t.Detail, len(t.Workers)})
	}
	for name := range s.Features {
		c, err := r.srv.Features(name)
		if err == nil { // Else it is being loaded, or was dropped.
			a.Collections = append(a.Collections, Collection{name, c.Len()})
		}
	}
	sortBy(a.Collections, func(c Collection) string { return c.Name })
	return a
}

// Sample is one second of the server and of the load's clients.
type Sample struct {
	Time     time.Time `json:"time"`
	CPU      float64   `json:"cpu"`       // the server's own share of its cores, 0 to 1
	Resident int64     `json:"resident"`  // bytes
	Messages float64   `json:"messages"`  // requests a second by messages, of all clients
	Clients  []Reached `json:"transport"` // all clients, by the transport that they use
	Load     *Progress `json:"load"`      // null: none yet
}

// Reached is what came by one transport.
type Reached struct {
	Name        string  `json:"name"`
	Connections int     `json:"connections"`
	Messages    float64 `json:"messages"` // requests a second
}

// Next is as in web.Engine. All that wait share a sample.
func (r *Room) Next(ctx context.Context, after uint64) ([]byte, uint64, error) {
	for {
		r.mu.Lock()
		if r.number > after && after != 0 {
			defer r.mu.Unlock()
			return r.sample, r.number, nil
		}
		if time.Since(r.before.at) > stale*r.o.interval {
			r.before = stateOf(r.srv.Stats())
		}
		if after == 0 {
			after = max(r.number, 1)
			r.number = after
		}
		wait := r.o.interval - time.Since(r.before.at)
		if wait <= 0 {
			err := r.take()
			defer r.mu.Unlock()
			return r.sample, r.number, err
		}
		r.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// take makes a sample of what was since the one before.
func (r *Room) take() error {
	stats := r.srv.Stats()
	now := stateOf(stats)
	seconds := now.at.Sub(r.before.at).Seconds()
	s := Sample{
		Time: now.at, Resident: stats.Memory.Resident, Clients: []Reached{},
		CPU: min(1, (now.cpu-r.before.cpu)/seconds/max(1, stats.Cores)),
	}
	add := func(name string, connections int) {
		rate := float64(now.requests[name]-min(now.requests[name], r.before.requests[name])) / seconds
		s.Clients = append(s.Clients, Reached{name, connections, rate})
		s.Messages += rate
	}
	for _, t := range stats.Transports {
		add(t.Transport, t.Connections)
	}
	if r.load != nil {
		s.Load = r.load.progress()
	}
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("engine room: %w", err)
	}
	r.before, r.sample, r.number = now, b, r.number+1
	return nil
}

func stateOf(s catfish.ServerStats) state {
	n := state{at: time.Now(), cpu: s.CPUSeconds, requests: map[string]uint64{}}
	for _, t := range s.Transports {
		requests := t.Ended.Requests
		for _, w := range t.Workers {
			requests += w.Requests
		}
		n.requests[t.Transport] = requests
	}
	return n
}
