package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// numbering is an Owner without clients.
type numbering struct{}

func (numbering) Attach(e *Entry) { e.Attached = e.Name }

func (numbering) Swapped(_, _ [2]*Entry) func(context.Context) error {
	return func(context.Context) error { return nil }
}

var allKinds = map[string]Spec{
	"features": {},
	"boxes":    {Kind: KindBoxes},
	"kept":     {Kind: KindBoxes, Keep: true},
	"records":  {Kind: KindRecords},
	"shards":   {Kind: KindRecords, Records: RecordsOptions{Shards: 3}},
}

// TestRegistryOfAllKinds: names are one space for all kinds, numbers lead to a collection
// until it is dropped, and are not used twice.
func TestRegistryOfAllKinds(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 2 << 20, Owner: numbering{}})
	seen := map[uint32]bool{}
	for range 3 {
		var all []*Entry
		for name, s := range allKinds {
			e, err := st.Create(name, s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if again, err := st.Create(name, s); again != e || err != nil {
				t.Errorf("%s, created again: %v", name, err)
			}
			if found, err := st.Lookup(name); found != e || err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, p := range e.Parts() {
				if found, err := st.ByNumber(p.Number); found != p || err != nil || seen[p.Number] || p.Attached != p.Name {
					t.Errorf("%s has number %d, used before: %t: %v", p.Name, p.Number, seen[p.Number], err)
				}
				if found, err := st.LookupShard(p.Name); found != p || err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
				seen[p.Number] = true
			}
			all = append(all, e)
		}
		if n := len(st.All()); n != len(allKinds) {
			t.Errorf("%d collections", n)
		}
		for name, s := range allKinds {
			for other, as := range allKinds {
				_, err := st.Create(name, as)
				if s.Kind != as.Kind && !errors.Is(err, fault.ErrKind) {
					t.Errorf("%s created as %s: %v", name, other, err)
				}
			}
		}
		for _, as := range []string{"kept", "shards"} {
			for name, s := range allKinds {
				if _, err := st.Create(name, allKinds[as]); s.Kind == allKinds[as].Kind && name != as && !errors.Is(err, ErrCollectionExists) {
					t.Errorf("%s created as %s: %v", name, as, err)
				}
			}
		}
		for _, e := range all {
			if ok, err := st.Drop(e.Name); !ok || err != nil {
				t.Fatal(e.Name, ok, err)
			}
			for _, p := range e.Parts() {
				if _, err := st.ByNumber(p.Number); !errors.Is(err, ErrUnknownCollection) || !errors.Is(p.Gone(), ErrUnknownCollection) {
					t.Errorf("dropped, %s: %v", p.Name, err)
				}
			}
			st.WaitFreed()
			for _, p := range e.Parts() {
				if p.Tree != nil && !p.Tree.Closed() || st.NameOf(p.Number) != p.Name {
					t.Errorf("freed, %s is called %s", p.Name, st.NameOf(p.Number))
				}
			}
		}
	}
}

// TestRegistryFull: a collection that has no number, or that its client may not have, is
// not created, and leaves nothing behind.
func TestRegistryFull(t *testing.T) {
	st := open(t, Options{SlabBytes: 1 << 20, Owner: numbering{}})
	for i := range MaxCollections - 2 {
		if _, err := st.Create(fmt.Sprint(i), Spec{Kind: KindBoxes}); err != nil {
			t.Fatal(i, err)
		}
	}
	budget := limits.NewBudget("collections", 1<<62, 2)
	three := Spec{Kind: KindRecords, Records: RecordsOptions{Shards: 3}}
	for want, share := range map[error]int64{fault.ErrBusy: 3, limits.ErrExceeded: 2} {
		three.Account = limits.NewBudget("collections", 1<<62, share).Open("a", func(error) {})
		if _, err := st.Create("three", three); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if three.Account.Held() != 0 {
			t.Error("it counts")
		}
	}
	two := Spec{Kind: KindRecords, Records: RecordsOptions{Shards: 2}, Account: budget.Open("a", func(error) {})}
	if e, err := st.Create("two", two); err != nil || !e.OfClients() || budget.Use().Used != 2 {
		t.Fatal(e, err, budget.Use())
	}
	if ok, err := st.Drop("two"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	st.WaitFreed()
	if budget.Use().Used != 0 {
		t.Errorf("%+v after the drop", budget.Use())
	}
}

// TestDropEndsRemoteReads: when a drop is answered, no remote reader reads the memory any
// more, though local ones may keep it for longer.
func TestDropEndsRemoteReads(t *testing.T) {
	var remote atomic.Int32
	st := open(t, Options{SlabBytes: 1 << 20, Memory: func(_ string, _ Part, bytes int64) (Memory, error) {
		remote.Add(1)
		return Memory{Bytes: make([]byte, bytes), Revoke: func() { remote.Add(-1) }}, nil
	}})
	had := remote.Load()
	for name, s := range map[string]Spec{"features": {}, "boxes": {Kind: KindBoxes}, "records": {Kind: KindRecords}} {
		e, err := st.Create(name, s)
		if err != nil {
			t.Fatal(err)
		}
		if remote.Load() == had {
			t.Fatalf("no memory for %s", name)
		}
		drop := func() {
			if ok, err := st.Drop(name); !ok || err != nil || remote.Load() != had {
				t.Errorf("drop of %s: %v, %v, %d memories can be read, want %d", name, ok, err, remote.Load(), had)
			}
		}
		if e.Tree == nil {
			drop()
		} else if err := e.Tree.Frozen(drop); err != nil { // Closing the tree waits.
			t.Error(err)
		}
	}
}

// TestDropIf: what may forbids, or the options call permanent, stays.
func TestDropIf(t *testing.T) {
	st := open(t, Options{SlabBytes: 1 << 20, Collections: []Named{{"default", Spec{Kind: KindBoxes, Permanent: true}}, {"places", Spec{}}}})
	if _, err := st.Drop("default"); !errors.Is(err, fault.ErrNotPermitted) {
		t.Error(err)
	}
	refuses := errors.New("refused")
	if ok, err := st.DropIf("places", func(*Entry) error { return refuses }); ok || err != refuses {
		t.Error(ok, err)
	}
	if ok, err := st.DropFeatures("default"); ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := st.DropFeatures("places"); !ok || err != nil {
		t.Error(ok, err)
	}
}

// TestLookupWhileLoading: until the store is loaded, a name that the directory may have is
// not said to be unknown, also in the moment in which the loading ends, and collections in
// memory can be used.
func TestLookupWhileLoading(t *testing.T) {
	o := Options{Dir: t.TempDir(), SlabBytes: 1 << 20, Collections: []Named{{"boxes", Spec{Kind: KindBoxes}}, {"named", Spec{}}}}
	st := open(t, o)
	create(t, st, CollectionOptions{})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		st, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		account := limits.NewBudget("collections", 1<<62, 2).Open("a", func(error) {})
		for what, err := range map[string]error{
			"client": func() error { _, err := st.Create("places", Spec{Kind: KindBoxes, Account: account}); return err }(),
			"owner":  func() error { _, err := st.Create("places", Spec{}); return err }(),
			"drop":   func() error { _, err := st.Drop("places"); return err }(),
			"swap":   st.Swap(t.Context(), "places", "named"),
			"alter":  st.Alter("places", CollectionOptions{}),
		} {
			if !errors.Is(err, fault.ErrNotReady) {
				t.Errorf("%s: %v", what, err)
			}
		}
		boxes, err := st.Lookup("boxes")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var loaded atomic.Bool
		wg.Go(func() {
			for last := false; !last; {
				last = loaded.Load()
				for _, name := range []string{"places", "named"} {
					if _, err := st.Collection(name); err != nil && !errors.Is(err, fault.ErrNotReady) {
						t.Errorf("%q: %v", name, err)
						return
					}
				}
				if err := boxes.Tree.Insert(rstar.Rect{}, 1); err != nil {
					t.Error(err)
					return
				}
				if ok, err := boxes.Tree.Delete(rstar.Rect{}, 1); !ok || err != nil {
					t.Error(ok, err)
					return
				}
			}
		})
		err = st.Load(t.Context())
		loaded.Store(true)
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		e, err := st.Lookup("places")
		if err != nil || !e.OfClients() {
			t.Error(err)
		}
		if e, err = st.Lookup("named"); err != nil || e.OfClients() {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoadFails: a store that cannot be loaded says why, and collections in memory can be
// used.
func TestLoadFails(t *testing.T) {
	o := Options{Dir: t.TempDir(), SlabBytes: 1 << 20}
	st := open(t, o)
	create(t, st, CollectionOptions{})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[Kind]error{KindBoxes: fault.ErrKind, KindRecords: fault.ErrKind} {
		o.Collections = []Named{{"places", Spec{Kind: kind}}}
		st, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Load(t.Context()); !errors.Is(err, want) {
			t.Errorf("loaded beside %v: %v", kind, err)
		}
		for _, err := range []error{st.Ready(), func() error { _, err := st.Create("x", Spec{}); return err }()} {
			if !errors.Is(err, fault.ErrServer) || !errors.Is(err, want) {
				t.Errorf("loaded beside %v: %v", kind, err)
			}
		}
		e, err := st.Lookup("places")
		if err != nil || e.Kind != kind || e.Gone() != nil {
			t.Errorf("in memory: %v", err)
		}
		if e.Records != nil {
			if _, err := e.Records.Put(kv.Entry{Key: []byte("a")}, kv.Condition{}); err != nil {
				t.Error(err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
