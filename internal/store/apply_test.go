package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// recorder is a group of one that remembers what it was asked to commit.
type recorder struct {
	all   []disk.Entry
	lease replica.Lease
}

// leading is a group whose primary this member is.
func leading() *recorder {
	return &recorder{lease: replica.Lease{Term: 1, Until: boottime.Now() + time.Hour}}
}

func (r *recorder) Propose(entries []disk.Entry) error {
	for _, e := range entries {
		e.Key, e.Value, e.Old = slices.Clone(e.Key), slices.Clone(e.Value), slices.Clone(e.Old)
		r.all = append(r.all, e)
	}
	return nil
}

func (r *recorder) Failed(error) {}

func (r *recorder) Lease() replica.Lease { return r.lease }

func (r *recorder) End() uint64 { return uint64(len(r.all)) }

func member(t *testing.T, dir string) *Store {
	t.Helper()
	st, err := Open(t.Context(), Options{Dir: dir, Replicated: true, SlabBytes: 16 << 20, StoreID: [16]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// contents are all features, boxes and records, and what the collections are called.
func contents(t *testing.T, st *Store) (all []string) {
	t.Helper()
	for _, e := range st.All() {
		switch {
		case e.Features != nil:
			o := e.Features.Options()
			all = append(all, fmt.Sprintf("%s: features %q, %d", e.Name, o.Title, e.Features.Len()))
			err := e.Features.Search(t.Context(), Query{}, func(f *Found) (bool, error) {
				all = append(all, fmt.Sprintf("%s %s %d %x", e.Name, f.ID, f.Revision, f.Value))
				return true, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		case e.Boxes != nil:
			all = append(all, fmt.Sprintf("%s: boxes, %d", e.Name, e.Tree.Len()))
			e.Tree.Search(rstar.Rect{MinX: -1e9, MinY: -1e9, MaxX: 1e9, MaxY: 1e9}, func(r rstar.Rect, id uint64) bool {
				all = append(all, fmt.Sprintf("%s %d %v", e.Name, id, r))
				return true
			})
		case e.Kept != nil:
			all = append(all, fmt.Sprintf("%s: records, %d, in %d shards", e.Name, e.Kept.Len(), len(e.Parts())))
			for key, r := range recordsIn(t, e.Kept) {
				all = append(all, fmt.Sprintf("%s %s %+v", e.Name, key, r))
			}
		}
	}
	slices.Sort(all)
	return all
}

// A member that applies the log of a primary, in pieces of any size, with restarts between,
// has what the primary has.
func TestApply(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	primary, log := member(t, t.TempDir()), leading()
	primary.Replicate(log)
	writeAllKinds(t, primary, rng)
	want := contents(t, primary)
	if len(want) < 50 {
		t.Fatalf("the primary has %d lines", len(want))
	}
	dir := filepath.Join(t.TempDir(), "data")
	secondary := member(t, dir)
	for at := 0; at < len(log.all); {
		n := min(1+rng.IntN(20), len(log.all)-at)
		for log.all[at+n-1].Flags&disk.Continues != 0 {
			n++
		}
		// Some that it has already, too.
		from := max(0, at-rng.IntN(3))
		if err := secondary.Apply(log.all[from : at+n]); err != nil {
			t.Fatal(err)
		}
		if at += n; rng.IntN(20) == 0 {
			if err := secondary.Close(); err != nil {
				t.Fatal(err)
			}
			secondary = member(t, dir)
		}
	}
	if got := contents(t, secondary); !slices.Equal(got, want) {
		for _, l := range got {
			if !slices.Contains(want, l) {
				t.Errorf("more: %s", l)
			}
		}
		for _, l := range want {
			if !slices.Contains(got, l) {
				t.Errorf("less: %s", l)
			}
		}
	}
	if secondary.Revision() != primary.Revision() || secondary.History() != primary.History() {
		t.Errorf("revision %d of %d, want %d of %d", secondary.Revision(), secondary.History(), primary.Revision(), primary.History())
	}
	if err := secondary.Apply([]disk.Entry{{Kind: disk.Put, Revision: secondary.Revision() + 2}}); err == nil {
		t.Error("entries after a gap were applied")
	}
}

// partly is a group that commits the first entries of a batch before the others: the store
// is asked to apply them while its commit leader waits.
type partly struct {
	recorder
	st      *Store
	outcome error
	applied chan error
}

func (g *partly) Propose(entries []disk.Entry) error {
	first := slices.Clone(entries[:1])
	go func() { g.applied <- g.st.Apply(first) }()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		g.st.queue.mu.Lock()
		waiting = len(g.st.queue.waiting)
		g.st.queue.mu.Unlock()
	}
	return g.outcome
}

// The first entries of a batch of the store's own are applied once, whether the group
// acknowledges the batch or not.
func TestApplyOwnBatch(t *testing.T) {
	for _, outcome := range []error{nil, fault.ErrUnknownOutcome} {
		st := member(t, t.TempDir())
		st.Replicate(&recorder{})
		c := records(t, st, RecordsOptions{})
		g := &partly{st: st, outcome: outcome, applied: make(chan error)}
		st.Replicate(g)
		var turn Writes
		results := make(chan error, 2)
		for _, key := range []string{"first", "second"} {
			turn.PutRecord(Name{}, c, key, AppendRecordValue(nil, nil, 0), 0, kv.Condition{}, func(_ uint64, err error) { results <- err })
		}
		turn.Submit()
		want := 2
		if outcome != nil {
			want = 1
		}
		for range 2 {
			if err := <-results; !errors.Is(err, outcome) {
				t.Errorf("%v, want %v", err, outcome)
			}
		}
		if err := <-g.applied; err != nil || c.Len() != want {
			t.Errorf("applied: %v, %d records, want %d", err, c.Len(), want)
		}
	}
}

// writeAllKinds writes all kinds of entries.
func writeAllKinds(t *testing.T, st *Store, rng *rand.Rand) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := st.CreateFeatures("a", CollectionOptions{})
	must(err)
	b, err := st.CreateFeatures("b", CollectionOptions{Title: "B"})
	must(err)
	gone, err := st.CreateFeatures("gone", CollectionOptions{})
	must(err)
	boxes := boxes(t, st)
	values := records(t, st, RecordsOptions{Shards: 2})
	e, err := st.Create("gone-records", Spec{Kind: KindRecords})
	must(err)
	goneRecords := e.Kept
	want := keptRecords{}
	var items []rstar.Item
	for i := range 100 {
		must(recordStep(t, values, want, rng))
		_, err = goneRecords.Put(kv.Entry{Key: fmt.Append(nil, i)}, kv.Condition{})
		must(err)
		c := []*Collection{a, b, gone}[rng.IntN(3)]
		f := Feature{ID: fmt.Sprint(rng.IntN(20)), Geometry: orb.Point{rng.Float64(), rng.Float64()}, Properties: fmt.Appendf(nil, `{"n": %d}`, i)}
		_, _, err := c.Put(t.Context(), f, kv.Condition{})
		must(err)
		if rng.IntN(4) == 0 {
			_, err := c.Delete(t.Context(), f.ID, kv.Condition{})
			must(err)
		}
		it := rstar.Item{ID: uint64(rng.IntN(10)), Rect: rstar.Rect{MinX: float64(i), MaxX: float64(i + 1), MaxY: 1}}
		must(boxes.Insert(it.Rect, it.ID))
		if rng.IntN(3) == 0 {
			must(boxes.Insert(it.Rect, it.ID))
		}
		items = append(items, it)
		if old := items[rng.IntN(len(items))]; rng.IntN(2) == 0 {
			_, err := boxes.Update(old.Rect, rstar.Rect{MinX: -1, MaxX: float64(i), MaxY: 2}, old.ID)
			must(err)
		}
	}
	must(st.Swap(context.Background(), "a", "b"))
	must(st.Alter("a", CollectionOptions{Title: "A"}))
	for _, name := range []string{"gone", "gone-records"} {
		_, err = st.Drop(name)
		must(err)
	}
	want.verify(t, values, "at the primary")
	bulk, err := st.Create("bulk", Spec{Kind: KindBoxes, Keep: true})
	must(err)
	must(bulk.Boxes.Load(append(items, items[0])))
	must(bulk.Boxes.Insert(items[1].Rect, items[1].ID))
}
