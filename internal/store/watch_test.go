package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

func put(t testing.TB, c *Collection, f Feature) uint64 {
	t.Helper()
	_, rev, err := c.Put(t.Context(), f, kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func at(id string, x, y float64, properties string) Feature {
	return Feature{ID: id, Geometry: orb.Point{x, y}, Properties: []byte(properties)}
}

func watch(t testing.TB, c *Collection, from uint64, areas map[string]Query) *Watcher {
	t.Helper()
	w, err := c.Watch(t.Context(), WatchOptions{From: from})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	for name, q := range areas {
		if err := w.Add(name, q); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func next(t testing.TB, w *Watcher) Event {
	t.Helper()
	e, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// eventText is the text that tests compare.
func eventText(e Event) string {
	s := fmt.Sprintf("%s %v %s %s", e.Name, e.Kind, e.Why, e.ID)
	if e.Old != nil {
		s += fmt.Sprintf(" from %s", e.Old.View.Properties())
	}
	if e.New != nil {
		s += fmt.Sprintf(" to %s", e.New.View.Properties())
	}
	return s
}

// Each kind of event, for each reason, live, from the ring, and from the log.
func TestWatchEvents(t *testing.T) {
	for _, dir := range []bool{false, true} {
		t.Run(fmt.Sprint("dir=", dir), func(t *testing.T) {
			var now clock
			now.advance(time.Hour)
			o := Options{Now: now.Now, Sync: disk.SyncOff}
			if dir {
				o.Dir = t.TempDir()
			}
			c := create(t, open(t, o), CollectionOptions{})
			areas := map[string]Query{
				"box":    {Area: query.Box(0, 0, 10, 10)},
				"open":   {Area: query.Box(0, 0, 10, 10), Filter: `properties.open == true`},
				"all":    {},
				"expire": {Filter: `expires != null`},
			}
			live := watch(t, c, 0, areas)
			from := live.Revision()
			put(t, c, at("a", 1, 1, `{"open":true}`))
			put(t, c, at("a", 2, 1, `{"open":true}`))
			put(t, c, at("a", 2, 1, `{"open":false}`))
			put(t, c, at("a", 20, 1, `{"open":false}`))
			f := at("a", 3, 3, `{"open":true}`)
			f.Expires = time.Unix(0, int64(now.Now()+time.Minute))
			put(t, c, f)
			now.advance(2 * time.Minute)
			for c.Tidy(1000) || c.Len() > 0 {
			}
			put(t, c, Feature{ID: "b", Properties: []byte(`{"open":true}`)})
			last, err := c.Delete(t.Context(), "b", kv.Condition{})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{
				`all enter  a to {"open":true}`,
				`box enter  a to {"open":true}`,
				`open enter  a to {"open":true}`,
				`all inside  a from {"open":true} to {"open":true}`,
				`box inside  a from {"open":true} to {"open":true}`,
				`open inside  a from {"open":true} to {"open":true}`,
				`open exit filtered a from {"open":true} to {"open":false}`,
				`all changed  a from {"open":true} to {"open":false}`,
				`box changed  a from {"open":true} to {"open":false}`,
				`box exit moved a from {"open":false} to {"open":false}`,
				`all inside  a from {"open":false} to {"open":false}`,
				`all inside  a from {"open":false} to {"open":true}`,
				`box enter  a from {"open":false} to {"open":true}`,
				`expire enter  a from {"open":false} to {"open":true}`,
				`open enter  a from {"open":false} to {"open":true}`,
				`all exit expired a from {"open":true}`,
				`box exit expired a from {"open":true}`,
				`expire exit expired a from {"open":true}`,
				`open exit expired a from {"open":true}`,
				`all enter  b to {"open":true}`,
				`all exit deleted b from {"open":true}`,
			}
			watchers := []*Watcher{live, watch(t, c, from, areas)}
			if dir {
				logged := watch(t, c, from, areas)
				forget(c)
				watchers = append(watchers, logged)
			}
			for i, w := range watchers {
				var got []string
				for len(got) == 0 || w.Revision() < last {
					e := next(t, w)
					got = append(got, eventText(e))
					if e.Resume != e.Revision && e.Resume != e.Revision-1 || w.Revision() != e.Resume {
						t.Errorf("watcher %d: %v: revision %d, resume %d, and the watcher is at %d", i, e.Kind, e.Revision, e.Resume, w.Revision())
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("watcher %d: %q\nwant %q", i, got, want)
				}
			}
		})
	}
}

// forget empties the ring.
func forget(c *Collection) {
	h := &c.st.hub
	_ = c.st.runAlone(func() error { h.ring.clear(h.limits.Changes, h.limits.Bytes, c.st.revision); return nil })
}

// Areas count from when they are added, and not after they are removed.
func TestWatchAddRemove(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	w := watch(t, c, 0, map[string]Query{"a": {Area: query.Box(0, 0, 1, 1)}})
	put(t, c, at("x", 0, 0, `{}`))
	if e := next(t, w); eventText(e) != "a enter  x to {}" {
		t.Fatal(eventText(e))
	}
	put(t, c, at("x", 0, 1, `{"n":1}`))
	if err := w.Add("b", Query{Area: query.Box(0, 0, 1, 1)}); err != nil {
		t.Fatal(err)
	}
	put(t, c, at("x", 1, 1, `{"n":2}`))
	for _, want := range []string{
		`a inside  x from {} to {"n":1}`, `a inside  x from {"n":1} to {"n":2}`, `b inside  x from {"n":1} to {"n":2}`,
	} {
		if e := next(t, w); eventText(e) != want {
			t.Fatalf("%s, want %s", eventText(e), want)
		}
	}
	put(t, c, at("x", 5, 5, `{}`))
	if e := next(t, w); eventText(e) != `a exit moved x from {"n":2} to {}` {
		t.Fatal(eventText(e))
	}
	if !w.Remove("b") || w.Remove("b") || w.Areas() != 1 {
		t.Fatal("removed not once")
	}
	put(t, c, at("x", 1, 1, `{}`))
	if e := next(t, w); eventText(e) != `a enter  x from {} to {}` {
		t.Fatal(eventText(e))
	}
	w.Remove("a")
	if err := w.Add("a", Query{Area: query.Box(3, 3, 4, 4)}); err != nil {
		t.Fatal(err)
	}
	put(t, c, at("x", 2, 1, `{}`))
	put(t, c, at("x", 3, 3, `{}`))
	if e := next(t, w); eventText(e) != `a enter  x from {} to {}` || e.Revision != w.Revision() {
		t.Fatal(eventText(e))
	}
}

// A watcher that cannot begin where it wants gets an error.
func TestWatchFrom(t *testing.T) {
	ctx := t.Context()
	st := open(t, Options{Watch: WatchLimits{Changes: 4}})
	c := create(t, st, CollectionOptions{})
	first := put(t, c, at("a", 0, 0, ""))
	w := watch(t, c, 0, map[string]Query{"": {}})
	if w.Revision() != first {
		t.Fatalf("begins at %d, want %d", w.Revision(), first)
	}
	for range 5 {
		put(t, c, at("a", 0, 0, ""))
	}
	for from, want := range map[uint64]error{first - 1: disk.ErrTrimmed, first: disk.ErrTrimmed, first + 1: nil, first + 5: nil, first + 6: disk.ErrAhead} {
		w, err := c.Watch(ctx, WatchOptions{From: from})
		if !errors.Is(err, want) || err != nil && want == nil {
			t.Errorf("from %d: %v, want %v", from, err, want)
		}
		if err == nil {
			w.Close()
		}
	}
	if _, err := w.Next(ctx); !errors.Is(err, ErrLagged) {
		t.Errorf("a watcher that was overtaken: %v", err)
	}
	if _, err := w.Next(ctx); !errors.Is(err, ErrLagged) {
		t.Errorf("and again: %v", err)
	}
	// Another collection of that name is not the one that was watched.
	if _, err := st.Drop("places"); err != nil {
		t.Fatal(err)
	}
	c = create(t, st, CollectionOptions{})
	if _, err := c.Watch(ctx, WatchOptions{From: first + 5}); !errors.Is(err, disk.ErrTrimmed) {
		t.Errorf("behind the collection's beginning: %v", err)
	}
	watch(t, c, first+7, nil)
}

// A store without a directory keeps the changes that a watcher missed while it was
// away, as long as the ring has room.
func TestWatchResumesInMemory(t *testing.T) {
	st := open(t, Options{Watch: WatchLimits{Changes: 8}})
	c := create(t, st, CollectionOptions{})
	w := watch(t, c, 0, nil)
	from := w.Revision()
	w.Close()
	for i := range 8 {
		put(t, c, at("a", float64(i), 0, ""))
	}
	w = watch(t, c, from, map[string]Query{"": {}})
	for i := range uint64(8) {
		if e := next(t, w); e.Revision != from+1+i {
			t.Fatalf("revision %d, want %d", e.Revision, from+1+i)
		}
	}
	w.Close()
	if from = w.Revision(); !st.hub.on.Load() {
		t.Fatal("the ring is off")
	}
	for range 9 {
		put(t, c, at("a", 0, 0, ""))
	}
	if st.hub.on.Load() || st.keepsOld {
		t.Error("nobody can watch what is in the ring, and it is on")
	}
	if _, err := c.Watch(t.Context(), WatchOptions{From: from}); !errors.Is(err, disk.ErrTrimmed) {
		t.Errorf("after the ring was turned off: %v", err)
	}
}

// A watcher ends with its context, its collection, its store, and Close.
func TestWatchEnds(t *testing.T) {
	ends := map[string]func(c *Collection, w *Watcher, cancel func()){
		"close":   func(c *Collection, w *Watcher, cancel func()) { w.Close() },
		"context": func(c *Collection, w *Watcher, cancel func()) { cancel() },
		"drop":    func(c *Collection, w *Watcher, cancel func()) { _, _ = c.st.Drop(c.Name()) },
		"store":   func(c *Collection, w *Watcher, cancel func()) { _ = c.st.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			st := open(t, Options{})
			c := create(t, st, CollectionOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, err := c.Watch(ctx, WatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			other := watch(t, c, 0, map[string]Query{"": {}})
			for i := range 150 {
				if err := w.Add(fmt.Sprint(i), Query{Area: query.Box(0, 0, float64(i), 1)}); err != nil {
					t.Fatal(err)
				}
			}
			ended := make(chan error)
			go func() {
				_, err := w.Next(t.Context())
				ended <- err
			}()
			untilLive(w)
			end(c, w, cancel)
			want := ErrClosed
			if name == "context" {
				want = context.Canceled
			}
			if err := <-ended; !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if err := w.Add("more", Query{}); !errors.Is(err, want) {
				t.Errorf("Add: %v, want %v", err, want)
			}
			w.Close()
			w.Close()
			if name == "close" || name == "context" {
				put(t, c, at("a", 0, 0, ""))
				if e := next(t, other); e.Kind != query.Enter {
					t.Error(e)
				}
				h := &st.hub
				h.mu.Lock()
				defer h.mu.Unlock()
				if n := h.watched[c.num].areas.tree.Len(); n != 0 || h.areas != 1 || h.count.Load() != 1 {
					t.Errorf("%d boxes of ended watchers are left, %d areas, %d watchers", n, h.areas, h.count.Load())
				}
			}
		})
	}
}

// untilLive waits for a Next in another goroutine.
func untilLive(w *Watcher) {
	for live := false; !live; {
		w.h.mu.Lock()
		live = w.live && len(w.queue) == 0
		w.h.mu.Unlock()
		runtime.Gosched()
	}
}

// A live watcher that takes nothing loses nothing: from the queue, when that is
// full, and when the ring has forgotten a revision of the queue.
func TestWatchSlow(t *testing.T) {
	for _, changes := range []int{20, 1 << 16} {
		for _, writes := range []int{10, queueLength, 3 * queueLength} {
			t.Run(fmt.Sprintf("changes=%d,writes=%d", changes, writes), func(t *testing.T) {
				st := open(t, Options{Dir: t.TempDir(), Sync: disk.SyncOff, Watch: WatchLimits{Changes: changes}})
				c := create(t, st, CollectionOptions{})
				w := watch(t, c, 0, map[string]Query{"": {Area: query.Box(0, 0, 1, 1)}})
				first := make(chan Event)
				go func() {
					e, _ := w.Next(t.Context())
					first <- e
				}()
				untilLive(w)
				want := put(t, c, at("a", 1, 1, "")) // Enter
				if e := <-first; e.Revision != want {
					t.Fatalf("%+v, want revision %d", e, want)
				}
				for range writes {
					put(t, c, at("a", 1, 1, ""))
					put(t, c, at("b", 2, 2, ""))
				}
				for range writes {
					want++
					if e := next(t, w); e.Revision != want || e.Kind != query.Changed {
						t.Fatalf("%+v, want revision %d", e, want)
					}
					want++
				}
			})
		}
	}
}

// A watcher that became live before the hub caught up gets nothing twice.
func TestWatchAheadOfHub(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	w := watch(t, c, 0, map[string]Query{"": {}})
	var last uint64
	for i := range 4 {
		last = put(t, c, at("a", float64(i), 1, ""))
	}
	for range 4 {
		next(t, w)
	}
	w.h.mu.Lock()
	w.h.findAgain(w) // as when it becomes live
	w.live, w.queue = true, append(w.queue[:0], last-1, last)
	w.h.mu.Unlock()
	last = put(t, c, at("a", 1, 1, ""))
	if e := next(t, w); e.Revision != last {
		t.Errorf("revision %d, want %d", e.Revision, last)
	}
}

// Changes after the ring's beginning may not be published yet: the log is read
// only up to there.
func TestWatchReadsWhatIsPublished(t *testing.T) {
	c := create(t, open(t, Options{Dir: t.TempDir(), Sync: disk.SyncOff}), CollectionOptions{})
	w := watch(t, c, 0, nil)
	from := w.Revision() + 1
	for range 10 {
		put(t, c, at("a", 1, 1, ""))
	}
	w.upTo = from - 1
	if err := w.read(from, from+4); err != nil || w.upTo != from+3 || len(w.todo) != 4 {
		t.Errorf("read to revision %d, %d changes, %v; want to %d", w.upTo, len(w.todo), err, from+3)
	}
}

// A change that cannot be collected is not left out silently.
func TestWatchBroken(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	w := watch(t, c, 0, map[string]Query{"": {}})
	put(t, c, at("a", 1, 1, ""))
	next(t, w)
	_ = st.runAlone(func() error {
		st.revision++
		st.hub.collect([]disk.Entry{{Collection: c.num, Kind: disk.Put, Key: []byte("x"), Value: []byte("no feature"), Revision: st.revision}})
		return nil
	})
	put(t, c, at("a", 1, 1, ""))
	if _, err := w.Next(t.Context()); !errors.Is(err, ErrLagged) || w.c.st.Stats().Lagged != 1 {
		t.Errorf("%v, want %v", err, ErrLagged)
	}
}

// A watcher allocates nothing for changes that concern none of its areas, and the
// commit leader nothing without watchers.
func TestWatchAllocs(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	w := watch(t, c, 0, nil)
	for i := range 1000 {
		if err := w.Add(fmt.Sprint(i), Query{Area: query.Box(0, 0, 1, float64(i%80)), Filter: "properties.n == 1"}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, c, at("a", 0, 0, `{"n":2}`))
	changes, _, _ := st.hub.ring.scan(nil, w.Revision()+1, 1)
	if n := testing.AllocsPerRun(100, func() {
		w.meet(changes[0])
		if err := w.judge(nil); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a change that concerns nobody", n)
	}
	st = open(t, Options{})
	entries := []disk.Entry{{Kind: disk.Put, Key: []byte("a")}}
	if n := testing.AllocsPerRun(100, func() {
		st.hub.collect(entries)
		st.hub.publish()
	}); n > 0 {
		t.Errorf("%v allocations while nobody watches", n)
	}
}

// Exceeded limits are reported, and a refused call takes nothing.
func TestWatchLimits(t *testing.T) {
	ctx := t.Context()
	st := open(t, Options{Watch: WatchLimits{Watchers: 2, WatcherAreas: 3, Areas: 5}})
	c := create(t, st, CollectionOptions{})
	is := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	a, b := watch(t, c, 0, nil), watch(t, c, 0, nil)
	_, err := c.Watch(ctx, WatchOptions{})
	is(err, ErrWatchLimit)
	for i := range 3 {
		is(a.Add(fmt.Sprint(i), Query{}), nil)
	}
	is(a.Add("more", Query{}), ErrWatchLimit)
	is(a.Add("0", Query{}), ErrQuery)
	is(b.Add("0", Query{Limit: 1}), ErrQuery)
	is(b.Add("0", Query{Order: query.ByID}), ErrQuery)
	is(b.Add("0", Query{Filter: "what"}), ErrQuery)
	is(b.Add("0", Query{Area: query.Circle(0, 0, -1)}), ErrQuery)
	ring := orb.Ring{}
	for i := range 128 {
		ring = append(ring, orb.Point{float64(i), float64(i * i % 89)})
	}
	ring[127] = ring[0]
	if n := positions(orb.MultiPolygon{{ring}, {ring}}); n != 256 {
		t.Errorf("%d positions, want 256", n)
	}
	is(b.Add("0", Query{}), nil)
	is(b.Add("1", Query{}), nil)
	is(b.Add("2", Query{}), ErrWatchLimit)
	is(a.Add("3", Query{}), ErrWatchLimit)
	a.Remove("0")
	is(b.Add("2", Query{}), nil)
	b.Close()
	is(a.Add("3", Query{}), nil)

	st = open(t, Options{})
	c = create(t, st, CollectionOptions{})
	a = watch(t, c, 0, nil)
	for i := range 2 * maxFilters {
		is(a.Add(fmt.Sprint(i), Query{Filter: fmt.Sprintf("properties.n == %d", i/2)}), nil)
	}
	is(a.Add("more", Query{Filter: "true"}), ErrWatchLimit)
	a.Remove("0")
	is(a.Add("more", Query{Filter: "true"}), ErrWatchLimit)
	a.Remove("1")
	is(a.Add("more", Query{Filter: "true"}), nil)

	_, err = Open(ctx, Options{Watch: WatchLimits{Areas: -1}})
	is(err, ErrOptions)
	_, err = Open(ctx, Options{Watch: WatchLimits{Bytes: -1}})
	is(err, ErrOptions)
}

// A watcher without events learns its progress, be it live or behind.
func TestWatchProgress(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	area := map[string]Query{"": {Area: query.Box(50, 50, 51, 51)}}
	w := watch(t, c, 0, area)
	from := w.Revision()
	events := make(chan Event)
	go func() {
		e, _ := w.Next(t.Context())
		events <- e
	}()
	for range 3 * progressEvery {
		put(t, c, at("a", 0, 0, ""))
	}
	for _, e := range []Event{<-events, next(t, watch(t, c, from, area))} {
		if e.Kind != query.Progress || e.Resume < from+progressEvery || e.Resume > from+3*progressEvery || e.Revision != e.Resume {
			t.Errorf("%+v, began at %d", e, from)
		}
	}
}

// A filter that cannot be evaluated gives an error, and does not end the watcher.
func TestWatchFilterFails(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	w := watch(t, c, 0, map[string]Query{
		"dear": {Filter: `properties.l.all(x, properties.l.all(y, properties.l.all(z, x+y+z > 0)))`}, "other": {},
	})
	list := "1"
	for range 200 {
		list += ",1"
	}
	put(t, c, at("a", 0, 0, `{"l":[`+list+`]}`))
	failed, entered := 0, 0
	for range 2 {
		if e, err := w.Next(t.Context()); err != nil {
			failed++
		} else if e.Name == "other" {
			entered++
		}
	}
	put(t, c, at("b", 0, 0, `{"l":[1]}`))
	for _, name := range []string{"dear", "other"} {
		if e := next(t, w); e.Name != name || e.Kind != query.Enter || e.ID != "b" {
			t.Error(eventText(e))
		}
	}
	if failed != 1 || entered != 1 {
		t.Errorf("%d errors, %d events", failed, entered)
	}
}

func TestWatchArea(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := watch(t, c, 0, nil)
	from := w.Revision()
	for i := range 3 {
		put(t, c, at("a", float64(i), 0, ""))
	}
	var got []string
	for e, err := range c.WatchArea(ctx, Query{Area: query.Circle(0, 0, 200_000)}, from) {
		if err != nil {
			got = append(got, fmt.Sprint(errors.Is(err, context.Canceled)))
			continue
		}
		if got = append(got, e.Kind.String()); len(got) == 3 {
			cancel()
		}
	}
	if want := []string{"enter", "inside", "exit", "true"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, err := range c.WatchArea(t.Context(), Query{Limit: 1}, 0) {
		if !errors.Is(err, ErrQuery) {
			t.Error(err)
		}
	}
	if n := c.st.hub.count.Load(); n != 1 {
		t.Errorf("%d watchers are left, want 1", n)
	}
}
