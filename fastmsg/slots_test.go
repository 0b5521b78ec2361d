package fastmsg

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestFreeSlots: no slot is given out twice, and none is lost, whichever
// goroutines stop waiting.
func TestFreeSlots(t *testing.T) {
	const slots, users, rounds = 3, 16, 2000
	c := &Caller{slots: make([]slot, slots), done: make(chan struct{})}
	f := newFreeSlots(slots)
	var held [slots]atomic.Int32
	var group sync.WaitGroup
	for k := range users {
		group.Go(func() {
			for n := range rounds {
				ctx, cancel := context.WithCancel(context.Background())
				if (k+n)%3 == 0 {
					go cancel() // before, while or after it waits
				}
				i, err := f.take(ctx, c)
				cancel()
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					continue
				}
				if held[i].Add(1) != 1 {
					t.Errorf("slot %d is held twice", i)
				}
				held[i].Add(-1)
				f.put(i)
			}
		})
	}
	group.Wait()
	if n := f.available(); n != slots || f.wanted != 0 || len(f.handed) != 0 {
		t.Errorf("%d of %d slots free, %d wanted, %d on their way", n, slots, f.wanted, len(f.handed))
	}
}

// TestFreeSlotsLastFirst: one call at a time uses one slot.
func TestFreeSlotsLastFirst(t *testing.T) {
	f := newFreeSlots(5)
	for range 10 {
		i, err := f.take(context.Background(), nil)
		if i != 0 || err != nil {
			t.Fatalf("slot %d, %v", i, err)
		}
		f.put(i)
	}
}
