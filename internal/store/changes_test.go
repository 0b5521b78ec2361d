package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// markedBox is a box of any size, somewhere, perhaps without area.
func markedBox(r *rand.Rand) rstar.Rect {
	side := func() float64 {
		if r.IntN(4) == 0 {
			return 0
		}
		return 360 / float64(uint(1)<<r.IntN(24))
	}
	x, y := r.Float64()*360-180, r.Float64()*180-90
	return rstar.Rect{MinX: x, MinY: y, MaxX: min(x+side(), 180), MaxY: min(y+side(), 90)}
}

// TestMarksCoverTouchingBoxes: a reader of an area meets the marks of any box that
// touches it, and seldom others.
func TestMarksCoverTouchingBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	m := &marks{}
	apart, met := 0, 0
	for revision := uint64(1); revision < 20000; revision++ {
		write, area := markedBox(r), markedBox(r)
		if r.IntN(2) == 0 { // One that shares a corner, or more.
			w, h := area.MaxX-area.MinX, area.MaxY-area.MinY
			area.MinX, area.MinY = write.MaxX, write.MinY
			area.MaxX, area.MaxY = min(write.MaxX+w, 180), min(write.MinY+h, 90)
		}
		for _, s := range m.touched(nil, &write) {
			m.ended[s].Store(revision)
		}
		got := m.greatest(0, &m.ended, &area)
		switch {
		case write.Intersects(area):
			if got != revision {
				t.Fatalf("a write of %v, and a reader of %v sees revision %d, want %d", write, area, got, revision)
			}
		case got == revision:
			met++
			fallthrough
		default:
			apart++
		}
	}
	if met*3 > apart {
		t.Errorf("%d of %d writes elsewhere were met", met, apart)
	}
}

func changesOf(t *testing.T, c *Collection, r rstar.Rect) Changes {
	t.Helper()
	n, err := c.Changes([]rstar.Rect{r})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestChanges: each kind of write, and no other event, changes its area alone.
func TestChanges(t *testing.T) {
	clock := time.Duration(1 << 60)
	st := open(t, Options{Now: func() time.Duration { return clock }})
	c := create(t, st, CollectionOptions{})
	here, there := rstar.Rect{MinX: 1, MinY: 42, MaxX: 1.1, MaxY: 42.1}, rstar.Rect{MinX: -70, MinY: -20, MaxX: -69, MaxY: -19}
	put := func(id string, x, y float64, f Feature) uint64 {
		f.ID, f.Geometry = id, orb.Point{x, y}
		_, revision, err := c.Put(t.Context(), f, kv.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	want := func(what string, atHere, atThere uint64) {
		t.Helper()
		a, b := changesOf(t, c, here), changesOf(t, c, there)
		if a.Ended != atHere || a.Begun != atHere || b.Ended != atThere || b.Begun != atThere {
			t.Errorf("%s: %d and %d here, %d and %d there, want %d and %d", what, a.Begun, a.Ended, b.Begun, b.Ended, atHere, atThere)
		}
	}
	base := put("before", 1.05, 42.05, Feature{})
	want("before", base, base)
	r := put("a", 1.05, 42.05, Feature{})
	want("put", r, base)
	moved := put("a", -69.5, -19.5, Feature{})
	want("moved", moved, moved)
	far := put("far", 100, -60, Feature{})
	want("elsewhere", moved, moved)
	if all := changesOf(t, c, rstar.Rect{MinX: -180, MinY: -90, MaxX: 180, MaxY: 90}); all.Ended != far {
		t.Errorf("everywhere: %d, want %d", all.Ended, far)
	}
	patched, err := c.Patch(t.Context(), "a", []byte(`{"x":1}`), kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	want("patched", moved, patched)
	deleted, err := c.Delete(t.Context(), "a", kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	want("deleted", moved, deleted)
	if _, err := c.Delete(t.Context(), "a", kv.Condition{}); err == nil {
		t.Fatal("deleted twice")
	}
	want("a write that failed", moved, deleted)
	mortal := put("mortal", 1.05, 42.05, Feature{Expires: time.Unix(0, int64(clock+time.Second))})
	want("mortal", mortal, deleted)
	clock += time.Hour
	for i := 0; c.Len() > 2 && i < 1000; i++ {
		c.Tidy(1000)
	}
	if n := changesOf(t, c, here); n.Ended <= mortal || n.Begun != n.Ended || c.Len() != 2 {
		t.Errorf("%d and %d after what has expired was removed, %d before, %d features", n.Begun, n.Ended, mortal, c.Len())
	}
	// The same revision of another collection is another state. A plane has no
	// borders, so that a write anywhere is one everywhere.
	other, err := st.CreateFeatures("other", CollectionOptions{Space: feature.Planar})
	if err != nil {
		t.Fatal(err)
	}
	changesOf(t, other, here)
	if _, r, err = other.Put(t.Context(), Feature{Geometry: orb.Point{1e9, 1e9}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	if n := changesOf(t, other, here); n.Ended != r || n.Begun != r {
		t.Errorf("in the plane: %+v, want %d", n, r)
	}
	if a, b := changesOf(t, c, here), changesOf(t, other, here); a.Collection == b.Collection || a.Boot != b.Boot {
		t.Errorf("%+v and %+v", a, b)
	}
	if _, err := st.Drop("other"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Changes(nil); err == nil {
		t.Error("changes of a collection that was dropped")
	}
}

// TestChangesFill: a fill is a change everywhere, when its features are visible.
func TestChangesFill(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	here := rstar.Rect{MinX: 100, MinY: 42, MaxX: 100.1, MaxY: 42.1}
	var last, during uint64
	err := c.Fill(func() (err error) {
		for i := range 100 {
			if _, last, err = c.Put(t.Context(), Feature{Geometry: orb.Point{1, 42}}, kv.Condition{}); err != nil {
				return err
			}
			if i >= 50 { // Also a caller that asks for the first time now.
				n := changesOf(t, c, here)
				if during = n.Ended; n.Begun != during || during >= last {
					t.Errorf("before it is seen: %+v", n)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := changesOf(t, c, here); n.Ended != last || n.Begun != last {
		t.Errorf("%+v, want %d", n, last)
	}
}

// TestChangesExact: beside writers, an answer that is said to be of a revision has all
// writes up to that and none after, and what was acknowledged before is in it.
func TestChangesExact(t *testing.T) {
	c := create(t, open(t, Options{NodeBytes: 704}), CollectionOptions{})
	const features, writes = 60, 3000
	west := rstar.Rect{MinX: -1, MinY: 0, MaxX: 0, MaxY: 1}
	var mu sync.Mutex
	type state struct {
		revision uint64
		at       map[string]uint64 // revisions of the features in the west
	}
	states := []state{{}}
	acknowledged := func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return states[len(states)-1].revision
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := rand.New(rand.NewPCG(6, 6))
		now := map[string]uint64{}
		for range writes {
			id := fmt.Sprint(r.IntN(features))
			x := r.Float64() - 1
			if r.IntN(2) == 0 {
				x += 20
			}
			_, revision, err := c.Put(t.Context(), Feature{ID: id, Geometry: orb.Point{x, r.Float64()}}, kv.Condition{})
			if err != nil {
				t.Error(err)
				return
			}
			if delete(now, id); x <= 0 {
				now[id] = revision
			}
			mu.Lock()
			states = append(states, state{revision, maps.Clone(now)})
			mu.Unlock()
		}
	}()
	type answer struct {
		revision uint64
		at       map[string]uint64
	}
	var answers []answer
	inexact := 0
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		least := acknowledged()
		before := changesOf(t, c, west)
		got := answer{before.Ended, map[string]uint64{}}
		err := c.Search(t.Context(), Query{Area: query.Box(-1, 0, 0, 1)}, func(f *Found) (bool, error) {
			got.at[string(f.ID)] = f.Revision
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if after := changesOf(t, c, west); after.Begun != before.Ended {
			inexact++
			continue
		}
		if answers = append(answers, got); got.revision < least {
			// A write elsewhere need not be one of here.
			mu.Lock()
			for _, s := range states {
				if s.revision > got.revision && s.revision <= least && !maps.Equal(s.at, got.at) {
					t.Errorf("revision %d, after %d was acknowledged", got.revision, s.revision)
				}
			}
			mu.Unlock()
		}
	}
	checked := 0
	for _, a := range answers {
		for i := len(states) - 1; i >= 0; i-- {
			if states[i].revision <= a.revision {
				checked++
				if i > 0 && !maps.Equal(states[i].at, a.at) {
					t.Fatalf("revision %d: %v, want %v", a.revision, a.at, states[i].at)
				}
				break
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d answers of a revision, %d not", checked, inexact)
	}
}

// TestCountCellsOfCollection: cells agree with searches, and ids with features.
func TestCountCellsOfCollection(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{Space: feature.Geographic})
	r := rand.New(rand.NewPCG(2, 2))
	at := map[string]orb.Point{}
	fill(t, c, 2000, func(i int) Feature {
		p := orb.Point{r.Float64() * 100, r.Float64() * 60}
		at[fmt.Sprint(i)] = p
		return Feature{ID: fmt.Sprint(i), Geometry: p}
	})
	g := &rstar.Grid{MostWide: 10}
	for i := range 41 {
		g.X, g.Y = append(g.X, float64(i)*2.5), append(g.Y, float64(i)*1.5)
	}
	paces := 0
	ok, err := c.CountCells(t.Context(), g, func() error { paces++; return nil })
	if !ok || err != nil || paces == 0 {
		t.Fatal(ok, err, paces)
	}
	total, only := 0, []uint64{}
	for i, n := range g.Counts {
		if total += int(n); n == 1 {
			only = append(only, g.Only[i])
		}
	}
	if total != 2000 || len(only) == 0 {
		t.Errorf("%d features, %d alone", total, len(only))
	}
	read := 0
	err = c.ReadFound(t.Context(), only, nil, func(_ int, f *Found) (bool, error) {
		if p := f.View.Geometry().(orb.Point); p != at[string(f.ID)] {
			t.Errorf("%s at %v, want %v", f.ID, p, at[string(f.ID)])
		}
		read++
		return true, nil
	})
	if err != nil || read != len(only) {
		t.Errorf("%d of %d features: %v", read, len(only), err)
	}
}
