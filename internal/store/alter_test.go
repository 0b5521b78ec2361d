package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Alter replaces the texts of a collection, and nothing else; a restart finds it so.
func TestAlter(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			st := open(t, Options{Dir: dir})
			c, err := st.CreateFeatures("a", CollectionOptions{Title: "old", Description: "old, too"})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.Put(t.Context(), Feature{ID: "x"}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			want := CollectionOptions{Title: "new"}
			for range 2 { // The second time there is nothing to do.
				if err := st.Alter("a", want); err != nil {
					t.Fatal(err)
				}
			}
			if err := st.Alter("b", want); !errors.Is(err, ErrUnknownCollection) {
				t.Errorf("of a name that is not there: %v", err)
			}
			if err := st.Alter("a", CollectionOptions{Space: feature.Planar, Title: "new"}); !errors.Is(err, ErrOptions) {
				t.Errorf("another space: %v", err)
			}
			check := func(st *Store) {
				t.Helper()
				c, err := st.CreateFeatures("a", want)
				if err != nil {
					t.Fatal(err)
				}
				d, err := c.Describe()
				if err != nil || d.CollectionOptions != want || c.Options() != want || d.Features != 1 || d.Created.IsZero() {
					t.Errorf("%+v, %v", d, err)
				}
				if _, err := st.CreateFeatures("a", CollectionOptions{Title: "old"}); !errors.Is(err, ErrCollectionExists) {
					t.Errorf("created again as it was: %v", err)
				}
			}
			check(st)
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

// A watcher continues when the texts of its collection are altered, and may begin
// before that; when the collection gets another name it ends.
func TestAlterLeavesWatchers(t *testing.T) {
	st := open(t, Options{})
	c, err := st.CreateFeatures("a", CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateFeatures("b", CollectionOptions{}); err != nil {
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
	from := w.Revision()
	if err := st.Alter("a", CollectionOptions{Title: "new"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Put(t.Context(), Feature{ID: "x"}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Next(t.Context()); err != nil || e.Kind != query.Enter || e.ID != "x" {
		t.Errorf("%+v, %v", e, err)
	}
	late, err := c.Watch(t.Context(), WatchOptions{From: from})
	if err != nil {
		t.Fatal(err)
	}
	late.Close()
	if err := st.Swap(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Next(t.Context()); !errors.Is(err, ErrSwapped) {
		t.Errorf("%+v, %v", e, err)
	}
}

// PutTogether reports for each feature whether it replaced one, including one that was
// put earlier in the same call, and makes one commit of all.
func TestPutTogether(t *testing.T) {
	now := time.Hour
	st := open(t, Options{Dir: t.TempDir(), Now: func() time.Duration { return now }})
	c, err := st.CreateFeatures("a", CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	value, err := feature.Append(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, expires := range map[string]time.Time{"there": {}, "expired": time.Unix(0, int64(now+time.Second))} {
		if _, _, err := c.Put(context.Background(), Feature{ID: id, Expires: expires}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	now += time.Minute
	ids, replaced := []string{"new", "there", "new", "expired", ""}, []bool{false, true, true, false, false}
	var all []EncodedFeature
	for _, id := range ids {
		all = append(all, EncodedFeature{ID: id, Value: append([]byte(nil), value...), Expires: int64(now + time.Hour)})
	}
	got, ended := make([]Stored, len(all)), make(chan int, len(all))
	before := st.Stats().Commits.Count
	c.PutTogether(all, func(i int, s Stored) { got[i] = s; ended <- i })
	for i := range all {
		if n := <-ended; n != i {
			t.Errorf("feature %d is answered as the %d-th", n, i)
		}
	}
	commits := st.Stats().Commits.Count - before
	for i, s := range got[:4] {
		if s.Err != nil || s.Replaced != replaced[i] || i > 0 && s.Revision != got[i-1].Revision+1 {
			t.Errorf("%d %q: %+v", i, ids[i], s)
		}
	}
	if got[4].Err == nil || got[4].Replaced || commits != 1 {
		t.Errorf("without an id: %+v; %d commits", got[4], commits)
	}
	if f, err := c.Get(t.Context(), "new"); err != nil || f.Expires != time.Unix(0, int64(now+time.Hour)) {
		t.Errorf("%+v, %v", f, err)
	}
}
