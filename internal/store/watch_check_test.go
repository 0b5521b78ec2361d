package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Promises: each watcher gets, in the order of revisions, the events that the
// list of writes has for its areas since it began, each once, wherever it stops and
// resumes, however slow it is, and whichever goroutines write. It may fail only by
// saying so, and only without a data directory.

// written is a write as the writers know it.
type written struct {
	revision uint64
	id       string
	value    []byte // nil: deleted
	expires  int64
}

// history collects writes.
type history struct {
	mu      sync.Mutex
	all     []written
	expires bool // Some writes do.
}

func (h *history) add(w written) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, w)
}

// flatEvent is an event without pointers.
type flatEvent struct {
	revision uint64
	name, id string
	kind     EventKind
	why      Why
	value    string // New, or Old of a deleted feature
}

func (t flatEvent) String() string {
	return fmt.Sprintf("%d %q %q %v %v", t.revision, t.name, t.id, t.kind, t.why)
}

// checked is a watcher that is closed and opened again and again.
type checked struct {
	areas  map[string]Query
	from   uint64 // 0: from now on
	resume uint64
	got    []flatEvent
	lagged []*checked // its state each time it lagged
}

// follow takes up to most events, until it has come to a revision. A repeated event
// replaces the first one.
func (k *checked) follow(ctx context.Context, t *testing.T, c *Collection, until uint64, most int, wait func()) {
	w, err := c.Watch(t.Context(), WatchOptions{From: k.resume})
	if err == nil {
		defer w.Close()
		if k.resume == 0 {
			k.from, k.resume = w.Revision(), w.Revision()
		}
		for name, q := range k.areas {
			if err := w.Add(name, q); err != nil {
				t.Error(err)
				return
			}
		}
	}
	for n := 0; err == nil && n < most && w.Revision() < until; n++ {
		var e Event
		if e, err = w.Next(ctx); err == nil {
			k.take(t, &e)
			wait()
		}
	}
	switch {
	case errors.Is(err, ErrLagged), errors.Is(err, disk.ErrTrimmed):
		if c.st.o.Dir != "" {
			t.Error("with a data directory:", err)
		}
		k.forgetAgain()
		before := *k
		*k = checked{areas: k.areas, lagged: append(k.lagged, &before)}
		return
	case errors.Is(err, context.Canceled):
		// It stopped between two events, and knows more than they say.
		k.resume = max(k.resume, w.Revision())
	case err != nil:
		t.Error(err)
	}
	k.forgetAgain()
}

// forgetAgain forgets the events that come again.
func (k *checked) forgetAgain() {
	for len(k.got) > 0 && k.got[len(k.got)-1].revision > k.resume {
		k.got = k.got[:len(k.got)-1]
	}
}

func (k *checked) take(t *testing.T, e *Event) {
	if e.Resume < k.resume {
		t.Errorf("resume %d after %d", e.Resume, k.resume)
	}
	k.resume = e.Resume
	if e.Kind == query.Progress {
		return
	}
	f := e.New
	if f == nil {
		f = e.Old
	}
	if string(f.ID) != e.ID || e.New != nil && e.New.Revision != e.Revision || e.Old != nil && e.Old.Revision >= e.Revision {
		t.Errorf("%+v has another feature", e)
	}
	k.got = append(k.got, flatEvent{e.Revision, e.Name, e.ID, e.Kind, e.Why, string(f.Value)})
}

func TestWatchAgainstHistory(t *testing.T) {
	for _, o := range []struct {
		name   string
		dir    bool
		limits WatchLimits
	}{
		{"dir=no", false, WatchLimits{}},
		{"dir=no,changes=500", false, WatchLimits{Changes: 500}},
		{"dir=yes", true, WatchLimits{}},
		{"dir=yes,changes=20", true, WatchLimits{Changes: 20}},
		{"dir=yes,bytes=20000", true, WatchLimits{Bytes: 20_000}},
	} {
		t.Run(o.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Log("seed", seed)
			var now clock
			now.advance(1000 * time.Hour)
			so := Options{Now: now.Now, Sync: disk.SyncOff, Watch: o.limits}
			if o.dir {
				so.Dir = t.TempDir()
			}
			r := rand.New(rand.NewPCG(seed, 0))
			watchers := []*checked{{areas: map[string]Query{"everything": {}}}}
			for i := range 5 {
				watchers = append(watchers, &checked{areas: randomAreas(r, 1+8*i/catfishtest.RaceFactor)})
			}
			h := history{expires: o.dir || o.limits.Changes == 0} // Where no watcher lags.
			rounds := 1
			if o.dir {
				rounds = max(1, 3/catfishtest.RaceFactor) // Later rounds are of restarts.
			}
			for round := range rounds {
				st := open(t, so)
				if _, err := st.CreateFeatures("other", CollectionOptions{}); err != nil {
					t.Fatal(err)
				}
				c := create(t, st, CollectionOptions{})
				writeAndWatch(t, c, &now, &h, watchers, seed+uint64(round))
				verify(t, c, &h, watchers)
				if err := st.Close(); err != nil || t.Failed() {
					t.Fatal(err)
				}
			}
		})
	}
}

// writeAndWatch runs writers and watchers together.
func writeAndWatch(t *testing.T, c *Collection, now *clock, h *history, watchers []*checked, seed uint64) {
	const each = 1500
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	var writers, readers sync.WaitGroup
	// All watchers begin before the first write.
	for _, k := range watchers {
		k.follow(writing, t, c, 0, 0, nil)
	}
	for i, k := range watchers {
		r := rand.New(rand.NewPCG(seed, uint64(100+i)))
		wait := func() {
			for range r.IntN(1 << (2 * i)) {
				runtime.Gosched() // The later ones are slower.
			}
		}
		readers.Go(func() {
			for writing.Err() == nil && !t.Failed() {
				k.follow(writing, t, c, math.MaxUint64, r.IntN(300), wait)
			}
		})
	}
	for i := range 3 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for n := range each {
				randomWrite(t, c, now, h, r)
				if n%100 == 0 {
					now.advance(time.Second)
					c.Tidy(1000)
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	f := at("the last", 0, 0, "")
	value, _ := f.Encode(c.o.Space)
	end := put(t, c, f)
	h.add(written{end, f.ID, value, 0})
	for _, k := range watchers {
		for k.resume < end && !t.Failed() {
			k.follow(t.Context(), t, c, end, math.MaxInt, func() {})
		}
	}
}

func randomWrite(t *testing.T, c *Collection, now *clock, h *history, r *rand.Rand) {
	if r.IntN(10) == 0 { // In another collection: of no event.
		other, err := c.st.Collection("other")
		if err != nil {
			t.Error(err)
			return
		}
		h.add(written{put(t, other, at(fmt.Sprint("place ", r.IntN(60)), 1, 1, "")), "", nil, 0})
		return
	}
	id := fmt.Sprint("place ", r.IntN(60))
	if r.IntN(6) == 0 {
		if rev, err := c.Delete(t.Context(), id, kv.Condition{}); err == nil {
			h.add(written{rev, id, nil, 0})
		} else if !errors.Is(err, kv.ErrNotFound) {
			t.Error(err)
		}
		return
	}
	m := model{r: r}
	f := Feature{ID: id, Geometry: m.geometry(), Properties: fmt.Appendf(nil, `{"n":%d}`, r.IntN(10))}
	if old, err := c.Get(t.Context(), id); err == nil && r.IntN(3) == 0 {
		f.Geometry = old.Geometry
	}
	if h.expires && r.IntN(4) == 0 {
		f.Expires = time.Unix(0, int64(now.Now()+time.Duration(r.IntN(3000))*time.Millisecond))
	}
	value, err := f.Encode(c.o.Space)
	if err != nil {
		t.Error(err)
		return
	}
	_, rev, err := c.Put(t.Context(), f, kv.Condition{})
	if err != nil {
		t.Error(err)
		return
	}
	h.add(written{rev, id, value, int64(query.Expiry(f.Expires))})
}

func randomAreas(r *rand.Rand, n int) map[string]Query {
	all := map[string]Query{"last": {Filter: `id == "the last"`}} // So that Next ends.
	filters := []string{"", `properties.n > 4`, `expires != null`, `id < "place 3"`, `type == "Point"`, `revision % 2 == 0`}
	for i := range n {
		x, y := r.Float64()*360-180, r.Float64()*140-80
		q := Query{Filter: filters[r.IntN(len(filters))], Relation: feature.Relation(r.IntN(2))}
		switch r.IntN(5) {
		case 0:
		case 1:
			q.Area = query.Circle(x, y, r.Float64()*3e6)
		case 2:
			q.Area = query.Polygon(orb.Polygon{{{x, y}, {x + 40, y}, {x + 20, y + 25}, {x, y}}})
		default:
			q.Area = query.Box(x, y, x+r.Float64()*120, y+r.Float64()*30)
		}
		all[fmt.Sprint("area ", i)] = q
	}
	return all
}

// verify computes the events from the writes.
func verify(t *testing.T, c *Collection, h *history, watchers []*checked) {
	slices.SortFunc(h.all, func(a, b written) int { return cmp.Compare(a.revision, b.revision) })
	end := h.all[len(h.all)-1].revision
	// A revision that no writer wrote is an expiry, and one of the watchers has seen
	// it; whether rightly, is seen below.
	known := map[uint64]bool{}
	for _, w := range h.all {
		known[w.revision] = true
	}
	for _, e := range watchers[0].got {
		if e.why == query.Expired && !known[e.revision] {
			h.add(written{e.revision, e.id, nil, -1})
		}
	}
	slices.SortFunc(h.all, func(a, b written) int { return cmp.Compare(a.revision, b.revision) })
	for i, w := range h.all[1:] {
		if w.revision != h.all[i].revision+1 {
			t.Fatalf("revision %d after %d", w.revision, h.all[i].revision)
		}
	}
	for i, k := range watchers {
		if k.resume != end {
			t.Errorf("watcher %d came to %d, not %d", i, k.resume, end)
		}
		got := k.compare(t, c, h)
		for _, before := range k.lagged {
			got += before.compare(t, c, h)
		}
		t.Logf("watcher %d: %d areas, %d events, lagged %d times", i, len(k.areas), got, len(k.lagged))
	}
}

func (k *checked) compare(t *testing.T, c *Collection, h *history) int {
	want := expected(t, c, h, k)
	for j := range max(len(want), len(k.got)) {
		if j >= len(want) || j >= len(k.got) || want[j] != k.got[j] {
			t.Fatalf("%d areas, from %d, event %d of %d:\n%v\nwant of %d:\n%v", len(k.areas), k.from, j, len(k.got),
				k.got[min(j, len(k.got)):min(j+2, len(k.got))], len(want), want[min(j, len(want)):min(j+2, len(want))])
		}
	}
	return len(k.got)
}

// expected is the events of a watcher by going through all writes and areas.
func expected(t *testing.T, c *Collection, h *history, k *checked) (want []flatEvent) {
	prepared := map[string]*Prepared{}
	for name, q := range k.areas {
		p, err := c.Prepare(q)
		if err != nil {
			t.Fatal(err)
		}
		prepared[name] = p
	}
	state := map[string]*Found{}
	for _, w := range h.all {
		old := state[w.id]
		var f *Found
		if w.value != nil {
			f = &Found{ID: []byte(w.id), Value: w.value, Revision: w.revision, Expiry: time.Duration(w.expires)}
			if err := f.Open(); err != nil {
				t.Fatal(err)
			}
		}
		state[w.id] = f
		if w.revision <= k.from || w.revision > k.resume {
			continue
		}
		if w.expires < 0 && (old == nil || old.Expiry == 0 || old.Expiry > c.st.now()) {
			t.Fatalf("%q was deleted at %d as expired", w.id, w.revision)
		}
		first := len(want)
		for name, p := range prepared {
			match := func(f *Found) bool {
				ok := f != nil
				if ok {
					ok, _ = p.Match(f)
				}
				return ok
			}
			before, after := match(old), match(f)
			e := flatEvent{revision: w.revision, name: name, id: w.id, value: string(w.value)}
			switch {
			case !before && !after:
				continue
			case !before:
				e.kind = query.Enter
			case after && orb.Equal(old.View.Geometry(), f.View.Geometry()):
				e.kind = query.Changed
			case after:
				e.kind = query.Inside
			case f == nil:
				e.kind, e.why, e.value = query.Exit, query.Deleted, string(old.Value)
				if w.expires < 0 {
					e.why = query.Expired
				}
			default:
				e.kind, e.why = query.Exit, query.Moved
				if in := true; p.Everywhere() || func() bool { in, _ = p.InArea(f, nil); return in }() {
					e.why = query.Filtered
				}
			}
			want = append(want, e)
		}
		slices.SortFunc(want[first:], func(a, b flatEvent) int {
			return cmp.Or(-cmp.Compare(b2i(a.kind == query.Exit), b2i(b.kind == query.Exit)), cmp.Compare(a.name, b.name))
		})
	}
	return want
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
