package tile

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// even is a condition on property even.
func even(text string) *filter.Program {
	var tree filter.Tree
	return tree.Program(text, tree.IsTrue(tree.Property([][]string{{"even"}})))
}

// everything is no condition.
func everything(text string) *filter.Program {
	var tree filter.Tree
	return tree.Program(text, tree.Constant(true))
}

// failingArea cannot be judged.
type failingArea struct{ err error }

func (a failingArea) MatchIn(*feature.View, *feature.Steps) (bool, error) { return false, a.err }

// TestWhere: a condition that is a program gives the same as one in CEL, with few
// features, with clusters, and counted.
func TestWhere(t *testing.T) {
	c := places(t, scattered(rand.New(rand.NewPCG(1, 1)), 400, true)...)
	text := "id.endsWith('0') || id.endsWith('2') || id.endsWith('4') || id.endsWith('6') || id.endsWith('8')"
	for _, b := range []Builder{{}, {MaxFeatures: 20}} {
		for _, at := range [][3]int{{0, 0, 0}, {1, 1, 0}, {3, 4, 2}} {
			want := draw(t, b, c, at[0], at[1], at[2], Options{Filter: text})
			got := draw(t, b, c, at[0], at[1], at[2], Options{Where: even("even")})
			if !bytes.Equal(got.Data, want.Data) || got.ETag != want.ETag || got.ETag == "" {
				t.Errorf("%v: %d bytes, %s; by a filter %d, %s", at, len(got.Data), got.ETag, len(want.Data), want.ETag)
			}
			if all := draw(t, b, c, at[0], at[1], at[2], Options{}); bytes.Equal(all.Data, want.Data) {
				t.Errorf("%v: the condition changes nothing", at)
			}
		}
	}
	count := func(o Options) (n int) {
		cells, _, err := new(Builder).Counts(t.Context(), whole.OfOne(c), -180, -90, 180, 90, 3, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range cells {
			n += cell.Count
		}
		return n
	}
	if got, want := count(Options{Where: even("even")}), count(Options{Filter: text}); got != want || got == 0 {
		t.Errorf("%d are counted, by a filter %d", got, want)
	}
	var tree filter.Tree
	stop := errors.New("stop")
	failing := Options{Where: tree.Program("failing", tree.Place(failingArea{stop}))}
	if _, err := new(Builder).Tile(t.Context(), whole.OfOne(c), 0, 0, 0, failing); !errors.Is(err, stop) {
		t.Errorf("a condition's error: %v", err)
	}
	small := Builder{MaxFiltered: 10}
	if tile, err := small.Tile(t.Context(), whole.OfOne(c), 0, 0, 0, Options{Where: even("even")}); err != nil || tile.Sampled < 2 {
		t.Errorf("too many: sampled %d, %v", tile.Sampled, err)
	}
	k := NewCache(1<<20, Builder{})
	first := cached(t, k, c, 0, 0, 0, Options{Where: even("even")})
	other := cached(t, k, c, 0, 0, 0, Options{Where: everything("all")})
	if bytes.Equal(first.Data, other.Data) {
		t.Error("two conditions give one tile")
	}
}

// TestCoding: a tile is compressed once, and cached so; one that would be no smaller is
// not compressed.
func TestCoding(t *testing.T) {
	c := places(t, store.Feature{ID: "a", Geometry: orb.Point{1.5, 42.5}})
	k := NewCache(1<<20, Builder{})
	coded := 0
	half := &Coding{Name: "half", Encode: func(b []byte) ([]byte, error) {
		coded++
		return bytes.Clone(b[:len(b)/2]), nil
	}}
	plain := cached(t, k, c, 0, 0, 0, Options{})
	for range 3 {
		got := cached(t, k, c, 0, 0, 0, Options{Coding: half})
		if !got.Coded || !bytes.Equal(got.Data, plain.Data[:len(plain.Data)/2]) || got.ETag != plain.ETag {
			t.Errorf("%+v", got)
		}
	}
	empty := cached(t, k, c, 5, 0, 0, Options{Coding: half})
	if coded != 1 || empty.Coded || len(empty.Data) != 0 {
		t.Errorf("compressed %d times; of nothing %+v", coded, empty)
	}
	never := &Coding{Name: "never", Encode: func([]byte) ([]byte, error) { return nil, nil }}
	if got := cached(t, k, c, 0, 0, 0, Options{Coding: never}); got.Coded || !bytes.Equal(got.Data, plain.Data) {
		t.Errorf("%+v", got)
	}
	stop := errors.New("stop")
	bad := &Coding{Name: "bad", Encode: func([]byte) ([]byte, error) { return nil, stop }}
	if _, err := k.Tile(t.Context(), whole.OfOne(c), 0, 0, 0, Options{Coding: bad}); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestBound: a request that waits before it may draw finds the tile that another drew
// meanwhile; a cached tile needs no waiting; and a request that may not draw does not.
func TestBound(t *testing.T) {
	c := places(t, store.Feature{ID: "a", Geometry: orb.Point{1.5, 42.5}})
	k := NewCache(1<<20, Builder{})
	stop := errors.New("stop")
	refuse := Options{Bound: func(context.Context, func()) error { return stop }}
	if _, err := k.Tile(t.Context(), whole.OfOne(c), 0, 0, 0, refuse); !errors.Is(err, stop) {
		t.Error(err)
	}
	asked := 0
	cached(t, k, c, 0, 0, 0, Options{Bound: func(_ context.Context, draw func()) error {
		asked++
		cached(t, k, c, 0, 0, 0, Options{})
		draw()
		return nil
	}})
	if s := k.Stats(); asked != 1 || s.Misses != 1 || s.Hits != 1 {
		t.Errorf("asked %d times, %+v", asked, s)
	}
	cached(t, k, c, 0, 0, 0, refuse)
	if s := k.Stats(); s.Misses != 1 || s.Hits != 2 {
		t.Errorf("%+v", s)
	}
}

// TestNowInFilters: only filters that may contain now give tiles without tags.
func TestNowInFilters(t *testing.T) {
	c := places(t, store.Feature{ID: "a", Geometry: orb.Point{1.5, 42.5}})
	for filter, timed := range map[string]bool{
		"now > timestamp('2020-01-01T00:00:00Z')": true, "id=='a'||now>expires": true, "properties.kind == 'snow'": false, "properties.know == 1": false,
		"properties.now_ == 1": false, "id == 'now'": true, "true || (now) > expires": true,
	} {
		if got := draw(t, Builder{}, c, 0, 0, 0, Options{Filter: filter}); (got.ETag == "") != timed {
			t.Errorf("%s: tag %q", filter, got.ETag)
		}
	}
}

// TestNamesInTags: the layer has the collection's name, so a tag depends on it.
func TestNamesInTags(t *testing.T) {
	st := open(t, store.Options{})
	a := create(t, st, store.CollectionOptions{})
	if _, err := st.CreateFeatures("other", store.CollectionOptions{}); err != nil {
		t.Fatal(err)
	}
	put(t, a, store.Feature{ID: "a", Geometry: orb.Point{1, 1}})
	tag := draw(t, Builder{}, a, 0, 0, 0, Options{}).ETag
	if err := st.Swap(t.Context(), "places", "other"); err != nil {
		t.Fatal(err)
	}
	if got := draw(t, Builder{}, a, 0, 0, 0, Options{}).ETag; got == tag || strings.Count(got, "-") != strings.Count(tag, "-") {
		t.Errorf("tags %s and %s", tag, got)
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		cell     Cell
		lon, lat float64
	}{
		{Cell{West: -180, South: -MaxLatitude, East: 180, North: MaxLatitude}, 0, 0},
		{Cell{West: 0, South: 0, East: 180, North: MaxLatitude}, 90, 66.51326044311186},
		{Cell{West: -1, South: -1, East: 0, North: 1}, -0.5, 0},
	} {
		if lon, lat := c.cell.Middle(); math.Abs(lon-c.lon) > 1e-9 || math.Abs(lat-c.lat) > 1e-9 {
			t.Errorf("%+v: %v, %v", c.cell, lon, lat)
		}
	}
}
