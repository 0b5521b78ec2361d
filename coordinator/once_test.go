package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/rstar"
)

// repeater writes all kinds of writes that are repeated, from several goroutines, and wants
// each to end well, and to be answered as if it was the only request of it.
type repeater struct {
	t        *testing.T
	client   *catfish.Client
	rounds   [4]atomic.Int64 // that a goroutine has ended
	stopping atomic.Bool
	wg       sync.WaitGroup
}

// Each round of a goroutine has its own objects.
func objectOf(writer int, round int64, n int) uint64 {
	return uint64(writer)<<48 | uint64(round)<<8 | uint64(n)
}

func startRepeater(t *testing.T, addrs, transport string) *repeater {
	t.Helper()
	c, err := catfish.Dial(t.Context(), addrs, catfish.Options{Transport: transport, Shared: new(catfish.Shared), Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}))
	must(c.CreateBoxes(t.Context(), "kept", model.BoxesOptions{Keep: true}))
	places, err := c.Features("places")
	must(err)
	boxes, err := c.Collection("kept")
	must(err)
	r := &repeater{t: t, client: c}
	for w := range r.rounds {
		r.wg.Go(func() {
			for !r.stopping.Load() {
				round := r.rounds[w].Load()
				if err := r.round(t.Context(), w, round, boxes, places); err != nil {
					t.Errorf("writer %d, round %d: %v", w, round, err)
					return
				}
				r.rounds[w].Add(1)
			}
		})
	}
	return r
}

// round leaves a box, three of another, one that was moved, and two places.
func (r *repeater) round(ctx context.Context, w int, round int64, boxes *catfish.Client, places *model.Features) error {
	at := func(n int) rstar.Rect { return catfishtest.Square(float64(n), 0) }
	id := func(n int) uint64 { return objectOf(w, round, n) }
	var errs []error
	want := func(what string, is bool, err error) {
		if !is || err != nil {
			errs = append(errs, fmt.Errorf("%s: %v, %w", what, is, err))
		}
	}
	want("insert", true, boxes.Insert(ctx, at(0), id(0)))
	n, err := boxes.InsertMany(ctx, []rstar.Item{{Rect: at(1), ID: id(1)}, {Rect: at(1), ID: id(1)}, {Rect: at(1), ID: id(1)}, {Rect: at(2), ID: id(2)}, {Rect: at(3), ID: id(3)}})
	want("insert many", n == 5, err)
	ok, err := boxes.Update(ctx, at(2), at(4), id(2))
	want("update", ok, err)
	ok, err = boxes.Delete(ctx, at(3), id(3))
	want("delete", ok, err)
	name := fmt.Sprintf("%d-%d", w, round)
	put, err := places.PutMany(ctx, []model.Feature{placeAt(name), {Geometry: placeAt("").Geometry}, placeAt(name + "x")})
	for i := range put {
		want(fmt.Sprint("put ", i), put[i].Created && put[i].ID != "", put[i].Err)
	}
	want("put", len(put) == 3, err)
	if _, _, err := places.Put(ctx, placeAt(name+"y"), model.Condition{IfAbsent: true}); err != nil {
		want("put if absent", false, err)
	}
	revision, err := places.Patch(ctx, name+"y", []byte(`{"n":1}`), model.Condition{})
	want("patch", revision > 0, err)
	_, err = places.Delete(ctx, name+"y", model.Condition{IfRevision: revision})
	want("delete", true, err)
	_, err = places.Delete(ctx, name+"x", model.Condition{})
	want("delete x", true, err)
	return errors.Join(errs...)
}

func (r *repeater) goOn() {
	r.t.Helper()
	var before [len(r.rounds)]int64
	for w := range r.rounds {
		before[w] = r.rounds[w].Load()
	}
	catfishtest.Eventually(r.t, "writes continue", func() bool {
		for w := range r.rounds {
			if r.rounds[w].Load() < before[w]+3 && !r.t.Failed() {
				return false
			}
		}
		return true
	})
}

// check wants each object as often as it was written.
func (r *repeater) check() {
	r.t.Helper()
	r.stopping.Store(true)
	r.wg.Wait()
	boxes, err := r.client.Collection("kept")
	if err != nil {
		r.t.Fatal(err)
	}
	found, err := boxes.Search(r.t.Context(), rstar.Rect{MinX: -1e6, MinY: -1e6, MaxX: 1e6, MaxY: 1e6})
	if err != nil {
		r.t.Fatal(err)
	}
	count := map[uint64]int{}
	for _, it := range found {
		count[it.ID]++
	}
	var places int64
	for w := range r.rounds {
		for round := range r.rounds[w].Load() {
			for n, want := range []int{1, 3, 1, 0} {
				id := objectOf(w, round, n)
				if got := count[id]; got != want {
					r.t.Errorf("box %d of writer %d, round %d, is there %d times, want %d", n, w, round, got, want)
				}
				delete(count, id)
			}
			places += 2
		}
	}
	if len(count) > 0 {
		r.t.Errorf("%d boxes that no writer has acknowledged: %v", len(count), count)
	}
	of, err := r.client.Features("places")
	if err != nil {
		r.t.Fatal(err)
	}
	if n, err := of.Count(r.t.Context(), model.FeatureQuery{}); int64(n) != places || err != nil {
		r.t.Errorf("%d places, %v, want %d", n, err, places)
	}
}

// When primaries are killed and stand still while clients write, each write is made once and
// answered, and none ends with an unknown outcome.
func TestWritesAreMadeOnce(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			registry, members, addrs := startGroup(t, startChild)
			r := startRepeater(t, addrs, transport)
			r.goOn()
			signal := func(s os.Signal) *member {
				old := groupOf(t, registry)
				m := members[old.Primary]
				if err := m.child.Signal(s); err != nil {
					t.Fatal(err)
				}
				r.goOn()
				if g := groupOf(t, registry); g.Term <= old.Term {
					t.Errorf("afterwards: %+v", g)
				}
				return m
			}
			signal(os.Kill)
			stopped := signal(syscall.SIGSTOP)
			if err := stopped.child.Signal(syscall.SIGCONT); err != nil { // Its requests may have any effect yet.
				t.Fatal(err)
			}
			catfishtest.Eventually(t, "the member that stood still follows", func() bool { return len(groupOf(t, registry).InSync) == 2 })
			r.goOn()
			r.check()
		})
	}
}
