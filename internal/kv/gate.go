package kv

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
)

// gate counts the readers inside a Map's memory, for which Close waits. Each reader
// uses one of several counters, so that cores rarely share a line: an addition to a
// line that no other core uses takes 5 ns.
type gate struct {
	closed atomic.Bool
	inside [stripes]counter
}

// counter has what readers count.
type counter struct {
	n            atomic.Int64   // inside
	hits, misses atomic.Uint64  // of a cache
	_            [128 - 24]byte // two lines: x86 prefetches pairs
}

const stripes = 32 // more than the readers that run at once on most machines

// stripe is the counter that a reader uses, from its first use on.
type stripe struct{ *counter }

// enter admits a reader until leave. The stripe may have been of another gate before.
func (g *gate) enter(of **gate, s *stripe) error {
	if *of != g {
		*of, s.counter = g, &g.inside[rand.IntN(stripes)]
	}
	s.n.Add(1)
	if g.closed.Load() {
		s.n.Add(-1)
		return ErrClosed
	}
	return nil
}

func (s *stripe) leave() { s.n.Add(-1) }

// gets sums up the hits and misses.
func (g *gate) gets() (hits, misses uint64) {
	for i := range g.inside {
		hits += g.inside[i].hits.Load()
		misses += g.inside[i].misses.Load()
	}
	return hits, misses
}

// Close waits for reads and writes in flight; later ones fail with ErrClosed. After it
// the caller has the memory back. A second call does nothing.
func (m *Map) Close() {
	if m.gate.closed.Swap(true) {
		return
	}
	m.mu.Lock() // Writers that came in before are out.
	m.endWaiters()
	m.mu.Unlock()
	for i := range m.gate.inside {
		for m.gate.inside[i].n.Load() != 0 {
			runtime.Gosched()
		}
	}
}

// lock takes the writers' lock, unless the Map is closed.
func (m *Map) lock() error {
	m.mu.Lock()
	if m.gate.closed.Load() {
		m.mu.Unlock()
		return fmt.Errorf("kv: %w", ErrClosed)
	}
	return nil
}
