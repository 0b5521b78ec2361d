package api

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"google.golang.org/protobuf/proto"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
)

func found(t testing.TB, g orb.Geometry, properties string) store.Found {
	t.Helper()
	b, err := feature.Append(nil, g, []byte(properties))
	if err != nil {
		t.Fatal(err)
	}
	v, err := feature.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return store.Found{ID: []byte("an id"), View: v, Value: b, Revision: 7}
}

var shapes = []orb.Geometry{
	nil,
	orb.Point{1.5, -2},
	orb.LineString{{0, 0}, {1, 1}, {2, 0}},
	orb.Polygon{{{0, 0}, {9, 0}, {9, 9}, {0, 0}}, {{5, 1}, {6, 1}, {6, 2}, {5, 1}}},
	orb.MultiPoint{{1, 2}, {3, 4}},
	orb.MultiLineString{{{0, 0}, {1, 1}}, {{2, 2}, {3, 3}}},
	orb.MultiPolygon{{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}, {{{5, 5}, {6, 5}, {6, 6}, {5, 5}}}},
	orb.Collection{orb.Point{1, 2}, orb.LineString{{0, 0}, {1, 1}}},
}

// TestWireForm compares the hand-written encoding with that of generated code
// for the same feature.
func TestWireForm(t *testing.T) {
	var long strings.Builder
	for long.Len() < 20_000 {
		long.WriteString("0123456789")
	}
	for _, g := range shapes {
		for _, properties := range []string{"", "{}", `{"a":1,"b":"x","c":{"a":null}}`, `{"b":"` + long.String() + `","a":2}`, "{\"a\":\"\xff\xfe\"}"} {
			for _, f := range []func(*store.Found){
				func(*store.Found) {},
				func(f *store.Found) { f.Distance = 12.5 },
				func(f *store.Found) { f.Expiry = 1500 * time.Millisecond },
				func(f *store.Found) { f.Expiry = 40 * 365 * 24 * time.Hour },
				func(f *store.Found) { f.Revision, f.Distance = math.MaxUint64, math.Inf(1) },
			} {
				for format := range catfishv1.GeometryFormat_name {
					for _, s := range []*catfishv1.Selection{{}, {NoProperties: true}, {Fields: []string{"a", "c"}}} {
						s.GeometryFormat = catfishv1.GeometryFormat(format)
						sel, err := selectionOf(s)
						if err != nil {
							t.Fatal(err)
						}
						one := found(t, g, properties)
						f(&one)
						b, err := sel.appendFeature([]byte("before"), &one)
						if err != nil {
							t.Fatal(err)
						}
						want, err := sel.featureToProto(&one)
						if err != nil {
							t.Fatal(err)
						}
						var got catfishv1.Feature
						if err := proto.Unmarshal(b[len("before"):], &got); err != nil {
							t.Fatal(err)
						}
						if !proto.Equal(&got, want) {
							t.Fatalf("got %v\nwant %v", &got, want)
						}
					}
				}
			}
		}
	}
}

// TestFieldsAndFormats checks which fields a selection keeps, in each format.
func TestFieldsAndFormats(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	rev := c.put(t, pbPoint("a", 1, 2, `{"name":"A","seats":3,"open":true}`))
	text, bytes := pointText(1, 2), wkb.MustMarshal(orb.Point{1, 2})
	for _, tc := range []struct {
		sel  *catfishv1.Selection
		want *catfishv1.Feature
	}{
		{nil, &catfishv1.Feature{Geometry: geojson(text), Properties: `{"name":"A","seats":3,"open":true}`}},
		{&catfishv1.Selection{Fields: []string{"open", "none", "name"}}, &catfishv1.Feature{Geometry: geojson(text), Properties: `{"name":"A","open":true}`}},
		{&catfishv1.Selection{GeometryFormat: catfishv1.GeometryFormat_GEOMETRY_FORMAT_WKB, NoProperties: true}, &catfishv1.Feature{Geometry: &catfishv1.Feature_Wkb{Wkb: bytes}}},
		{&catfishv1.Selection{GeometryFormat: catfishv1.GeometryFormat_GEOMETRY_FORMAT_NONE, NoProperties: true}, &catfishv1.Feature{}},
	} {
		tc.want.Id, tc.want.Revision = "a", rev
		got, err := c.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: "a", Selection: tc.sel})
		if err != nil || !proto.Equal(got.GetFeature(), tc.want) {
			t.Errorf("%v: got %v, %v, want %v", tc.sel, got, err, tc.want)
		}
		p, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Selection: tc.sel})
		if err != nil || len(p.features) != 1 || !proto.Equal(p.features[0], tc.want) {
			t.Errorf("%v: found %v, %v, want %v", tc.sel, p.features, err, tc.want)
		}
	}
}

// TestAppendFeatureAllocatesNothing but what the buffer lacks.
func TestAppendFeatureAllocatesNothing(t *testing.T) {
	sel := selection{format: catfishv1.GeometryFormat_GEOMETRY_FORMAT_GEOJSON}
	f := found(t, shapes[3], `{"a":1,"b":"x"}`)
	f.Expiry, f.Distance = time.Hour, 3
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := sel.appendFeature(buf, &f); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWKBAgainstOrb(t *testing.T) {
	for _, g := range shapes[1:] {
		b := wkb.MustMarshal(g)
		got, err := decodeWKB(b)
		if err != nil || !orb.Equal(got, g) {
			t.Errorf("%v: got %v, %v", g, got, err)
		}
		for n := range len(b) { // A prefix of any length is refused.
			if g, err := decodeWKB(b[:n]); err == nil {
				t.Errorf("%d of %d bytes: %v", n, len(b), g)
			}
		}
	}
	big := []byte{0, 0, 0, 0, 1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0}
	if g, err := decodeWKB(big); err != nil || g != (orb.Point{1, 2}) {
		t.Errorf("big-endian: %v, %v", g, err)
	}
	// Each is the last element of the one before, deeper than the reader allows.
	var deep []byte
	for range feature.MaxDepth + 1 {
		deep = append(deep, 1, 7, 0, 0, 0, 1, 0, 0, 0)
	}
	deep = append(deep, wkb.MustMarshal(orb.Point{1, 2})...)
	if _, err := decodeWKB(deep); err == nil {
		t.Error("too deep, and accepted")
	}
	if _, err := decodeWKB(deep[9:]); err != nil {
		t.Errorf("as deep as allowed: %v", err)
	}
}

func FuzzWKB(f *testing.F) {
	for _, g := range shapes[1:] {
		f.Add(wkb.MustMarshal(g))
	}
	rng := rand.New(rand.NewPCG(3, 4))
	f.Add([]byte{1, 7, 0, 0, 0, byte(rng.Uint32()), 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := decodeWKB(b)
		if err != nil || g == nil {
			return
		}
		n, err := feature.Normalise(g, feature.Options{})
		if err != nil {
			return
		}
		if _, err := feature.Append(nil, n, nil); err != nil {
			t.Fatalf("normal, but not stored: %v", err)
		}
	})
}
