package datasets

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// decode runs a reader over data and checks what holds for any input: no
// panic; every item valid; an error is a ReadError of a known kind that
// counts the items correctly; a second pass gives the same result.
func decode(t *testing.T, read func(p *pass) error) []rstar.Item {
	t.Helper()
	s := &Source{name: "fuzz", count: Unknown, pass: read}
	items, err := Collect(s)
	for _, it := range items {
		if err := it.Rect.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		var at *ReadError
		if !errors.As(err, &at) || at.Delivered != int64(len(items)) {
			t.Fatalf("%d items, %v", len(items), err)
		}
		known := false
		for _, kind := range []error{ErrTruncated, ErrSyntax, ErrUnsupported, rstar.ErrBadRect} {
			known = known || errors.Is(err, kind)
		}
		if !known {
			t.Fatalf("an error of no kind: %v", err)
		}
	}
	again, errAgain := Collect(s)
	if len(again) != len(items) || (err == nil) != (errAgain == nil) {
		t.Fatalf("%d items, %v; again %d, %v", len(items), err, len(again), errAgain)
	}
	return items
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("id,minx,miny,maxx,maxy\n1,0,0,1,1\n2,NaN,0,1,1\n"))
	f.Add([]byte("\ufeffid,x,y\r\n18446744073709551615,-1e308,0x1p-3"))
	f.Add([]byte("id,x,y\n,,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		decode(t, func(p *pass) error { return readCSV(p, bytes.NewReader(data)) })
	})
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(strings.Repeat("\x00\x00\x00\x00\x00\x00\xf0\x3f", 9)))
	f.Add([]byte(strings.Repeat("\x3f\xf0\x00\x00\x00\x00\x00\x00", 8)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, l := range []recordLayout{littleEndian, bigEndian} {
			items := decode(t, func(p *pass) error { return l.read(p, bytes.NewReader(data)) })
			for i, it := range items { // what was decoded encodes to the same bytes
				if got := l.append(nil, it); !bytes.Equal(got, data[i*recordBytes:][:recordBytes]) {
					t.Fatalf("record %d encodes to %x", i, got)
				}
			}
		}
		if format, err := detect("", data); err != nil && !errors.Is(err, ErrFormat) {
			t.Fatal(format, err)
		}
	})
}

func FuzzGeoJSON(f *testing.F) {
	f.Add([]byte(`{"type":"FeatureCollection","features":[{"type":"Feature","id":3,` +
		`"geometry":{"type":"Point","coordinates":[1,2]},"properties":null}]}`))
	f.Add([]byte("\x1e" + `{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}` +
		"\n\x1e" + `{"type":"Feature","properties":{"id":"a"},"geometry":null}`))
	f.Add([]byte(`{"type":"GeometryCollection","geometries":[{"type":"LineString",` +
		`"coordinates":[[0,-1.5e3,7],[1,2]]},null]}`))
	for _, c := range []string{"[[0,null]],[]", "[1,2]", "[1,2],[3,4,5]", "", "[]", "7", "[[[[1]]]]",
		"[null,1]", `"]",1`, "[{},1]"} {
		f.Add([]byte(`{"type":"Polygon","coordinates":[` + c + `]}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		decode(t, func(p *pass) error { return readGeoJSON(p, bytes.NewReader(data), nil) })
	})
}

func FuzzRoad(f *testing.F) {
	f.Add([]byte("NodeID x y\n0 1 2\n1 3 4\n"), []byte("0 0 1 2.8\n"))
	f.Add([]byte("0 nan 2\n"), []byte("x"))
	f.Fuzz(func(t *testing.T, nodes, edges []byte) {
		decode(t, func(p *pass) error {
			return readRoad(p, bytes.NewReader(nodes), bytes.NewReader(edges), "n", "e")
		})
	})
}

// smallPBF is a hand-made file: two nodes, a dense pair, a way of all four.
// Blobs are not compressed, so that a fuzzer can reach their content.
func smallPBF() []byte {
	return []byte(frame("OSMHeader", message(4, "OsmSchema-V0.6", 4, "DenseNodes")) +
		frame("OSMData", smallBlock()))
}

func smallBlock() string {
	table := message(1, "", 1, "highway", 1, "track")
	node := func(id, lat, lon int64) string {
		return message(1, zigzag(id), 8, zigzag(lat), 9, zigzag(lon))
	}
	dense := message(1, packed(30, 10), 8, packed(425_000_000, 1000), 9, packed(15_000_000, 1000),
		10, "\x00\x01\x02\x00")
	way := message(1, 77, 2, "\x01", 3, "\x02", 8, packed(10, 10, 10, 10))
	group := message(1, node(10, 424_000_000, 14_000_000), 1, node(20, 424_500_000, 14_500_000),
		2, dense, 3, way)
	return message(1, table, 2, group)
}

func FuzzPBF(f *testing.F) {
	f.Add(smallPBF())
	real, err := os.ReadFile("testdata/andorra.osm.pbf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(real[:40_000]) // header and the start of a packed block
	f.Add([]byte(frame("OSMHeader", message(4, "LocationsOnMars"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, mode := range []OSMMode{WaySegments, WayBoxes, TaggedNodes} {
			decode(t, func(p *pass) error {
				return readOSM(p, bytes.NewReader(data), mode, false)
			})
		}
	})
}

// FuzzOSMBlock starts inside the frame, where most of the rules apply.
func FuzzOSMBlock(f *testing.F) {
	f.Add([]byte(smallBlock()))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := []byte(frame("OSMHeader", "") + frame("OSMData", string(data)))
		decode(t, func(p *pass) error {
			return readOSM(p, bytes.NewReader(file), WayBoxes, false)
		})
	})
}
