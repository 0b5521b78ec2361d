package server

import (
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestFeatureWorkIsCounted: the results of a search that a client waits for count against
// its source's share of the server's memory. A search that exceeds it fails with an error
// that says so, over a connection that stays.
func TestFeatureWorkIsCounted(t *testing.T) {
	s := startFeatures(t, Options{})
	f := dialFeatures(t, s, client.Options{Transport: model.TransportTCP})
	var all []model.Feature
	for i := range 4000 {
		all = append(all, model.Feature{
			ID: fmt.Sprint("place ", i), Geometry: orb.Point{float64(i%100) / 100, float64(i/100) / 100},
			Properties: []byte(`{"text":"` + strings.Repeat("x", 800) + `"}`),
		})
	}
	if _, err := f.PutMany(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	world := query.Box(-180, -90, 180, 90)
	// Other clients of this host hold most of its share.
	before := s.budgets.answers.Use()
	other := s.budgets.answers.Open("127.0.0.1", func(error) {})
	defer other.Close()
	if err := other.Take(before.Share - before.Used - 1<<20); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"find": func() error {
			_, err := everyOf(f.Search(t.Context(), model.FeatureQuery{Area: world}))
			return err
		},
		"near": func() error {
			_, err := everyOf(f.Nearest(t.Context(), model.NearestQuery{K: 4000}))
			return err
		},
	} {
		if err := call(); !errors.Is(err, model.ErrBusy) || !strings.Contains(err.Error(), "bytes of answers") {
			t.Errorf("%s: %v, want %v", what, err, model.ErrBusy)
		}
	}
	if n, err := f.Count(t.Context(), model.FeatureQuery{Area: world}); err != nil || n != len(all) {
		t.Errorf("count: %d, %v", n, err)
	}
	other.Close()
	fs, err := everyOf(f.Search(t.Context(), model.FeatureQuery{Area: world}))
	if err != nil || len(fs) != len(all) {
		t.Errorf("with room: %d features, %v", len(fs), err)
	}
	if n, err := f.DeleteWhere(t.Context(), model.FeatureQuery{Area: world}); err != nil || n != len(all) {
		t.Errorf("%d deleted, %v", n, err)
	}
	eventually(t, "all is given back", func() bool { return s.budgets.answers.Use().Used <= before.Used })
}

// TestWorkStopsAfterDisconnect: the work for a client that hangs up ends with its next
// pause.
func TestWorkStopsAfterDisconnect(t *testing.T) {
	c, end := net.Pipe()
	defer c.Close()
	a := newSocketAnswers(end, newPacedWriter(end), nil)
	l, err := a.later(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &task{Job: limits.NewSlots(1).Job(t.Context(), "a"), to: reply{socket: l}}
	if err := w.pause(); err != nil {
		t.Fatal(err)
	}
	a.end(false)
	if err := w.pause(); !errors.Is(err, errHungUp) {
		t.Error(err)
	}
	w.End()
	l.respond(wire.KindReply, nil)
}

// TestLongFilters: a worker does not compile a long filter, which takes up to 30 ms, but
// leaves it to a task, unless the filter is cached. Answers and errors are the same.
func TestLongFilters(t *testing.T) {
	s := startFeatures(t, Options{})
	f := dialFeatures(t, s, client.Options{Transport: model.TransportTCP})
	if _, _, err := f.Put(t.Context(), model.Feature{ID: "a", Geometry: orb.Point{1, 1}, Properties: []byte(`{"n":1}`)}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	long := "properties.n == 1" + strings.Repeat(" && properties.n != 2", 20)
	c, err := s.store.Lookup(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	for i, wantTask := range []bool{true, false} {
		p, err := wire.AppendFindQuery(nil, &store.Query{Area: query.Box(0, 0, 2, 2), Filter: long}, feature.Geographic)
		if err != nil {
			t.Fatal(err)
		}
		v := service{s: s}
		r := v.findFeatures(new(peer), c, wire.KindFind, 0, p, nil)
		// A search that is interrupted for longer than its pace continues as a task.
		for n := 0; !wantTask && r.task != nil && n < 100; n++ {
			r = v.findFeatures(new(peer), c, wire.KindFind, 0, p, nil)
		}
		if r.err != nil || (r.task != nil) != wantTask {
			t.Errorf("%d times asked: a task: %v, %v", i, r.task != nil, r.err)
		}
		if n, err := f.Count(t.Context(), model.FeatureQuery{Filter: long}); err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
	}
	n := 0
	for _, err := range f.Nearest(t.Context(), model.NearestQuery{K: 1, Filter: long + " && true"}) {
		if n++; err != nil {
			t.Error(err)
		}
	}
	bad := long + " && nosuch"
	for _, err := range f.Search(t.Context(), model.FeatureQuery{Filter: bad}) {
		if !errors.Is(err, filter.ErrFilter) || !strings.Contains(err.Error(), "nosuch") {
			t.Error(err)
		}
	}
	if _, err := f.DeleteWhere(t.Context(), model.FeatureQuery{Filter: bad}); !errors.Is(err, store.ErrQuery) || !strings.Contains(err.Error(), "nosuch") {
		t.Error(err)
	}
	if deleted, err := f.DeleteWhere(t.Context(), model.FeatureQuery{Filter: long}); err != nil || deleted != n || n != 1 {
		t.Errorf("%d deleted of %d, %v", deleted, n, err)
	}
}

// TestDeleteWhereCounts: an error of a DeleteWhere counts the features deleted before it,
// and is safe to retry only if there were none.
func TestDeleteWhereCounts(t *testing.T) {
	var s *Server
	s = startFeatures(t, Options{later: func(kind fastmsg.Kind, p []byte) *task {
		if kind != wire.KindEraseWhere {
			return nil
		}
		c, err := s.store.Lookup(testFeatures)
		if err != nil {
			t.Error(err)
			return nil
		}
		v := service{s: s}
		w, err := v.eraseWhere(new(peer), c, p[wire.HeadBytes:])
		if err != nil {
			t.Error(err)
			return nil
		}
		work := w.work
		w.work = func(t *task) ([]byte, error) {
			out, err := work(t)
			return out, errors.Join(err, disk.ErrReadOnly) // As if the disk had failed after it.
		}
		return w
	}})
	f := dialFeatures(t, s, client.Options{})
	if _, err := f.PutMany(t.Context(), []model.Feature{{ID: "a"}, {ID: "b"}, {ID: "c"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{3, 0} {
		n, err := f.DeleteWhere(t.Context(), model.FeatureQuery{})
		if n != want || !errors.Is(err, disk.ErrReadOnly) || client.RetrySafe(err) != (want == 0) {
			t.Errorf("%d deleted, want %d, and %v, to be retried: %v", n, want, err, client.RetrySafe(err))
		}
	}
}

// everyOf collects what a search yields.
func everyOf(fs iter.Seq2[model.Feature, error]) (all []model.Feature, err error) {
	for f, err := range fs {
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
