package fastmsg

import (
	"context"
	"fmt"
	"sync"
)

// freeSlots hands out slots in last-in, first-out order: a few calls in flight
// then use the same few slots, which stay in the cache. Round robin, they
// would use all slots: 16 MB with 64 connections of 1024 slots.
type freeSlots struct {
	mu     sync.Mutex
	free   []uint32
	wanted int         // goroutines that wait, less slots in handed
	handed chan uint32 // slots for goroutines that wait; has room for all
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
		// There is a slot in handed for each goroutine that waits. As the
		// lock keeps others from waiting, the receive does not block.
		f.free = append(f.free, <-f.handed)
	}
	return 0, err
}

// available returns the number of free slots.
func (f *freeSlots) available() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.free)
}
