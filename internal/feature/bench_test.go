package feature

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/paulmach/orb"
	"github.com/tidwall/rtree"
)

// A point feature of 300 bytes, as programs write them.
const cafe = `{"type":"Feature","id":"node/1234567890","geometry":{"type":"Point",` +
	`"coordinates":[1.5218376,42.5075314]},"properties":{"name":"Cafè de la Plaça",` +
	`"amenity":"cafe","cuisine":"coffee_shop","opening_hours":"Mo-Fr 08:00-19:00",` +
	`"wheelchair":"yes","seats":24,"outdoor_seating":true,"phone":"+376 800 000"}}`

func BenchmarkDecode(b *testing.B) {
	b.SetBytes(int64(len(cafe)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode([]byte(cafe), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	f, err := Decode([]byte(cafe), Options{})
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	for b.Loop() {
		if buf, err = Append(buf[:0], f.Geometry, f.Properties); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, bytes := range map[string][]byte{
		"shape=point":       mustAppend(b, orb.Point{1, 2}),
		"shape=ring1000":    mustAppend(b, star(rand.New(rand.NewPCG(1, 1)), 1000, 0, 0, 1)),
		"shape=rectangle":   mustAppend(b, rect(0, 0, 1, 1)),
		"shape=multi100x10": mustAppend(b, islands(100, 10)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse(bytes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	v := stored(b, orb.Point{1.5218376, 42.5075314}, []byte(`{"name":"Cafe","seats":24}`))
	var buf []byte
	for b.Loop() {
		buf = v.AppendGeoJSON(buf[:0], "node/1234567890")
	}
}

// BenchmarkPointInPolygon: which countries and provinces contain a random point
// of the globe, by a tree of all boxes and then exactly. With CATFISH_COUNTRIES
// set it takes that file instead of the test data.
func BenchmarkPointInPolygon(b *testing.B) {
	file := os.Getenv("CATFISH_COUNTRIES")
	if file == "" {
		file = "testdata/countries.geojson"
	}
	all := countries(b, file)
	var tree rtree.RTreeG[int]
	var boxes []Box
	for i := range all {
		boxes = all[i].view.Boxes(boxes[:0])
		for _, x := range boxes {
			tree.Insert([2]float64{x.MinX, x.MinY}, [2]float64{x.MaxX, x.MaxY}, i)
		}
	}
	for _, where := range []string{"globe", "land"} {
		r := rand.New(rand.NewPCG(1, 2))
		var at []orb.Point
		for len(at) < 1<<14 {
			p := orb.Point{r.Float64()*360 - 180, r.Float64()*180 - 90}
			in := where == "globe"
			for i := 0; i < len(all) && !in; i++ {
				in = all[i].view.locate(p[0], p[1]) >= 0
			}
			if in {
				at = append(at, p)
			}
		}
		b.Run("points="+where, func(b *testing.B) {
			found, n := 0, 0
			var x, y float64
			visit := func(_, _ [2]float64, i int) bool {
				if all[i].view.hasPoint(x, y) {
					found++
				}
				return true
			}
			for b.Loop() {
				x, y = at[n%len(at)][0], at[n%len(at)][1]
				n++
				tree.Search([2]float64{x, y}, [2]float64{x, y}, visit)
			}
			b.ReportMetric(float64(found)/float64(n), "found/op")
		})
	}
}

func BenchmarkDistance(b *testing.B) {
	o, err := NewOrigin(Geographic, orb.Point{3, 47})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for name, g := range map[string]orb.Geometry{
		"shape=point":    orb.Point{4, 48},
		"shape=edge":     orb.LineString{{4, 48}, {4.1, 48.1}},
		"shape=longedge": orb.LineString{{-170, 48}, {170, 10}},
		"shape=ring1000": star(r, 1000, 10, 47, 3),
	} {
		v := stored(b, g, nil)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if o.Distance(&v) == 0 {
					b.Fatal("0")
				}
			}
		})
	}
}

// BenchmarkWithin: neighbours touch and need the library, others do not.
func BenchmarkWithin(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	big := star(r, 300, 0, 0, 10)
	for name, g := range map[string]orb.Geometry{
		"pair=inside":   star(r, 100, 0, 0, 1),
		"pair=across":   star(r, 100, 0, 0, 9.5),
		"pair=touching": big,
	} {
		q, err := NewPolygon(Planar, big, Within)
		if err != nil {
			b.Fatal(err)
		}
		v := stored(b, g, nil)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := q.Match(&v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func mustAppend(b *testing.B, g orb.Geometry) []byte {
	b.Helper()
	bytes, err := Append(nil, g, nil)
	if err != nil {
		b.Fatal(fmt.Errorf("%T: %w", g, err))
	}
	return bytes
}

func islands(n, vertices int) orb.MultiPolygon {
	r := rand.New(rand.NewPCG(2, 2))
	var m orb.MultiPolygon
	for i := range n {
		m = append(m, star(r, vertices, float64(i%10)*3, float64(i/10)*3, 1))
	}
	return m
}
