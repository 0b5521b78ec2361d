package fastmsg

import (
	"context"
	"fmt"
	"sync"
)

// freeSlots hands out slots, the one that was used last first: a few calls
// in flight use a few slots again and again, which stay in the cache, where
// taking turns would touch them all. With 64 connections of 1024 slots that
// is 16 MB.
type freeSlots struct {
	mu     sync.Mutex
	free   []uint32
	wanted int         // who waits, less what is handed over
	handed chan uint32 // to whoever waits; has room for all
}

func newFreeSlots(n int) *freeSlots {
	f := &freeSlots{free: make([]uint32, n), handed: make(chan uint32, n)}
	for i := range f.free {
		f.free[i] = uint32(n - 1 - i)
	}
	return f
}

func (f *freeSlots) put(i uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wanted > 0 {
		f.wanted--
		f.handed <- i
		return
	}
	f.free = append(f.free, i)
}

// take waits until a slot is free or ctx or the connection is done.
func (f *freeSlots) take(ctx context.Context, c *Caller) (uint32, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	if last := len(f.free) - 1; last >= 0 {
		i := f.free[last]
		f.free = f.free[:last]
		f.mu.Unlock()
		return i, nil
	}
	f.wanted++
	f.mu.Unlock()
	var err error
	select {
	case i := <-f.handed:
		return i, nil
	case <-ctx.Done():
		err = fmt.Errorf("%w (limit %d): %w", ErrInFlight, len(c.slots), ctx.Err())
	case <-c.done:
		err = c.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wanted > 0 {
		f.wanted--
	} else {
		// Each who waits has a slot on its way. Under the lock nobody
		// comes who could take this one, and have us wait for another.
		f.free = append(f.free, <-f.handed)
	}
	return 0, err
}

// available is how many slots are free.
func (f *freeSlots) available() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.free)
}
