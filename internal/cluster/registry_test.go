package cluster

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// registry is a coordinator in memory. It looks at each map that is written.
type registry struct {
	t  testing.TB
	mu sync.Mutex
	// fails, if not nil, is the outcome of each change, and whether it is made.
	fails    func() (made bool, err error)
	wrote    func(m *placement.Map) // called with the lock
	values   map[string]coord.Value
	last     int64
	wakes    map[int]func()
	watchers int
	most     int                  // moves in a map
	moved    [placement.Slots]int // how often each slot has got another owner
}

func newRegistry(t testing.TB) *registry {
	return &registry{t: t, values: map[string]coord.Value{}, wakes: map[int]func(){}}
}

// grown is the map of g1 and g2, and of g3, which has nothing yet.
func grown(t testing.TB) *registry {
	t.Helper()
	r := newRegistry(t)
	if _, err := Init(t.Context(), r, []placement.Group{{Name: "g1", Weight: 1}, {Name: "g2", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), r, placement.Group{Name: "g3", Weight: 2}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *registry) Get(ctx context.Context, key string) (coord.Value, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.values[key]
	v.Key = key
	if ctx.Err() != nil {
		return coord.Value{}, errors.Join(coord.ErrAway, ctx.Err())
	}
	return v, nil
}

func (r *registry) SwapIf(ctx context.Context, key string, version int64, value []byte, others ...coord.Value) (int64, error) {
	if ctx.Err() != nil {
		return 0, errors.Join(coord.ErrUnknown, ctx.Err())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range append(others, coord.Value{Key: key, Version: version}) {
		if r.values[v.Key].Version != v.Version {
			return 0, coord.ErrConflict
		}
	}
	var failed error
	if r.fails != nil {
		made, err := r.fails()
		if !made {
			return 0, err
		}
		failed = err
	}
	if key == Key {
		r.judge(value)
	}
	r.last++
	r.values[key] = coord.Value{Key: key, Bytes: bytes.Clone(value), Version: r.last}
	for _, wake := range r.wakes {
		wake()
	}
	return r.last, failed
}

// judge looks at the next map.
func (r *registry) judge(value []byte) {
	m, err := placement.Decode(value)
	if err != nil {
		r.t.Error(err)
		return
	}
	if old := r.values[Key]; old.Version != 0 {
		was, err := placement.Decode(old.Bytes)
		if err != nil || m.Version != was.Version+1 {
			r.t.Errorf("version %d after %d, %v", m.Version, was.Version, err)
		}
		for s := range m.Slots {
			if m.Groups[m.Slots[s]].Name != was.Groups[was.Slots[s]].Name {
				r.moved[s]++
			}
		}
	}
	r.most = max(r.most, len(m.Moves))
	if r.wrote != nil {
		r.wrote(m)
	}
}

func (r *registry) Watch(ctx context.Context, _ string, wake func()) {
	r.mu.Lock()
	r.watchers++
	n := r.watchers
	r.wakes[n] = wake
	r.mu.Unlock()
	wake() // Changes before may have been missed.
	<-ctx.Done()
	r.mu.Lock()
	delete(r.wakes, n)
	r.mu.Unlock()
}

func (r *registry) now() *placement.Map {
	r.t.Helper()
	m, err := Read(context.Background(), r)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// transfers returns how many slots got another owner, and how often most of them one did.
func (r *registry) transfers() (slots, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.moved {
		most = max(most, n)
		slots += min(n, 1)
	}
	return slots, most
}

// atOnce is the most moves that a map had.
func (r *registry) atOnce() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// has returns how many slots a group has.
func has(m *placement.Map, name string) (n int) {
	for _, g := range m.Slots {
		if m.Groups[g].Name == name {
			n++
		}
	}
	return n
}

// carry does what groups do: a step of some moves after each change of the map, until ctx ends.
// undo is how many of a hundred steps undo a move instead.
func carry(ctx context.Context, r *registry, seed uint64, undo int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	wakes := make(chan struct{}, 1)
	go r.Watch(ctx, Key, func() {
		select {
		case wakes <- struct{}{}:
		default:
		}
	})
	for ctx.Err() == nil {
		n, err := change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
			n := m
			for _, v := range m.Moves {
				if rng.IntN(3) == 0 {
					continue
				}
				if rng.IntN(100) < undo && v.Step.Undoable() {
					n = next(r.t, n.Undo, v.Part)
					continue
				}
				switch v.Step {
				case placement.Copy:
					n = next(r.t, n.Copied, v.Part)
				case placement.CatchUp:
					n = next(r.t, func(p placement.Part) (*placement.Map, error) { return n.Freeze(p, 7) }, v.Part)
				case placement.Freeze:
					n = next(r.t, n.Received, v.Part)
				case placement.Wait:
					n = next(r.t, n.Decide, v.Part)
				case placement.Drop:
					n = next(r.t, n.Dropped, v.Part)
				}
			}
			if n != m {
				epoch := n.Epoch != m.Epoch
				if n.Version = m.Version + 1; epoch {
					n.Epoch = n.Version
				}
			}
			return n, nil
		})
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, coord.ErrUnknown), err == nil && len(n.Moves) > 0:
			continue
		case err != nil:
			r.t.Error(err)
			return
		}
		select {
		case <-wakes:
		case <-time.After(LookEvery): // The watch may have begun after the change.
		case <-ctx.Done():
		}
	}
}

func next(t testing.TB, step func(placement.Part) (*placement.Map, error), p placement.Part) *placement.Map {
	n, err := step(p)
	if err != nil {
		t.Error(err)
	}
	return n
}
