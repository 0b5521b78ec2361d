package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// TestWrites: writes that are submitted together get revisions in their order, each
// judged by those before it, in one commit; a second store gets its own.
func TestWrites(t *testing.T) {
	value, err := feature.Append(nil, orb.Point{1, 2}, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
		st := open(t, Options{Dir: t.TempDir(), Sync: s})
		c, d := create(t, st, CollectionOptions{}), create(t, open(t, Options{}), CollectionOptions{})
		type result struct {
			name     string
			revision uint64
			err      error
		}
		results := make(chan result, 16)
		var all Writes
		add := func(c *Collection, id string, cond kv.Condition) {
			all.Put(c, id, value, 0, cond, func(revision uint64, _ bool, err error) { results <- result{id, revision, err} })
		}
		first := st.last.Load() + 1
		add(c, "a", kv.Condition{IfAbsent: true})
		add(c, "a", kv.Condition{IfAbsent: true}) // there is one, by then
		add(c, "b", kv.Condition{})
		add(c, "a", kv.Condition{IfRevision: first})
		if all.Len() != 4 || len(results) > 0 {
			t.Fatal(all.Len(), "writes are gathered, want 4 and none made")
		}
		add(d, "e", kv.Condition{})
		if all.Len() != 1 {
			t.Fatal("writes of two stores are together")
		}
		all.Submit()
		all.Submit() // nothing
		got := map[string]result{}
		for range 5 {
			r := <-results
			if _, ok := got[r.name]; ok {
				r.name += fmt.Sprint(" at ", r.revision)
			}
			got[r.name] = r
		}
		if r := got["a"]; r.revision != first || r.err != nil {
			t.Error(r)
		}
		if r := got["a at 0"]; !errors.Is(r.err, kv.ErrExists) {
			t.Error(got)
		}
		if r := got[fmt.Sprint("a at ", first+2)]; r.err != nil {
			t.Error(got)
		}
		if r := got["b"]; r.revision != first+1 || r.err != nil {
			t.Error(r)
		}
		if r := got["e"]; r.revision == 0 || r.err != nil {
			t.Error(r)
		}
		if c.Len() != 2 || d.Len() != 1 || all.Len() != 0 {
			t.Error(c.Len(), d.Len(), all.Len())
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			add(c, "f", kv.Condition{})
		}
		all.Submit()
		for range 3 {
			if r := <-results; !errors.Is(r.err, ErrClosed) {
				t.Error(r)
			}
		}
	}
}

// TestWritesReplace: each put reports whether a read would have found a feature of its
// id just before, including one of the same commit.
func TestWritesReplace(t *testing.T) {
	value, err := feature.Append(nil, orb.Point{1, 2}, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	now := &clock{}
	now.advance(1e18)
	c := create(t, open(t, Options{Now: now.Now}), CollectionOptions{})
	var all Writes
	var got []bool
	put := func(id string, expires time.Duration, cond kv.Condition) {
		all.Put(c, id, value, int64(expires), cond, func(_ uint64, replaced bool, err error) {
			if (err != nil) != (cond.IfAbsent && id == "a") {
				t.Errorf("%q: %v", id, err)
			}
			got = append(got, replaced)
		})
	}
	want := func(what string, want ...bool) {
		t.Helper()
		all.Submit()
		if !slices.Equal(got, want) {
			t.Errorf("%s: replaced %v, want %v", what, got, want)
		}
		got = nil
	}
	put("a", 0, kv.Condition{})
	put("b", now.Now()+time.Second, kv.Condition{})
	put("a", 0, kv.Condition{})
	put("a", 0, kv.Condition{IfAbsent: true})
	want("in one commit", false, false, true, false)
	put("a", 0, kv.Condition{})
	put("b", now.Now()+time.Second, kv.Condition{})
	want("stored before", true, true)
	now.advance(2 * time.Second)
	put("b", 0, kv.Condition{})
	want("expired before", false)
	if _, err := c.Delete(t.Context(), "a", kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	put("a", 0, kv.Condition{})
	want("deleted before", false)
}
