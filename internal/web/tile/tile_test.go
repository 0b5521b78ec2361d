package tile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

func open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func create(t testing.TB, st *store.Store, o store.CollectionOptions) *store.Collection {
	t.Helper()
	c, err := st.CreateFeatures("places", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// places returns a collection of features.
func places(t testing.TB, all ...store.Feature) *store.Collection {
	t.Helper()
	c := create(t, open(t, store.Options{}), store.CollectionOptions{})
	put(t, c, all...)
	return c
}

func put(t testing.TB, c *store.Collection, all ...store.Feature) {
	t.Helper()
	for _, f := range all {
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

func draw(t testing.TB, b Builder, c *store.Collection, z, x, y int, o Options) Tile {
	t.Helper()
	got, err := b.Tile(t.Context(), whole.OfOne(c), z, x, y, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) > MaxBytes {
		t.Fatalf("%d bytes", len(got.Data))
	}
	return got
}

func square(west, south, east, north float64) orb.Ring {
	return orb.Ring{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}
}

func reversed(r orb.Ring) orb.Ring {
	r = slices.Clone(r)
	slices.Reverse(r)
	return r
}

// TestGolden: geometries by hand, in tiles of zoom 0 and 1, where 90 degrees of
// longitude are 1024 and 2048 units.
func TestGolden(t *testing.T) {
	// The latitude of a quarter of the world's height.
	q := math.Atan(math.Sinh(math.Pi/2)) * 180 / math.Pi // 66.51
	for _, x := range []struct {
		what    string
		g       orb.Geometry
		z, x, y int
		want    string
	}{
		{"a point", orb.Point{90, 0}, 0, 0, 0, "1 [[{3072 2048}]]"},
		{"points", orb.MultiPoint{{90, 0}, {-90, q}}, 0, 0, 0, "1 [[{3072 2048}] [{1024 1024}]]"},
		{"points, one in the tile", orb.MultiPoint{{90, q}, {-90, q}}, 1, 1, 0, "1 [[{2048 2048}]]"},
		{"a point in the buffer", orb.Point{-2, q}, 1, 1, 0, "1 [[{-46 2048}]]"},
		{"a point beyond the buffer", orb.Point{-3, q}, 1, 1, 0, ""},
		{"a point at 180 in the east", orb.Point{180, q}, 1, 1, 0, "1 [[{4096 2048}]]"},
		{"a point at 180 in the west", orb.Point{180, q}, 1, 0, 0, "1 [[{0 2048}]]"},
		{"a point over 180", orb.Point{178, q}, 1, 0, 0, "1 [[{-46 2048}]]"},
		{"a point on both sides of zoom 0", orb.Point{178, 0}, 0, 0, 0, "1 [[{4073 2048}] [{-23 2048}]]"},
		{"a point near a pole", orb.Point{0, 86}, 0, 0, 0, ""},
		{"a line", orb.LineString{{0, 0}, {45, 0}, {90, 0}, {90, q}}, 0, 0, 0, "2 [[{2048 2048} {3072 2048} {3072 1024}]]"},
		{"a line that leaves and comes back", orb.LineString{{90, q}, {-90, q}, {-90, 50}, {90, 50}}, 1, 1, 0,
			"2 [[{2048 2048} {-64 2048}] [{-64 2778} {2048 2778}]]"},
		{"a line with one position outside", orb.LineString{{90, q}, {-90, q}, {90, 50}}, 1, 1, 0,
			"2 [[{2048 2048} {-64 2048}] [{-64 2445} {2048 2778}]]"},
		{"two lines", orb.MultiLineString{{{90, 0}, {90, q}}, {{-90, 0}, {-90, q}}}, 0, 0, 0,
			"2 [[{3072 2048} {3072 1024}] [{1024 2048} {1024 1024}]]"},
		{"a polygon", orb.Polygon{square(0, 0, 90, q)}, 0, 0, 0, "3 [[{2048 2048} {2048 1024} {3072 1024} {3072 2048}]]"},
		{"a hole", orb.Polygon{square(-90, -q, 90, q), square(0, 0, 45, q/2)}, 0, 0, 0,
			"3 [[{1024 3072} {1024 1024} {3072 1024} {3072 3072}] [{2048 2048} {2560 2048} {2560 1646} {2048 1646}]]"},
		{"a polygon around the tile", orb.Polygon{square(-85, -80, 85, 80)}, 3, 4, 3,
			"3 [[{-64 4160} {-64 -64} {4160 -64} {4160 4160}]]"},
		{"a polygon to the pole", orb.Polygon{square(0, -90, 90, 0)}, 1, 1, 1, "3 [[{0 4096} {0 0} {2048 0} {2048 4096}]]"},
		{"too small a polygon", orb.Polygon{square(90, 0, 90.1, 0.1)}, 0, 0, 0, "1 [[{3073 2047}]]"},
		{"too small a line", orb.LineString{{90, 0}, {90.1, 0}}, 0, 0, 0, "1 [[{3073 2048}]]"},
		{"a part that is too small", orb.MultiPolygon{{square(0, 0, 90, q)}, {square(-90, 0, -89.9, 0.1)}}, 0, 0, 0,
			"3 [[{2048 2048} {2048 1024} {3072 1024} {3072 2048}]]"},
		{"over 180, in the east", orb.Polygon{square(90, 0, 270, q)}, 1, 1, 0, "3 [[{2048 4096} {2048 2048} {4096 2048} {4096 4096}] [{4096 4096} {4096 2048} {4160 2048} {4160 4096}]]"},
		{"over 180, in the west", orb.Polygon{square(90, 0, 270, q)}, 1, 0, 0, "3 [[{-64 4096} {-64 2048} {0 2048} {0 4096}] [{0 4096} {0 2048} {2048 2048} {2048 4096}]]"},
		{"a collection", orb.Collection{orb.Point{90, 0}, orb.LineString{{0, 0}, {90, 0}}, orb.Polygon{square(0, 0, 90, q)}}, 0, 0, 0,
			"1 [[{3072 2048}]]; 2 [[{2048 2048} {3072 2048}]]; 3 [[{2048 2048} {2048 1024} {3072 1024} {3072 2048}]]"},
	} {
		geometries := []orb.Geometry{x.g}
		if p, ok := x.g.(orb.Polygon); ok {
			var r orb.Polygon
			for _, ring := range p {
				r = append(r, reversed(ring))
			}
			geometries = append(geometries, r)
		}
		for i, g := range geometries {
			g, err := feature.Normalise(g, feature.Options{Space: feature.Geographic})
			if err != nil {
				t.Fatalf("%s: %v", x.what, err)
			}
			c := places(t, store.Feature{ID: "a", Geometry: g})
			var got []string
			for _, d := range decode(t, draw(t, Builder{}, c, x.z, x.x, x.y, Options{}).Data, "places") {
				if d.typ == typePolygon {
					for j := range d.parts {
						d.parts[j] = canonical(d.parts[j])
					}
					slices.SortStableFunc(d.parts, func(a, b []spot) int { return int(a[0].x - b[0].x) })
					if ringArea(d.parts[0]) < 0 {
						slices.Reverse(d.parts)
					}
				}
				got = append(got, fmt.Sprint(d.typ, d.parts))
			}
			if s := strings.Join(got, "; "); s != x.want {
				t.Errorf("%s, %d: %s, want %s", x.what, i, s, x.want)
			}
		}
	}
}

// canonical returns a ring that begins in the south-west.
func canonical(ring []spot) []spot {
	least := 0
	for i, p := range ring {
		if q := ring[least]; p.x < q.x || p.x == q.x && p.y > q.y {
			least = i
		}
	}
	return slices.Concat(ring[least:], ring[:least])
}

// TestProperties: each JSON type, ids, and selected properties.
func TestProperties(t *testing.T) {
	properties := []byte(`{"s":"x\"y","i":7,"n":-3,"u":18446744073709551615,"d":1.5,"e":1e3,"t":true,"f":false,` +
		`"o":{"a":[1]},"l":[1,"2"],"z":null,"id":"not this","point_count":3}`)
	c := places(t, store.Feature{ID: "one", Geometry: orb.Point{1, 1}, Properties: properties},
		store.Feature{ID: "42", Geometry: orb.Point{1, 1}}, store.Feature{ID: "042", Geometry: orb.Point{1, 1}})
	got := decode(t, draw(t, Builder{}, c, 0, 0, 0, Options{}).Data, "places")
	if len(got) != 3 || got[0].hasID || !got[1].hasID || got[1].id != 42 || got[2].hasID ||
		got[0].tags["id"] != "042" || got[1].tags["id"] != "42" {
		t.Fatal(got)
	}
	want := map[string]any{
		"id": "one", "s": `x"y`, "i": int64(7), "n": int64(-3), "u": uint64(math.MaxUint64), "d": 1.5, "e": 1000.0,
		"t": true, "f": false, "o": `{"a":[1]}`, "l": `[1,"2"]`, "point_count": int64(3),
	}
	if !reflect.DeepEqual(got[2].tags, want) {
		t.Errorf("%v, want %v", got[2].tags, want)
	}
	got = decode(t, draw(t, Builder{}, c, 0, 0, 0, Options{Fields: []string{"i", "none"}}).Data, "places")
	if want := map[string]any{"id": "one", "i": int64(7)}; !reflect.DeepEqual(got[2].tags, want) {
		t.Errorf("%v, want %v", got[2].tags, want)
	}
	got = decode(t, draw(t, Builder{}, c, 0, 0, 0, Options{NoProperties: true}).Data, "places")
	if want := map[string]any{"id": "one"}; !reflect.DeepEqual(got[2].tags, want) {
		t.Errorf("%v, want %v", got[2].tags, want)
	}
	got = decode(t, draw(t, Builder{}, c, 0, 0, 0, Options{Filter: "properties.i == 7"}).Data, "places")
	if len(got) != 1 || got[0].tags["id"] != "one" {
		t.Errorf("filtered: %v", got)
	}
}

// TestBadRequests: no valid tile, or a planar collection.
func TestBadRequests(t *testing.T) {
	st := open(t, store.Options{})
	c := create(t, st, store.CollectionOptions{})
	plane, err := st.CreateFeatures("plane", store.CollectionOptions{Space: feature.Planar})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		c       *store.Collection
		z, x, y int
		o       Options
		want    error
	}{
		{c, -1, 0, 0, Options{}, ErrNoTile}, {c, 25, 0, 0, Options{}, ErrNoTile}, {c, 3, 8, 0, Options{}, ErrNoTile},
		{c, 3, 0, 8, Options{}, ErrNoTile}, {c, 3, -1, 0, Options{}, ErrNoTile}, {plane, 0, 0, 0, Options{}, ErrSpace},
		{c, 0, 0, 0, Options{Filter: "what?"}, filter.ErrFilter},
	} {
		if _, err := (&Builder{}).Tile(t.Context(), whole.OfOne(x.c), x.z, x.x, x.y, x.o); !errors.Is(err, x.want) {
			t.Errorf("%d/%d/%d: %v, want %v", x.z, x.x, x.y, err, x.want)
		}
	}
	if got := draw(t, Builder{}, c, 24, 1<<24-1, 1<<24-1, Options{}); got.Data != nil || got.ETag == "" {
		t.Errorf("an empty tile: %+v", got)
	}
}

// scattered returns n points around Andorra, or all over the world.
func scattered(r *rand.Rand, n int, world bool) []store.Feature {
	all := make([]store.Feature, n)
	for i := range all {
		p := orb.Point{1.4 + r.NormFloat64()*0.2, 42.5 + r.NormFloat64()*0.2}
		if world {
			p = orb.Point{r.Float64()*360 - 180, r.Float64()*170 - 85}
		}
		all[i] = store.Feature{
			ID: fmt.Sprintf("p%d", i), Geometry: p, Properties: fmt.Appendf(nil, `{"n":%d,"even":%t}`, i, i%2 == 0),
		}
	}
	return all
}

// TestEachPoint: at high zooms each point of a tile and its buffer is in it, in
// its place, and no other one is.
func TestEachPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	all := scattered(r, 1500, false)
	c := places(t, all...)
	for range 60 {
		z := 8 + r.IntN(8)
		p := all[r.IntN(len(all))].Geometry.(orb.Point)
		n := math.Exp2(float64(z))
		x := int((p[0] + 180) / 360 * n)
		y := int((1 - math.Asinh(math.Tan(p[1]*math.Pi/180))/math.Pi) / 2 * n)
		want := map[string]spot{}
		for _, f := range all {
			q := f.Geometry.(orb.Point)
			u := ((q[0]+180)/360*n - float64(x)) * 4096
			v := ((1-math.Log(math.Tan(math.Pi/4+q[1]*math.Pi/360))/math.Pi)/2*n - float64(y)) * 4096
			if u >= -64 && u <= 4160 && v >= -64 && v <= 4160 {
				want[f.ID] = spot{int32(math.Round(u)), int32(math.Round(v))}
			}
		}
		got := map[string]spot{}
		for _, d := range decode(t, draw(t, Builder{}, c, z, x, y, Options{}).Data, "places") {
			got[d.tags["id"].(string)] = d.parts[0][0]
		}
		if len(got) == 0 || len(got) != len(want) {
			t.Fatalf("%d/%d/%d: %d points, want %d", z, x, y, len(got), len(want))
		}
		for id, p := range got {
			if w := want[id]; max(p.x-w.x, w.x-p.x, p.y-w.y, w.y-p.y) > 1 {
				t.Fatalf("%d/%d/%d: %s at %v, want %v", z, x, y, id, p, w)
			}
		}
	}
}

// inTile returns how many features the clusters and points of a tile, not of
// its buffer, stand for.
func inTile(all []decoded) (clusters, sum int) {
	for _, d := range all {
		if p := d.parts[0][0]; p.x < 0 || p.y < 0 || p.x >= extent || p.y >= extent {
			continue
		}
		n := 1
		if d.tags["cluster"] == true {
			n = int(d.tags["point_count"].(int64))
			clusters++
		}
		sum += n
	}
	return clusters, sum
}

// TestClustersSum: the features in clusters and those drawn alone are as many
// as Count counts, with a filter and without; at each size.
func TestClustersSum(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	all := scattered(r, 3000, true)
	c := places(t, append(all, scattered(r, 3000, false)[2000:]...)...)
	for _, most := range []Builder{{MaxFeatures: 100}, {MaxFeatures: 1000, MaxBytes: 20000}, {MaxFeatures: 1000, MaxBytes: 3000}, {MaxBytes: 300}} {
		for z := range 5 {
			for range 3 {
				x, y := r.IntN(1<<z), r.IntN(1<<z)
				a, err := newArea(z, x, y)
				if err != nil {
					t.Fatal(err)
				}
				for _, filter := range []string{"", "properties.even"} {
					want, err := c.Count(t.Context(), store.Query{Filter: filter, Area: query.Box(
						a.longitude(0), a.latitude(extent), a.longitude(extent), a.latitude(0))})
					if err != nil {
						t.Fatal(err)
					}
					data := draw(t, most, c, z, x, y, Options{Filter: filter}).Data
					if most.MaxBytes > 0 && len(data) > most.MaxBytes {
						t.Fatalf("%d bytes, at most %d", len(data), most.MaxBytes)
					}
					clusters, sum := inTile(decode(t, data, "places"))
					// Points within half a unit of the border may be drawn on it.
					if sum < want-2 || sum > want+2 || want > 1000 && clusters == 0 {
						t.Errorf("%+v %d/%d/%d %q: %d features in %d clusters, want %d", most, z, x, y, filter, sum, clusters, want)
					}
				}
			}
		}
	}
}

// TestSameBytes: for any order of writes, and any writes before.
func TestSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	all := scattered(r, 700, true)
	for i := range 100 {
		x, y := r.Float64()*100, r.Float64()*60
		all = append(all, store.Feature{ID: fmt.Sprint(i), Geometry: orb.Polygon{square(x, y, x+10*r.Float64(), y+r.Float64())}})
	}
	one := places(t, all...)
	other := slices.Clone(all)
	r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	two := places(t, scattered(r, 300, true)...)
	put(t, two, other...)
	for _, b := range []Builder{{}, {MaxFeatures: 300}, {MaxFeatures: 30}, {MaxBytes: 3000}} {
		for _, filter := range []string{"", "id != 'p3'"} {
			for z := range 3 {
				x, y := r.IntN(1<<z), r.IntN(1<<z)
				o := Options{Filter: filter}
				a, b := draw(t, b, one, z, x, y, o), draw(t, b, two, z, x, y, o)
				if !bytes.Equal(a.Data, b.Data) {
					t.Errorf("%d/%d/%d differs", z, x, y)
				}
				if a.ETag == b.ETag || a.ETag == "" {
					t.Errorf("tags %s and %s", a.ETag, b.ETag)
				}
			}
		}
	}
}

// TestTooLarge: no property and no geometry makes a tile too large.
func TestTooLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	star := func(n int) orb.Ring {
		ring := make(orb.Ring, 0, n+1)
		for i := range n {
			a, d := 2*math.Pi*float64(i)/float64(n), 30+10*r.Float64()
			ring = append(ring, orb.Point{d * math.Cos(a), d * math.Sin(a)})
		}
		return append(ring, ring[0])
	}
	text := func(n int) []byte { return []byte(`{"x":"` + strings.Repeat("x", n) + `"}`) }
	c := places(t,
		store.Feature{ID: "star", Geometry: orb.LineString(star(150_000))},
		store.Feature{ID: "text", Geometry: orb.Point{60, 60}, Properties: text(MaxBytes)},
		store.Feature{ID: "other", Geometry: orb.Point{-60, 60}, Properties: text(MaxBytes / 2)})
	for _, x := range []struct {
		z, x, y int
		o       Options
	}{{0, 0, 0, Options{}}, {0, 0, 0, Options{NoProperties: true}}, {1, 1, 0, Options{}}, {2, 1, 1, Options{}}} {
		if n := len(draw(t, Builder{}, c, x.z, x.x, x.y, x.o).Data); n == 0 {
			t.Errorf("%d/%d/%d is empty", x.z, x.x, x.y)
		}
	}
}

// TestSample: a filter looks at a sample where there are too many features, the
// same one for the same state, and counts about as many as match. The tile says so.
func TestSample(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	const n, every = 20_000, 10
	all := make([]store.Feature, n)
	for i := range all {
		all[i] = store.Feature{ID: fmt.Sprint("p", i), Geometry: orb.Point{r.Float64()*360 - 180, r.Float64()*160 - 80}}
		if i%4 == 0 { // with separate boxes for each part
			p := all[i].Geometry.(orb.Point)
			all[i].Geometry = orb.MultiPoint{p, {-p[0], p[1]}, {p[0], -p[1]}}
		}
	}
	all = append(all, store.Feature{ID: "land", Geometry: orb.Polygon{square(10, 10, 80, 60)}},
		store.Feature{ID: "road", Geometry: orb.LineString{{-100, 10}, {-20, 10.2}}})
	c := places(t, all...)
	slices.Reverse(all)
	other := places(t, all...)
	boxes, few, err := boxesOf(c)
	if err != nil || !few {
		t.Fatal(boxes, err)
	}
	b := Builder{MaxFiltered: (boxes + every - 1) / every}
	o := Options{Filter: "id.endsWith('1') || !id.startsWith('p')"}
	tile := draw(t, b, c, 0, 0, 0, o)
	again := draw(t, b, other, 0, 0, 0, o)
	if tile.Sampled != every || again.Sampled != every || !bytes.Equal(tile.Data, again.Data) {
		t.Errorf("sampled %d and %d, equal %v", tile.Sampled, again.Sampled, bytes.Equal(tile.Data, again.Data))
	}
	count, shapes := int64(0), 0
	for _, d := range decode(t, tile.Data, "places") {
		if d.typ != typePoint {
			shapes++
			continue
		}
		if got := d.tags["point_count"].(int64); got%every == 0 && d.tags["sampled"] == int64(every) {
			count += got
			continue
		}
		t.Errorf("%v", d.tags)
	}
	if shapes != 2 || count < n/10*8/10 || count > n/10*12/10 {
		t.Errorf("%d shapes, %d counted, want about %d", shapes, count, n/10)
	}
	// Exact tiles do not say so.
	for _, exact := range []Tile{draw(t, b, c, 0, 0, 0, Options{}), draw(t, b, c, 4, 3, 5, o), draw(t, Builder{}, c, 0, 0, 0, o)} {
		if exact.Sampled != 0 {
			t.Errorf("sampled %d", exact.Sampled)
		}
		for _, d := range decode(t, exact.Data, "places") {
			if d.tags["sampled"] != nil {
				t.Errorf("%v", d.tags)
			}
		}
	}
}

func boxesOf(c *store.Collection) (n int, all bool, err error) {
	d, err := new(Builder).prepare(whole.OfOne(c), 0, 0, 0, Options{})
	if err != nil {
		return 0, false, err
	}
	return d.c.CountBoxes(context.Background(), d.q, math.MaxInt/2)
}

// TestSampleOfShapes: more large shapes than a tile draws are sampled, too.
func TestSampleOfShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	all := make([]store.Feature, 1000)
	for i := range all {
		x, y := r.Float64()*300-150, r.Float64()*120-60
		all[i] = store.Feature{ID: fmt.Sprint("p", i), Geometry: orb.LineString{{x, y}, {x + 20, y + 1}}}
	}
	c := places(t, all...)
	for most, want := range map[int]int{2000: 1000, 999: 100} {
		shapes := 0
		for _, d := range decode(t, draw(t, Builder{MaxFiltered: 100, MaxFeatures: most}, c, 0, 0, 0, Options{Filter: "id != ''"}).Data, "places") {
			if d.typ == typeLine {
				shapes++
			}
		}
		if shapes < want*7/10 || shapes > want*13/10 {
			t.Errorf("at most %d are drawn: %d shapes, want about %d", most, shapes, want)
		}
	}
}

// TestWide: wide features are drawn among clusters.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	c := places(t, scattered(r, 1000, true)...)
	put(t, c, store.Feature{ID: "land", Geometry: orb.Polygon{square(10, 10, 80, 60)}},
		store.Feature{ID: "road", Geometry: orb.LineString{{-100, 10}, {-20, 10.2}}})
	for _, filter := range []string{"", "id != ''"} {
		found := map[any]geomType{}
		for _, d := range decode(t, draw(t, Builder{MaxFeatures: 900}, c, 0, 0, 0, Options{Filter: filter}).Data, "places") {
			if d.typ != typePoint {
				found[d.tags["id"]] = d.typ
			}
		}
		if len(found) != 2 || found["land"] != typePolygon || found["road"] != typeLine {
			t.Errorf("%q: %v", filter, found)
		}
	}
}
