package tile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/whole"
)

func cached(t testing.TB, c *Cache, of *store.Collection, z, x, y int, o Options) Tile {
	t.Helper()
	got, err := c.Tile(t.Context(), whole.OfOne(of), z, x, y, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCache: a write to the tile's area, by its old place or its new one,
// causes a new drawing, and one elsewhere does not.
func TestCache(t *testing.T) {
	c := places(t, store.Feature{ID: "a", Geometry: orb.Point{1.5, 42.5}})
	k := NewCache(1<<20, Builder{})
	at := [3]int{12, 2065, 1512} // 1.49 to 1.58 east, 42.49 to 42.55 north
	want := func(what string, hit bool, points int) string {
		t.Helper()
		before := k.Stats().Hits
		got := cached(t, k, c, at[0], at[1], at[2], Options{})
		if n := len(decode(t, got.Data, "places")); n != points {
			t.Errorf("%s: %d points, want %d", what, n, points)
		}
		if k.Stats().Hits > before != hit {
			t.Errorf("%s: a hit is %t", what, !hit)
		}
		return got.ETag
	}
	first := want("first", false, 1)
	if tag := want("again", true, 1); tag != first || tag == "" {
		t.Errorf("tags %s and %s", first, tag)
	}
	put(t, c, store.Feature{ID: "b", Geometry: orb.Point{-70, -20}})
	want("elsewhere", true, 1)
	put(t, c, store.Feature{ID: "b", Geometry: orb.Point{1.51, 42.51}})
	second := want("moved here", false, 2)
	if second == first {
		t.Error("the same tag")
	}
	put(t, c, store.Feature{ID: "b", Geometry: orb.Point{-70, -20}})
	want("moved away", false, 1)
	if _, err := c.Patch(t.Context(), "a", []byte(`{"x":1}`), kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	want("patched", false, 1)
	if _, err := c.Delete(t.Context(), "a", kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	want("deleted", false, 0)
	want("empty", true, 0)
	put(t, c, store.Feature{ID: "large", Geometry: orb.Polygon{square(-50, -50, 50, 50)}})
	want("a large one", false, 1)
	for _, o := range []Options{{NoProperties: true}, {Fields: []string{"x"}}, {Fields: []string{"x", "y"}}, {Filter: "id == 'a'"}, {Filter: "id == 'snow'"}} {
		before := k.Stats().Misses
		if cached(t, k, c, at[0], at[1], at[2], o); k.Stats().Misses != before+1 {
			t.Errorf("%+v is not a tile of its own", o)
		}
	}
	now := k.Stats()
	if cached(t, k, c, at[0], at[1], at[2], Options{Filter: "now > expires"}); k.Stats().Tiles != now.Tiles {
		t.Error("a tile that depends on the time was kept")
	}
	if now.Tiles == 0 || now.Bytes == 0 {
		t.Errorf("%+v", now)
	}
}

// TestCacheExpiry: an expired feature is not shown, whether it is removed or
// not, and the two states have different tags.
func TestCacheExpiry(t *testing.T) {
	clock := time.Duration(1 << 60)
	c := create(t, open(t, store.Options{Now: func() time.Duration { return clock }}), store.CollectionOptions{})
	expires := func(d time.Duration) time.Time { return time.Unix(0, int64(clock+d)) }
	put(t, c, store.Feature{ID: "a", Geometry: orb.Point{1, 1}},
		store.Feature{ID: "b", Geometry: orb.Point{2, 2}, Expires: expires(time.Minute)},
		store.Feature{ID: "c", Geometry: orb.Point{3, 3}, Expires: expires(time.Hour)})
	k := NewCache(1<<20, Builder{})
	tags := map[string]bool{}
	for _, points := range []int{3, 2, 1} {
		got := cached(t, k, c, 0, 0, 0, Options{})
		if n := len(decode(t, got.Data, "places")); n != points {
			t.Fatalf("%d points, want %d", n, points)
		}
		if tags[got.ETag] || got.ETag == "" {
			t.Errorf("tag %s again", got.ETag)
		}
		tags[got.ETag] = true
		if again := cached(t, k, c, 0, 0, 0, Options{}); again.ETag != got.ETag {
			t.Errorf("tags %s and %s", got.ETag, again.ETag)
		}
		clock += 31 * time.Minute
	}
	if k.Stats().Hits != 3 {
		t.Errorf("%+v", k.Stats())
	}
}

// TestCacheBounds: the least recently used tiles are evicted, and a tile larger
// than the cache is not kept.
func TestCacheBounds(t *testing.T) {
	c := places(t, scattered(rand.New(rand.NewPCG(1, 1)), 300, true)...)
	const most = 20_000
	k := NewCache(most, Builder{})
	for round := range 3 {
		for x := range 8 {
			for y := range 8 {
				cached(t, k, c, 3, x, y, Options{})
				if s := k.Stats(); s.Bytes > most || s.Bytes < 0 {
					t.Fatalf("%+v", s)
				}
				hits := k.Stats().Hits
				if cached(t, k, c, 3, x, y, Options{}); k.Stats().Hits != hits+1 {
					t.Fatal("the latest one is not kept")
				}
			}
		}
		if s := k.Stats(); s.Evicted == 0 || s.Tiles < 5 {
			t.Fatalf("round %d: %+v", round, s)
		}
	}
	small := NewCache(100, Builder{})
	if cached(t, small, c, 0, 0, 0, Options{}); small.Stats().Tiles != 0 {
		t.Error("a tile was kept where there is no room")
	}
}

// TestCacheNames: after a swap the name leads to another collection, and the layer has
// the new name; a collection that was dropped has no tiles.
func TestCacheNames(t *testing.T) {
	st := open(t, store.Options{})
	a := create(t, st, store.CollectionOptions{})
	b, err := st.CreateFeatures("other", store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, a, store.Feature{ID: "a", Geometry: orb.Point{1, 1}})
	put(t, b, store.Feature{ID: "b", Geometry: orb.Point{1, 1}})
	k := NewCache(1<<20, Builder{})
	tag := cached(t, k, a, 0, 0, 0, Options{}).ETag
	if err := st.Swap(t.Context(), "places", "other"); err != nil {
		t.Fatal(err)
	}
	decode(t, cached(t, k, a, 0, 0, 0, Options{}).Data, "other")
	got := cached(t, k, b, 0, 0, 0, Options{})
	if all := decode(t, got.Data, "places"); all[0].tags["id"] != "b" || got.ETag == tag {
		t.Errorf("%v, tags %s and %s", all, got.ETag, tag)
	}
	if _, err := st.Drop("places"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Tile(t.Context(), whole.OfOne(b), 0, 0, 0, Options{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a tile of a collection that was dropped: %v", err)
	}
}

// TestTagsAfterRestart: no two collections have a tag in common, also before
// and after a restart, which may lose a write that was not durable.
func TestTagsAfterRestart(t *testing.T) {
	o := store.Options{Dir: t.TempDir(), Sync: disk.SyncOff}
	tags := map[string]bool{}
	for range 2 {
		st, err := store.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			c, err := st.CreateFeatures(name, store.CollectionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if c.Len() == 0 && name == "b" { // Both begin with its revision after the restart.
				put(t, c, store.Feature{Geometry: orb.Point{}})
			}
			tag := draw(t, Builder{}, c, 0, 0, 0, Options{}).ETag
			if tags[tag] || tag == "" {
				t.Errorf("tag %s again", tag)
			}
			tags[tag] = true
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCacheWriteWhileDrawing: a write made while a tile is drawn is in the tile of
// later requests, though they wait for that drawing; and the tile is not kept.
func TestCacheWriteWhileDrawing(t *testing.T) {
	c := places(t, scattered(rand.New(rand.NewPCG(1, 1)), 100, false)...)
	k := NewCache(1<<20, Builder{MaxFeatures: 10})
	counted, release := make(chan struct{}), make(chan struct{})
	first := true
	pace := func() error { // The south is counted.
		if first {
			first = false
			close(counted)
			<-release
		}
		return nil
	}
	sum := func(o Options) (int, string) {
		got, err := k.Tile(t.Context(), whole.OfOne(c), 0, 0, 0, o)
		if err != nil {
			t.Error(err)
		}
		_, sum := inTile(decode(t, got.Data, "places"))
		return sum, got.ETag
	}
	var asked sync.WaitGroup
	asked.Go(func() {
		if n, tag := sum(Options{Pace: pace}); n != 100 || tag != "" {
			t.Errorf("drawn before the write: %d features, tag %s", n, tag)
		}
	})
	<-counted
	put(t, c, store.Feature{ID: "late", Geometry: orb.Point{10, -84}})
	for i := range uint64(3) {
		asked.Go(func() {
			if n, _ := sum(Options{}); n != 101 {
				t.Errorf("asked after the write: %d features", n)
			}
		})
		for k.Stats().Waits != i+1 {
			runtime.Gosched()
		}
	}
	close(release)
	asked.Wait()
	if s := k.Stats(); s.Uncertain != 1 || s.Misses != 2 {
		t.Errorf("%+v", s)
	}
}

// TestCacheNeverStale: beside a writer, each tile has the writes acknowledged
// before its request, or later ones; equal tags have equal bytes; and cached tiles
// are used. The tiles are read in all three ways: features, clusters, filtered.
func TestCacheNeverStale(t *testing.T) {
	c := places(t, scattered(rand.New(rand.NewPCG(1, 1)), 100, false)...)
	k := NewCache(1<<20, Builder{MaxFeatures: 60})
	requests := []struct {
		z, x, y int
		o       Options
	}{{12, 2065, 1512, Options{}}, {0, 0, 0, Options{}}, {0, 0, 0, Options{Filter: "'v' in properties"}}}
	var mu sync.Mutex
	acknowledged, begun := 0, 0
	tags := map[string][]byte{}
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	checked := make([]int, len(requests))
	for i := range 4 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			for ctx.Err() == nil {
				which := r.IntN(len(requests))
				q := requests[which]
				mu.Lock()
				least := acknowledged
				mu.Unlock()
				got, err := k.Tile(t.Context(), whole.OfOne(c), q.z, q.x, q.y, q.o)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				most := begun
				key := fmt.Sprint(which, got.ETag)
				if had, ok := tags[key]; got.ETag != "" && ok && !bytes.Equal(had, got.Data) {
					t.Errorf("two tiles with the tag %s", got.ETag)
				}
				tags[key] = got.Data
				checked[which]++
				mu.Unlock()
				for _, d := range decode(t, got.Data, "places") {
					v, ok := d.tags["v"].(int64)
					if d.tags["id"] == "clock" && ok && (int(v) < least || int(v) > most) {
						t.Errorf("version %d, want %d to %d", v, least, most)
					}
				}
			}
		})
	}
	for n := 1; n <= 3000; n++ {
		mu.Lock()
		begun = n
		mu.Unlock()
		put(t, c, store.Feature{ID: "clock", Geometry: orb.Point{1.5, 42.5}, Properties: fmt.Appendf(nil, `{"v":%d}`, n)})
		mu.Lock()
		acknowledged = n
		mu.Unlock()
		for range n % 60 {
			runtime.Gosched() // Some tiles stay cached for a while.
		}
	}
	stop()
	readers.Wait()
	s := k.Stats()
	t.Logf("%+v, %d tags, %v", s, len(tags), checked)
	if s.Hits == 0 || len(tags) < 20 {
		t.Errorf("%+v, %d tags", s, len(tags))
	}
}
