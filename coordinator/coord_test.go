package coordinator

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/coord"
)

// Package coord is tested here, since its module does not have etcd's server.

func dial(t *testing.T, addrs ...string) *coord.Client {
	t.Helper()
	c, err := coord.Dial(coord.Options{Addrs: addrs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSwapWantsTheVersionThatWasRead(t *testing.T) {
	ctx := t.Context()
	c := dial(t, start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}).Addr())
	if v, err := c.Get(ctx, "groups/g"); err != nil || v.Version != 0 || v.Bytes != nil {
		t.Fatalf("%+v, %v", v, err)
	}
	first, err := c.Swap(ctx, "groups/g", 0, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []int64{0, first + 1} {
		if _, err := c.Swap(ctx, "groups/g", old, []byte("x")); !errors.Is(err, coord.ErrConflict) {
			t.Errorf("version %d: %v", old, err)
		}
	}
	second, err := c.Swap(ctx, "groups/g", first, []byte("two"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Swap(ctx, "groups/f", 0, []byte("other")); err != nil {
		t.Fatal(err)
	}
	all, err := c.List(ctx, "groups/")
	if err != nil || len(all) != 2 || all[0].Key != "groups/f" || string(all[1].Bytes) != "two" || all[1].Version != second {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := c.Swap(ctx, "groups/g", second, nil); err != nil {
		t.Fatal(err)
	}
	if v, err := c.Get(ctx, "groups/g"); err != nil || v.Version != 0 {
		t.Fatalf("after deleting: %+v, %v", v, err)
	}
}

// Of many members that decide at the same time exactly one wins each version.
func TestOneSwapWins(t *testing.T) {
	addr := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}).Addr()
	var mu sync.Mutex
	wins := map[int64]int{}
	var all sync.WaitGroup
	for range 4 {
		c := dial(t, addr)
		all.Go(func() {
			for range 25 {
				v, err := c.Get(t.Context(), "g")
				if err != nil {
					t.Error(err)
					return
				}
				switch _, err := c.Swap(t.Context(), "g", v.Version, []byte("x")); {
				case err == nil:
					mu.Lock()
					wins[v.Version]++
					mu.Unlock()
				case !errors.Is(err, coord.ErrConflict):
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for v, n := range wins {
		if n != 1 {
			t.Errorf("%d members changed version %d", n, v)
		}
	}
	if len(wins) < 25 {
		t.Errorf("%d changes by 4 members with 25 attempts each", len(wins))
	}
}

func TestWatchWakes(t *testing.T) {
	c := dial(t, start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}).Addr())
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan struct{}, 100)
	ended := make(chan struct{})
	go func() {
		c.Watch(ctx, "g", func() { woken <- struct{}{} })
		close(ended)
	}()
	var version int64
	for range 3 {
		// The watch may begin after this change: then another one wakes.
		for seen := false; !seen; {
			v, err := c.Swap(ctx, "g", version, []byte("x"))
			if err != nil {
				t.Fatal(err)
			}
			version = v
			select {
			case <-woken:
				seen = true
			case <-time.After(time.Second):
			}
		}
	}
	cancel()
	<-ended
}

// While no coordinator answers, a read says so, and a change has an unknown outcome.
func TestNoCoordinatorAnswers(t *testing.T) {
	server := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	c := dial(t, server.Addr())
	v, err := c.Swap(t.Context(), "g", 0, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Get(ctx, "g"); !errors.Is(err, coord.ErrAway) {
		t.Errorf("reading: %v", err)
	}
	if _, err := c.Swap(ctx, "g", v, []byte("y")); !errors.Is(err, coord.ErrUnknown) {
		t.Errorf("changing: %v", err)
	}
}
