package mover

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

// tidyStore has no ids of other groups' slots. It counts how often it was asked.
type tidyStore struct {
	Store
	asked int
	most  func() // called when it was asked too often
}

func (s *tidyStore) SetSlots(store.Slots) error { return nil }

func (s *tidyStore) Settle(context.Context) (bool, error) {
	if s.asked++; s.asked > 3 {
		s.most()
	}
	return true, nil
}

// A secondary looks once by each map whether its store is tidy, and rests.
func TestSecondaryRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		st := &tidyStore{most: cancel}
		m := New(Options{Group: "a", Node: "n2", Store: st, Reread: func() {}, Logger: slog.New(slog.DiscardHandler),
			Leading: func() (uint64, bool) { return 1, false }})
		is, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
		if err != nil {
			t.Fatal(err)
		}
		learn := func() {
			t.Helper()
			if err := m.Learn(is, 0, func() {}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // of the bubble's clock
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx)
		}()
		learn()
		learn() // The same map again.
		if is, err = is.AddGroup("c", 1); err != nil {
			t.Fatal(err)
		}
		learn()
		cancel()
		<-ended
		if st.asked != 2 {
			t.Errorf("asked %d times, want once by each of two maps", st.asked)
		}
	})
}
