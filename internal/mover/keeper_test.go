package mover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// outcome is what becomes of a change of the map.
type outcome int

const (
	made    outcome = iota
	lost            // not made, and the answer says that it is not known
	unheard         // made, and the answer is lost
	late            // made when deliver is called, if it still may be; the answer is lost
	away            // not made, and the answer says so
)

// keeper is a coordinator in memory.
type keeper struct {
	mu     sync.Mutex
	values map[string]coord.Value
	last   int64
	wake   map[chan struct{}]bool
	late   []func()
	// outcome of a change of the map, nil: made. changed is called after one, and holds no lock.
	outcome func(was, next *placement.Map) outcome
	changed func(is *placement.Map)
	// blind: the group's key is not compared (a planted fault).
	blind bool
}

func newKeeper() *keeper {
	return &keeper{values: map[string]coord.Value{}, wake: map[chan struct{}]bool{}}
}

func (k *keeper) Get(_ context.Context, key string) (coord.Value, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.values[key]
	v.Key = key
	return v, nil
}

func (k *keeper) SwapIf(ctx context.Context, key string, version int64, value []byte, others ...coord.Value) (int64, error) {
	then := made
	if key == cluster.Key {
		v, _ := k.Get(ctx, key)
		was, err := placement.Decode(v.Bytes)
		next, failed := placement.Decode(value)
		if err = errors.Join(err, failed); err != nil {
			return 0, fmt.Errorf("%w: %w", coord.ErrAway, err)
		}
		k.mu.Lock()
		of := k.outcome
		k.mu.Unlock()
		if of != nil {
			then = of(was, next)
		}
	}
	swap := func() (int64, error) { return k.swap(key, version, value, others) }
	switch then {
	case lost:
		return 0, coord.ErrUnknown
	case away:
		return 0, coord.ErrAway
	case late:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.late = append(k.late, func() { _, _ = swap() })
		return 0, coord.ErrUnknown
	case unheard:
		_, _ = swap()
		return 0, coord.ErrUnknown
	}
	return swap()
}

// deliver makes the changes that are late.
func (k *keeper) deliver() {
	k.mu.Lock()
	all := k.late
	k.late = nil
	k.mu.Unlock()
	for _, f := range all {
		f()
	}
}

func (k *keeper) swap(key string, version int64, value []byte, others []coord.Value) (int64, error) {
	k.mu.Lock()
	if k.values[key].Version != version {
		k.mu.Unlock()
		return 0, coord.ErrConflict
	}
	for _, v := range others {
		if k.values[v.Key].Version != v.Version && !k.blind {
			k.mu.Unlock()
			return 0, coord.ErrConflict
		}
	}
	k.last++
	at := k.last
	k.values[key] = coord.Value{Key: key, Bytes: bytes.Clone(value), Version: at}
	for c := range k.wake {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	changed := k.changed
	k.mu.Unlock()
	if key == cluster.Key && changed != nil {
		if m, err := placement.Decode(value); err == nil {
			changed(m)
		}
	}
	return at, nil
}

// watch wakes a channel after each change.
func (k *keeper) watch(c chan struct{}, on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.wake, c); on {
		k.wake[c] = true
	}
}

// change is an operator's.
func (k *keeper) change(f func(*placement.Map) (*placement.Map, error)) error {
	for {
		v, _ := k.Get(context.Background(), cluster.Key)
		m, err := placement.Decode(v.Bytes)
		if err == nil {
			m, err = f(m)
		}
		if err != nil {
			return err
		}
		b, err := m.Encode()
		if err != nil {
			return err
		}
		if _, err = k.swap(cluster.Key, v.Version, b, nil); !errors.Is(err, coord.ErrConflict) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func (k *keeper) now() *placement.Map {
	v, _ := k.Get(context.Background(), cluster.Key)
	m, err := placement.Decode(v.Bytes)
	if err != nil {
		panic(err)
	}
	return m
}
