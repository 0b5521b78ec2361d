package server

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// peer is the client at the other end of a connection.
type peer struct {
	name    func() string // nil: this process
	client  uint32        // its number in the recording
	guard   *guard        // of its requests, if the server has keys
	uploads uploadSet     // the values that it puts in parts
	watches watchSet
	mode    store.ReadMode // whether it reads at a secondary, too
	epoch   uint64         // of the map by which it sends requests, 0: it has not told

	// Of a worker's connection.
	sub  *heartbeat.Subscription
	task *task // the one whose answer is made in steps, nil: none
}

// close ends what the server keeps for a connection that has ended.
func (p *peer) close(s *Server) {
	p.uploads.close()
	p.watches.close(&s.watchSets)
}

// sets are those of all connections that have anything to expire: watchers, or uploads in
// flight. Lock order: the mu of a set, then mu.
type sets[T interface {
	comparable
	expire(now time.Duration)
}] struct {
	mu   sync.Mutex
	sets map[T]struct{}
}

// list adds a set, or removes it.
func (l *sets[T]) list(set T, listed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !listed {
		delete(l.sets, set)
		return
	}
	if l.sets == nil {
		l.sets = map[T]struct{}{}
	}
	l.sets[set] = struct{}{}
}

func (l *sets[T]) expire(now time.Duration) {
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.sets))
	l.mu.Unlock()
	for _, set := range all {
		set.expire(now)
	}
}

// source names a client in budgets: the user for connections of shared memory, the host
// for others.
func (v *service) source(from *peer) string {
	if from.name == nil {
		return "" // this process
	}
	name := from.name()
	if i := strings.LastIndex(name, "uid "); i >= 0 && v.transport == model.TransportSHM {
		return name[i:]
	}
	return limits.SourceOf(peerAddr(name))
}

// peerAddr is the text of an address.
type peerAddr string

func (peerAddr) Network() string { return "" }

func (a peerAddr) String() string { return string(a) }
