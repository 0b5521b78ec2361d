package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// together makes searches in batches, and those by SearchWith that no batch answers.
// It returns what each finds, and how many were answered in batches.
func together(t *testing.T, c *Collection, qs []BoxSearch, most int, b *Batch) (ids [][]string, inBatches int) {
	t.Helper()
	ids = make([][]string, len(qs))
	for first := 0; first < len(qs); {
		looked := 0
		n := c.SearchTogether(t.Context(), qs[first:], most, b, func(i int, f *Found) bool {
			if looked++; looked > most {
				t.Errorf("%d features in a batch of %d", looked, most)
			}
			ids[first+i] = append(ids[first+i], fmt.Sprintf("%s@%d", f.ID, f.Revision))
			return true
		})
		if first, inBatches = first+n, inBatches+n; first < len(qs) && n == 0 {
			q := qs[first]
			ids[first] = alone(t, c, q)
			first++
		} else if first < len(qs) {
			ids[first] = nil
		}
	}
	return ids, inBatches
}

// alone is the reference.
func alone(t *testing.T, c *Collection, q BoxSearch) (ids []string) {
	t.Helper()
	b := q.Box
	err := c.Search(t.Context(), Query{Area: query.Box(b[0], b[1], b[2], b[3]), Relation: q.Relation, Limit: q.Limit},
		func(f *Found) (bool, error) {
			ids = append(ids, fmt.Sprintf("%s@%d", f.ID, f.Revision))
			return true, nil
		})
	if err != nil {
		return []string{err.Error()}
	}
	return ids
}

// Searches find together the features that they find alone: beside 180 degrees, of
// features with several boxes and of such as have expired, with limits, and with boxes
// that are wrong.
func TestTogetherEqualsSearchWith(t *testing.T) {
	now := &clock{}
	now.advance(1e18)
	c := create(t, open(t, Options{Now: now.Now, NodeBytes: 704}), CollectionOptions{})
	m := &model{t: t, c: c, m: map[string]Feature{}, r: rand.New(rand.NewPCG(7, 1))}
	for range 500 {
		m.step()
	}
	for i := range 40 {
		f := Feature{ID: fmt.Sprint("mortal ", i), Geometry: m.geometry(), Expires: time.Unix(0, 1e18+int64(i%2)*2e9+1)}
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	now.advance(time.Second)
	qs := make([]BoxSearch, 600)
	simple := 0
	for i := range qs {
		w, s := m.r.Float64()*360-180, m.r.Float64()*170-85
		size := []float64{0, 2, 40, 300}[m.r.IntN(4)]
		q := &qs[i]
		q.Box = [4]float64{w, s, min(w+size, 360), min(s+size/2, 90)}
		q.Relation = []feature.Relation{feature.Intersects, feature.Intersects, feature.Within, feature.Contains}[m.r.IntN(4)]
		q.Limit = max(0, m.r.IntN(20)-10)
		switch m.r.IntN(12) {
		case 0:
			q.Box[2] = 180
		case 1:
			q.Box[0], q.Box[2] = 170, -170
		case 2:
			q.Box[1], q.Box[3] = q.Box[3]+1, q.Box[1] // It is wrong.
		case 3:
			q.Limit = -1
		}
		if q.Relation != feature.Contains && q.Limit >= 0 && q.Box[3] >= q.Box[1] && q.Box[2] < 180 && q.Box[0] <= q.Box[2] {
			simple++
		}
	}
	for _, most := range []int{1, 20, 512} {
		var b Batch
		got, n := together(t, c, qs, most, &b)
		if n > simple || most == 512 && n != simple {
			t.Errorf("at most %d features: %d searches in batches, of %d simple ones", most, n, simple)
		}
		for i := range qs {
			want := alone(t, c, qs[i])
			slices.Sort(got[i])
			slices.Sort(want)
			if qs[i].Limit > 0 { // Which of them is open.
				all := qs[i]
				all.Limit = 0
				if few := alone(t, c, all); len(got[i]) != len(want) || slices.ContainsFunc(got[i], func(id string) bool { return !slices.Contains(few, id) }) {
					t.Fatalf("%+v: %v together, %v alone, of %v", qs[i], got[i], want, few)
				}
			} else if !slices.Equal(got[i], want) {
				t.Fatalf("%+v: %v together, %v alone", qs[i], got[i], want)
			}
		}
	}
}

// A caller that has enough ends a batch, without the search that it was at.
func TestTogetherEnds(t *testing.T) {
	stopped := func() time.Duration { return time.Hour } // It ends by time, too.
	c := create(t, open(t, Options{Now: stopped}), CollectionOptions{})
	fill(t, c, 20, func(i int) Feature { return Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i), 0}} })
	qs := make([]BoxSearch, 10)
	for i := range qs {
		qs[i].Box = [4]float64{float64(i), 0, float64(i + 1), 1}
	}
	var b Batch
	for stop := range 20 {
		met := 0
		n := c.SearchTogether(t.Context(), qs, 512, &b, func(int, *Found) bool { met++; return met <= stop })
		if n != stop/2 {
			t.Errorf("%d answered, stopped at feature %d", n, stop)
		}
	}
	if _, err := c.st.Drop("places"); err != nil {
		t.Fatal(err)
	}
	if n := c.SearchTogether(t.Context(), qs, 512, &b, func(int, *Found) bool { return true }); n != 0 {
		t.Errorf("%d answered of a collection that was dropped", n)
	}
}

// Beside writers that replace features in place, each search of a batch finds each
// constant feature once, and of each changing one a state that existed while it ran.
func TestTogetherBesideWrites(t *testing.T) {
	c := create(t, open(t, Options{NodeBytes: 704}), CollectionOptions{})
	const places, boxes = 64, 8
	place := func(i int) Feature {
		x := float64(i % boxes)
		g := orb.MultiPoint{{x + 0.1, 0.1}, {x + 0.9, 0.9}} // perhaps with several boxes
		return Feature{ID: fmt.Sprint(i), Geometry: g, Properties: []byte(`{}`)}
	}
	fill(t, c, places, place)
	qs := make([]BoxSearch, boxes)
	for i := range qs {
		qs[i].Box = [4]float64{float64(i), 0, float64(i) + 0.95, 1}
	}
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			for i := w; ; i += 2 {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := c.Put(t.Context(), place(i%places), kv.Condition{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var b Batch
	answered, last := 0, map[string]uint64{} // revisions go up
	for range 2000 {
		met := make([]map[string]bool, boxes)
		n := c.SearchTogether(t.Context(), qs, 512, &b, func(i int, f *Found) bool {
			if met[i] == nil {
				met[i] = map[string]bool{}
			}
			id := string(f.ID)
			if met[i][id] {
				t.Errorf("search %d: %q twice", i, id)
			}
			if f.Revision < last[id] {
				t.Errorf("search %d: %q of revision %d after %d", i, id, f.Revision, last[id])
			}
			met[i][id], last[id] = true, f.Revision
			return true
		})
		answered += n
		for i := range n {
			if len(met[i]) != places/boxes {
				t.Fatalf("search %d of %d: %d features, want %d", i, n, len(met[i]), places/boxes)
			}
		}
	}
	close(stop)
	writers.Wait()
	if answered == 0 {
		t.Error("no batch answered a search")
	}
}
