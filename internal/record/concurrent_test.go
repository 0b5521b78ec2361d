package record

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestConcurrent: local readers beside a writer that updates, deletes, reclaims and
// moves, with a clock so fast that places are used again during reads. Readers take
// whole records of the key that they ask for, of the reference that they hold, and by
// kept references miss no acknowledged write.
func TestConcurrent(t *testing.T) {
	const keys = 16
	writes := uint64(30_000)
	if raceEnabled {
		writes /= 4
	}
	type entry struct {
		ref Ref
		rev uint64
	}
	h := newHeap(t, 16)
	var index [keys]atomic.Pointer[entry]
	var acked [keys]atomic.Uint64 // the latest acknowledged write
	var done atomic.Bool
	value := func(rev uint64) []byte { return someBytes(rev, int(rev*37%600)) }
	write := func(i int, rev uint64, now time.Duration) {
		ref, err := h.Put(Record{Key: keyOf(i), Value: value(rev), Revision: rev}, now)
		if err != nil {
			t.Error(err)
			return
		}
		old := index[i].Swap(&entry{ref, rev})
		if old != nil {
			if err := h.Kill(old.ref, now); err != nil {
				t.Error(err)
			}
		}
		acked[i].Store(rev)
	}
	for i := range keys {
		write(i, uint64(i+1), 0)
	}
	var taken, stale, dead atomic.Int64
	var group sync.WaitGroup
	for seed := range 2 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			var buf []byte
			for !done.Load() {
				i := r.IntN(keys)
				e := index[i].Load()
				for range r.IntN(20) { // a kept reference
					before := acked[i].Load()
					v, b, err := h.Read(e.ref, keyOf(i), buf)
					buf = b
					switch {
					case errors.Is(err, ErrDead):
						dead.Add(1)
					case errors.Is(err, ErrStale):
						stale.Add(1)
						continue
					case err != nil:
						t.Error(err)
						return
					default:
						taken.Add(1)
						if before > v.Revision {
							t.Errorf("key %d: revision %d, %d was acknowledged", i, v.Revision, before)
							return
						}
					}
					if v.Revision != e.rev || !bytes.Equal(v.Value, value(e.rev)) {
						t.Errorf("key %d: revision %d, want %d", i, v.Revision, e.rev)
						return
					}
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(5, 5))
	now := time.Duration(0)
	// Until readers have met everything, however the system schedules them.
	all := func() bool { return taken.Load() > 1000 && stale.Load() > 0 && dead.Load() > 0 }
	for n := uint64(keys + 1); (n < writes || !all() && n < 1000*writes) && !t.Failed(); n++ {
		// On one processor, readers run for a while each time, and must meet now a few
		// writes, now enough of them that places are used again.
		if n%512 < 32 && n%8 == 0 {
			runtime.Gosched()
		}
		now += 50 * time.Millisecond
		write(r.IntN(keys), n, now)
		h.Reclaim(now, 4)
		if n%64 == 0 {
			h.Compact(now, 4, func(key []byte, from, to Ref) bool {
				for i := range keys {
					if e := index[i].Load(); e.ref == from {
						index[i].Store(&entry{to, e.rev})
						return true
					}
				}
				return false
			})
		}
	}
	done.Store(true)
	group.Wait()
	if !all() {
		t.Errorf("%d taken, %d dead, %d stale: the test shows little", taken.Load(), dead.Load(), stale.Load())
	}
	t.Logf("%d taken, %d dead, %d stale", taken.Load(), dead.Load(), stale.Load())
}
