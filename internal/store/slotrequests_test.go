package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
)

// around checks that a counted number is what was asked, within five standard errors.
func around(t *testing.T, what string, counted uint32, asked int) {
	t.Helper()
	if got, off := int(counted)*requestsOf, 5*4*intSqrt(asked); got < asked-off || got > asked+off {
		t.Errorf("%s: %d requests by what was counted, %d were made", what, got, asked)
	}
}

func intSqrt(n int) (r int) {
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}

// Reads and writes of ids are counted by slot once the store is one of several, and what was refused is not;
// one that becomes the primary begins at zero.
func TestSlotRequests(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	s := halves()
	var ours, other string
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if s.Owned.has([]byte(id)) {
			ours = id
		} else {
			other = id
		}
	}
	value := place(t, 7)
	get := func(id string, n int) {
		for range n {
			_ = c.GetMany(t.Context(), []string{id}, func(int, *Found) (bool, error) { return true, nil })
		}
	}
	put := func(n int) {
		for range n {
			c.PutEncoded(ours, value, 0, kv.Condition{}, func(_ uint64, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	get(ours, 1000)
	if r := st.SlotRequests(); r.Sum() != 0 || r.Rate() != 0 {
		t.Errorf("%d were counted without slots", r.Sum())
	}
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	get(ours, 30_000)
	put(10_000)
	get(other, 10_000)
	slot := placement.SlotOf([]byte(ours))
	r := st.SlotRequests()
	around(t, "reads and writes", r.Counted[slot], 40_000)
	if r.Sum() != uint64(r.Counted[slot]) {
		t.Errorf("%d of all slots, %d of slot %d", r.Sum(), r.Counted[slot], slot)
	}
	st.CountAnew()
	if n := st.SlotRequests().Sum(); n != 0 {
		t.Errorf("%d after the beginning", n)
	}
}

// What is counted is of this window and the one before.
func TestSlotRequestsAreOfTheLastMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r slotRequests
		r.reset()
		ask := func(slot uint16, n int) {
			for range n {
				r.count(slot)
			}
		}
		ask(7, 64_000)
		time.Sleep(requestsWindow - time.Second)
		around(t, "a window", r.read().Counted[7], 64_000)
		if is := r.read(); is.Over != requestsWindow-time.Second || is.Rate() < 150 || is.Rate() > 300 {
			t.Errorf("%.0f a second over %v", is.Rate(), is.Over)
		}
		time.Sleep(time.Second)
		ask(9, 64_000)
		time.Sleep(time.Minute)
		is := r.read()
		around(t, "the window before", is.Counted[7], 64_000)
		around(t, "the next window", is.Counted[9], 64_000)
		if is.Over != requestsWindow+time.Minute {
			t.Errorf("over %v", is.Over)
		}
		time.Sleep(requestsWindow)
		ask(8, 64_000)
		is = r.read()
		if is.Counted[7] != 0 || is.Over != requestsWindow+time.Minute {
			t.Errorf("%d of the first window are left; over %v", is.Counted[7], is.Over)
		}
		around(t, "the last but one", is.Counted[9], 64_000)
	})
}
