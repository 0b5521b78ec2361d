package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Swap exchanges the meanings of names, and a restart finds it so.
func TestSwap(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			st := open(t, Options{Dir: dir})
			for i, name := range []string{"a", "b"} {
				c, err := st.CreateFeatures(name, CollectionOptions{Space: feature.Space(i), Title: "was " + name})
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := c.Put(ctx, Feature{ID: "of " + name}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			old, err := st.Collection("a")
			if err != nil {
				t.Fatal(err)
			}
			for _, pair := range [][2]string{{"a", "c"}, {"c", "a"}} {
				if err := st.Swap(t.Context(), pair[0], pair[1]); !errors.Is(err, ErrUnknownCollection) {
					t.Errorf("%v: %v", pair, err)
				}
			}
			if err := st.Swap(t.Context(), "a", "a"); !errors.Is(err, ErrName) {
				t.Error(err)
			}
			if err := st.Swap(t.Context(), "a", "b"); err != nil {
				t.Fatal(err)
			}
			if old.Name() != "b" {
				t.Errorf("what was a is %q", old.Name())
			}
			check := func(st *Store) {
				t.Helper()
				for name, was := range map[string]string{"a": "b", "b": "a"} {
					c, err := st.Collection(name)
					if err != nil {
						t.Fatal(err)
					}
					d, err := c.Describe()
					if err != nil || c.Name() != name || d.Name != name || d.Title != "was "+was || d.Features != 1 || d.Created.IsZero() {
						t.Errorf("%q: %+v, %v", name, d, err)
					}
					if _, err := c.Get(ctx, "of "+was); err != nil {
						t.Errorf("%q: %v", name, err)
					}
				}
			}
			check(st)
			// A name is free for another one when its collection was dropped.
			if ok, err := st.Drop("b"); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if c, err := st.CreateFeatures("b", CollectionOptions{Title: "was a"}); err != nil {
				t.Fatal(err)
			} else if _, _, err := c.Put(ctx, Feature{ID: "of a"}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			if dir == "" {
				return
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			check(open(t, Options{Dir: dir}))
		})
	}
}

// While names are swapped, each has features, all of one collection, and writes
// continue.
func TestSwapMeanwhile(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), Sync: disk.SyncOff})
	for _, name := range []string{"a", "b"} {
		c, err := st.CreateFeatures(name, CollectionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			f := Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1, 1}, Properties: json.RawMessage(`{"of":"` + name + `"}`)}
			if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	swapped := make(chan error, 1)
	go func() {
		for range 200 {
			if err := st.Swap(t.Context(), "a", "b"); err != nil {
				swapped <- err
				return
			}
		}
		stop()
		swapped <- nil
	}()
	for ctx.Err() == nil {
		c, err := st.Collection("a")
		if err != nil {
			t.Fatal(err)
		}
		n, of := 0, map[string]bool{}
		if err := c.Search(t.Context(), Query{Area: query.Box(0, 0, 2, 2)}, func(f *Found) (bool, error) {
			of[string(f.View.Properties())] = true
			n++
			return true, nil
		}); err != nil || n != 20 || len(of) != 1 {
			t.Fatal(n, of, err)
		}
		if _, err := c.Patch(t.Context(), "3", []byte(`{"of":"`+c.Name()+`"}`), kv.Condition{IfRevision: 1}); !errors.Is(err, kv.ErrConflict) {
			t.Fatal(err)
		}
	}
	if err := <-swapped; err != nil {
		t.Fatal(err)
	}
}

// Watchers of both end, and one that would resume from before gets an error.
func TestSwapWatched(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), Sync: disk.SyncOff})
	var watchers []*Watcher
	before := map[string]uint64{}
	for _, name := range []string{"a", "b"} {
		c, err := st.CreateFeatures(name, CollectionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, before[name], err = c.Put(t.Context(), Feature{ID: "x", Geometry: orb.Point{1, 1}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		w, err := c.Watch(t.Context(), WatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := w.Add("", Query{}); err != nil {
			t.Fatal(err)
		}
		watchers = append(watchers, w)
	}
	if err := st.Swap(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	for i, w := range watchers {
		if e, err := w.Next(t.Context()); !errors.Is(err, ErrSwapped) {
			t.Errorf("watcher %d: %+v, %v", i, e, err)
		}
	}
	for name, from := range before {
		c, err := st.Collection(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Watch(t.Context(), WatchOptions{From: from}); !errors.Is(err, disk.ErrTrimmed) {
			t.Errorf("%q from %d: %v", name, from, err)
		}
	}
}
