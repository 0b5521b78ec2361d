package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// changeMap writes a next map, as an operator does.
func changeMap(t *testing.T, registry *coord.Client, next func(*placement.Map) (*placement.Map, error)) {
	t.Helper()
	for {
		v, err := registry.Get(t.Context(), groupmap.Key)
		if err != nil {
			t.Fatal(err)
		}
		m, err := placement.Decode(v.Bytes)
		if err == nil {
			m, err = next(m)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err = registry.Swap(t.Context(), groupmap.Key, v.Version, b); !errors.Is(err, coord.ErrConflict) {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

func readMap(t *testing.T, registry *coord.Client) *placement.Map {
	t.Helper()
	m, err := groupmap.Read(t.Context(), registry)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// moveHalf begins moves of half of the slots that a group has.
func moveHalf(t *testing.T, registry *coord.Client, from, to placement.Index) {
	t.Helper()
	changeMap(t, registry, func(m *placement.Map) (*placement.Map, error) {
		var moves []placement.Move
		for s, g := range m.Slots {
			if g == from && s%2 == 0 && len(moves) < 200 {
				moves = append(moves, placement.Move{Part: placement.Part{Slot: uint16(s)}, From: from, To: to})
			}
		}
		return m.Begin(moves...)
	})
}

// writers put, replace and delete features of their own, each with the number of the write,
// and read them back: an id has what was acknowledged last.
type writers struct {
	t      *testing.T
	places *catfish.Features
	ctx    context.Context
	cancel context.CancelFunc
	under  sync.WaitGroup
	writes atomic.Int64
	last   []map[string]int // by writer; 0: deleted
}

func startWriters(t *testing.T, places *catfish.Features, n int) *writers {
	w := &writers{t: t, places: places}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	for i := range n {
		last := map[string]int{}
		w.last = append(w.last, last)
		w.under.Go(func() { w.run(i, last) })
	}
	return w
}

func (w *writers) run(writer int, last map[string]int) {
	for n := 1; w.ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%d-%d", writer, n*7%300)
		if n%11 == 0 && last[id] != 0 {
			if _, err := w.places.Delete(context.Background(), id, model.Condition{}); err != nil {
				w.t.Errorf("deleting %s: %v", id, err)
				return
			}
			last[id] = 0
		} else {
			f := placeAt(id)
			f.Properties = []byte(fmt.Sprintf(`{"n":%d}`, n))
			if _, _, err := w.places.Put(context.Background(), f, model.Condition{}); err != nil {
				w.t.Errorf("putting %s: %v", id, err)
				return
			}
			last[id] = n
		}
		if !w.check(id, last[id]) {
			return
		}
		w.writes.Add(1)
	}
}

func (w *writers) check(id string, n int) bool {
	f, err := w.places.Get(context.Background(), id)
	switch {
	case n == 0 && errors.Is(err, catfish.ErrNotFound):
	case n == 0 || err != nil || string(f.Properties) != fmt.Sprintf(`{"n":%d}`, n):
		w.t.Errorf("%s has %s, %v, want number %d", id, f.Properties, err, n)
		return false
	}
	return true
}

// end ends the writers, and looks at everything.
func (w *writers) end() {
	w.t.Helper()
	w.cancel()
	w.under.Wait()
	exist := 0
	for _, last := range w.last {
		for id, n := range last {
			w.check(id, n)
			if n != 0 {
				exist++
			}
		}
	}
	found := map[string]bool{}
	var err error
	for f, failed := range w.places.Search(w.t.Context(), model.FeatureQuery{}) {
		if err = failed; err != nil {
			break
		}
		if found[f.ID] {
			w.t.Errorf("%s is found twice", f.ID)
		}
		found[f.ID] = true
	}
	if err != nil || len(found) != exist {
		w.t.Errorf("%d features are found, %v, want %d", len(found), err, exist)
	}
}

// Slots move to another group and back while clients write and read: nothing is lost, and each
// id is in one group afterwards.
func TestSlotsMove(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	if _, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	groups := []map[string]*member{inGroupOf(t, c.Addr(), "a", "n1"), inGroupOf(t, c.Addr(), "b", "n1")}
	client, err := catfish.Dial(t.Context(), groups[0]["n1"].addr, catfish.Options{Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	places, err := client.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	w := startWriters(t, places, 4)
	for _, way := range [][2]placement.Index{{0, 1}, {1, 0}} {
		began := w.writes.Load()
		moveHalf(t, registry, way[0], way[1])
		catfishtest.Eventually(t, "the moves have ended", func() bool { return len(readMap(t, registry).Moves) == 0 })
		t.Logf("%d writes meanwhile", w.writes.Load()-began)
	}
	w.end()
	m := readMap(t, registry)
	if m.Epoch == 1 {
		t.Error("no slot has moved")
	}
	for i, g := range groups {
		st, err := g["n1"].daemon.Server().Store()
		if err != nil {
			t.Fatal(err)
		}
		catfishtest.Eventually(t, "the store is tidy", func() bool {
			clean, err := st.Settle(t.Context())
			return err == nil && clean
		})
		_ = i
	}
}
