package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// write puts content into a file of that name and returns its path.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, spec string, opts Options) *Source {
	t.Helper()
	s, err := Open(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func collect(t testing.TB, s *Source) []rstar.Item {
	t.Helper()
	items, err := Collect(s)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Count(); n != Unknown && n != int64(len(items)) {
		t.Fatalf("%s: %d items, Count said %d", s.Name(), len(items), n)
	}
	if done, total, unit := s.Progress(); done != total {
		t.Errorf("%s: progress ends at %d of %d %s", s.Name(), done, total, unit)
	}
	return items
}

func rect(minX, minY, maxX, maxY float64) rstar.Rect {
	return rstar.Rect{MinX: minX, MinY: minY, MaxX: maxX, MaxY: maxY}
}

// The counts are those published with the data.
func TestRealData(t *testing.T) {
	for _, c := range []struct {
		spec  string
		opts  Options
		count int
		in    rstar.Rect // where the data must lie
		at    rstar.Rect // must be hit, which shows that the axes are not swapped
	}{
		{"california", Options{}, 21_693, rect(-124.5, 32.5, -114, 42.1), rect(-119, 35, -118, 36)},
		{"testdata/cal.cedge", Options{}, 21_693, rect(-124.5, 32.5, -114, 42.1), rect(-119, 35, -118, 36)},
		{"testdata/cal.cnode", Options{}, 21_693, rect(-124.5, 32.5, -114, 42.1), rect(-119, 35, -118, 36)},
		{"testdata/andorra.osm.pbf", Options{}, 378_877, rect(0.9, 42, 2.2, 43), rect(1.5, 42.5, 1.6, 42.6)},
		{"testdata/andorra.osm.pbf", Options{HighwaysOnly: true}, 130_698, rect(0.9, 42, 2.2, 43), rect(1.5, 42.5, 1.6, 42.6)},
		{"testdata/andorra.osm.pbf", Options{OSM: WayBoxes}, 18_195, rect(0.9, 42, 2.2, 43), rect(1.5, 42.5, 1.6, 42.6)},
		{"testdata/andorra.osm.pbf", Options{OSM: TaggedNodes}, 11_257, rect(0.9, 42, 2.2, 43), rect(1.5, 42.5, 1.6, 42.6)},
		{"testdata/countries.geojson", Options{}, 13, rect(-180, -90, 180, 90), rect(1.5, 42.5, 1.6, 42.6)},
	} {
		t.Run(fmt.Sprintf("%s/%s/%v", c.spec, c.opts.OSM, c.opts.HighwaysOnly), func(t *testing.T) {
			s := open(t, c.spec, c.opts)
			items := collect(t, s)
			if len(items) != c.count {
				t.Errorf("%d items, want %d", len(items), c.count)
			}
			met := 0
			for _, it := range items {
				if !c.in.Contains(it.Rect) {
					t.Fatalf("%v outside %v", it, c.in)
				}
				if c.at.Intersects(it.Rect) {
					met++
				}
			}
			if met == 0 {
				t.Errorf("nothing within %v", c.at)
			}
			if s.Skipped() != 0 {
				t.Errorf("%d skipped", s.Skipped())
			}
		})
	}
}

func TestCaliforniaNodes(t *testing.T) {
	f, err := os.Open("testdata/cal.cnode")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	err = roadLines(f, 3, func([][]byte) error { n++; return nil })
	if err != nil || n != 21_048 {
		t.Errorf("%d nodes, %v; want 21048", n, err)
	}
	first := collect(t, California())[0]
	// Edge 0 runs from node 0 to node 1, the first lines of cal.cnode.
	want := rstar.Item{Rect: rect(-121.904167, 41.974556, -121.902153, 41.974766)}
	if first != want {
		t.Errorf("edge 0 is %v, want %v", first, want)
	}
}

func TestCountryLabels(t *testing.T) {
	names := map[string]uint64{}
	s := open(t, "testdata/countries.geojson", Options{
		Label: func(id uint64, name string) { names[name] = id },
	})
	items := collect(t, s)
	andorra := rect(1.3, 42.3, 1.9, 42.8)
	id, ok := names["AD"]
	if len(names) != len(items) || !ok || !andorra.Contains(items[id].Rect) {
		t.Errorf("%d names for %d items; AD is %d, %v", len(names), len(items), id, items[id])
	}
}

// All writable formats return what was written, detected by content where it is
// binary.
func TestRoundTrip(t *testing.T) {
	edge := []rstar.Item{
		{Rect: rect(-math.MaxFloat64, -1, 0, math.SmallestNonzeroFloat64)},
		{Rect: rect(0.1, 1.0/3, math.MaxFloat64, 1e300), ID: 1},
	}
	for _, src := range []*Source{
		Uniform(1000, 1), Rea02Like(1, 1), California(), FromItems("edge", edge),
	} {
		want := collect(t, src)
		for _, f := range []Format{CSV, Rea02, Rec} {
			var b bytes.Buffer
			n, err := Write(&b, f, src)
			if err != nil || n != int64(len(want)) {
				t.Fatalf("%s to %s: %d, %v", src.Name(), f, n, err)
			}
			spec := write(t, "data", b.String())
			if src.Name() == "edge" {
				spec = string(f) + ":" + spec // magnitudes beyond detection
			}
			s := open(t, spec, Options{})
			if s.Format() != f {
				t.Errorf("%s in %s is taken for %s", src.Name(), f, s.Format())
			}
			got := collect(t, s)
			for i := range want {
				id := want[i].ID
				if f != CSV {
					id = uint64(i)
				}
				if got[i].Rect != want[i].Rect || got[i].ID != id {
					t.Fatalf("%s in %s: item %d is %v, want %v", src.Name(), f, i, got[i], want[i])
				}
			}
		}
	}
}

// The layouts, as bytes written by hand.
func TestRecordLayout(t *testing.T) {
	little := "\x00\x00\x00\x00\x00\x00\xf0\x3f" + // 1
		"\x00\x00\x00\x00\x00\x00\x00\x40" + // 2
		"\x00\x00\x00\x00\x00\x00\x08\x40" + // 3
		"\x00\x00\x00\x00\x00\x00\x10\x40" // 4
	big := "\x3f\xf0\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00" +
		"\x40\x08\x00\x00\x00\x00\x00\x00\x40\x10\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct {
		content string
		format  Format
		want    rstar.Rect
	}{{little, Rea02, rect(1, 3, 2, 4)}, {big, Rec, rect(1, 2, 3, 4)}} {
		s := open(t, write(t, "one", c.content), Options{})
		if got := collect(t, s); s.Format() != c.format || got[0].Rect != c.want {
			t.Errorf("%s: %v, want %s: %v", s.Format(), got, c.format, c.want)
		}
	}
}

func TestText(t *testing.T) {
	unit := []rstar.Item{{Rect: rect(0, 1, 2, 3), ID: 7}, {Rect: rect(4, 5, 4, 5), ID: 9}}
	const first = `{"type":"Feature","id":7,"geometry":{"type":"LineString","coordinates":[[2,1],[0,3,99]]}}`
	const second = `{"properties":{"id":9},"geometry":{"coordinates":[4,5],"type":"Point"},"type":"Feature"}`
	for _, c := range []struct {
		name, content string
		want          []rstar.Item
	}{
		{"a.csv", "id,minx,miny,maxx,maxy\n7,0,1,2,3\n9,4,5,4,5\n", unit},
		{"windows.csv", "\ufeffID, MinX, MinY, MaxX, MaxY\r\n7, 0, 1, 2, 3\r\n\r\n9,4,5,4,5", unit},
		{"points.csv", "id,x,y\n9,4,5\n", unit[1:]},
		{"none.csv", "id,minx,miny,maxx,maxy", nil},
		{"unnamed", "id,x,y\n9,4,5\n", unit[1:]},
		{"a.geojson", `{"type":"FeatureCollection","features":[` + first + `,` + second + `]}`, unit},
		{"late.json", `{"name":{"a":[]},"features":[` + first + `,` + second + `],"type":"FeatureCollection"}`, unit},
		{"seq.geojsons", "\x1e" + first + "\n\x1e" + second + "\n", unit},
		{"lines.ndjson", "\ufeff" + first + "\n" + second, unit},
		{"unnamed2", "\x1e" + first + "\n\x1e" + second + "\n", unit},
		{"empty.geojson", `{"type":"FeatureCollection","features":[]}`, nil},
		{"place.geojson", `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]],[[-1,0],[0,0],[0,2],[-1,0]]],"crs":["x"]}`,
			[]rstar.Item{{Rect: rect(-1, 0, 1, 2)}}},
		{"collection.geojson", `{"type":"GeometryCollection","geometries":[` +
			`{"type":"GeometryCollection","geometries":[]},` +
			`{"type":"MultiPoint","coordinates":[[5,5],[6,6]]},` +
			`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]},` +
			`{"type":"MultiLineString","coordinates":[[[0,0],[1,-4]]]}]}`,
			[]rstar.Item{{Rect: rect(0, -4, 6, 6)}}},
		{"loose.geojson", `{"type":"Feature","properties":{"name":"` + "\xe9" + `"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,2]]]}}` +
			`{"type":"LineString","coordinates":[[3,4]],"crs":{"properties":{"name":"EPSG:3857"}}}`,
			[]rstar.Item{{Rect: rect(0, 0, 1, 2)}, {Rect: rect(3, 4, 3, 4), ID: 1}}},
		{"big.geojson", `{"type":"Feature","id":18446744073709551615,"geometry":{"type":"Point","coordinates":[1,2]}}`,
			[]rstar.Item{{Rect: rect(1, 2, 1, 2), ID: math.MaxUint64}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := collect(t, open(t, write(t, c.name, c.content), Options{}))
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// The content determines the format where the name does not.
func TestDetection(t *testing.T) {
	pbf, err := os.ReadFile("testdata/andorra.osm.pbf")
	if err != nil {
		t.Fatal(err)
	}
	if s := open(t, write(t, "andorra", string(pbf)), Options{}); s.Format() != OSM {
		t.Errorf("a PBF file is taken for %q", s.Format())
	}
	_, err = Open(write(t, "cal", "NodeID Longitude Latitude\n"), Options{})
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "NAME.cnode") {
		t.Errorf("half a road network: %v", err)
	}
	// A prefix wins over the name; a colon in a name is no prefix.
	path := write(t, "points.json", "id,x,y\n9,4,5\n")
	if s := open(t, "csv:"+path, Options{}); s.Format() != CSV || s.Name() != path {
		t.Errorf("csv:%s is %q, %s", path, s.Format(), s.Name())
	}
	t.Chdir(filepath.Dir(path))
	if err := os.WriteFile("a:b.csv", []byte("id,x,y\n9,4,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, open(t, "a:b.csv", Options{})); len(got) != 1 {
		t.Errorf("a:b.csv: %v", got)
	}
	if _, err := ParseFormat("shape"); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

func TestNumberedFeatures(t *testing.T) {
	path := write(t, "a.geojson", `{"type":"FeatureCollection","features":[
		{"type":"Feature","id":"left","geometry":{"type":"Point","coordinates":[1,1]}},
		{"type":"Feature","id":"nowhere","geometry":null},
		{"type":"Feature","geometry":{"type":"Point","coordinates":[2,2]}},
		{"type":"Feature","properties":{"id":"right"},"geometry":{"type":"Point","coordinates":[3,3]}}]}`)
	labels := map[uint64]string{}
	s := open(t, path, Options{Label: func(id uint64, name string) { labels[id] = name }})
	items := collect(t, s)
	if len(items) != 3 || items[2].ID != 2 || s.Skipped() != 1 {
		t.Errorf("%v, %d skipped", items, s.Skipped())
	}
	if want := map[uint64]string{0: "left", 2: "right"}; fmt.Sprint(labels) != fmt.Sprint(want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
}

// Each bad input gives an error of its kind with the value and the position,
// after the items before it.
func TestBadInput(t *testing.T) {
	good := func(n int) string { // records of rea02
		var b bytes.Buffer
		if _, err := Write(&b, Rea02, Uniform(int64(n), 1)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const head = "id,minx,miny,maxx,maxy\n1,0,0,1,1\n"
	const point = `{"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[1,2]}}`
	geometry := func(s string) string { return `{"type":"Feature","id":2,"geometry":` + s + `}` }
	line := func(coordinates string) string {
		return geometry(`{"type":"LineString","coordinates":` + coordinates + `}`)
	}
	pbf, err := os.ReadFile("testdata/andorra.osm.pbf")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		kind          error
		delivered     int
		says          []string
	}{
		{"nan.csv", head + "2,NaN,0,1,1\n", rstar.ErrBadRect, 1, []string{"line 3", "minx", "NaN", "1 items"}},
		{"inf.csv", head + "2,0,0,1,+Inf\n", rstar.ErrBadRect, 1, []string{"line 3", "maxy", "Inf"}},
		{"range.csv", head + "2,0,0,1,1e999\n", rstar.ErrBadRect, 1, []string{"line 3", "1e999"}},
		{"order.csv", head + "\n2,0,5,1,4\n", rstar.ErrBadRect, 1, []string{"line 4", "miny 5", "maxy 4"}},
		{"few.csv", head + "2,0,0,1\n", ErrSyntax, 1, []string{"line 3", "4 fields", "want 5"}},
		{"many.csv", head + "2,0,0,1,1,1\n", ErrSyntax, 1, []string{"line 3", "6 fields"}},
		{"word.csv", head + "2,0,zero,1,1\n", ErrSyntax, 1, []string{"line 3", `"zero"`}},
		{"id.csv", head + "-2,0,0,1,1\n", ErrSyntax, 1, []string{"line 3", `"-2"`, "0 to 2^64-1"}},
		{"long.csv", head + strings.Repeat("1", 5000), ErrSyntax, 1, []string{"line 3", "4096"}},
		{"header.csv", "a,b,c\n", ErrSyntax, 0, []string{"line 1", "a,b,c", "id,minx,miny,maxx,maxy"}},
		{"empty.csv", "", ErrSyntax, 0, []string{"line 1"}},

		{"nan.rec", good(5) + "\x00\x00\x00\x00\x00\x00\xf8\x7f" + strings.Repeat("\x00", 24),
			rstar.ErrBadRect, 5, []string{"offset 160", "minx", "NaN", "5 items"}},

		{"empty.geojson", " ", ErrTruncated, 0, nil},
		{"cut.geojson", point + `{"type":"Feature","geom`, ErrTruncated, 1, []string{"offset"}},
		{"cut2.geojson", `{"type":"FeatureCollection","features":[` + point, ErrTruncated, 1, nil},
		{"cut3.geojson", `{"type":"FeatureCollection","features":[` + point + `,{"type"`, ErrTruncated, 1, nil},
		{"comma.geojson", point + `{"type" "Feature"}`, ErrSyntax, 1, []string{"offset 82", `":"`}},
		{"array.geojson", `[1,2]`, ErrSyntax, 0, []string{`"{" should be`}},
		{"type.geojson", `{"type":"Topology"}`, ErrUnsupported, 0, []string{"TopoJSON"}},
		{"notype.geojson", `{"id":1}`, ErrSyntax, 0, []string{"without a type"}},
		{"features.geojson", `{"type":"FeatureCollection"}`, ErrSyntax, 0, []string{"features"}},
		{"features2.geojson", `{"type":"Feature","features":[]}`, ErrSyntax, 0, []string{"features"}},
		{"features3.geojson", `{"type":"FeatureCollection","features":[{"type":"Point"}]}`, ErrSyntax, 0, []string{`"Point"`}},
		{"features4.geojson", `{"features":7}`, ErrSyntax, 0, []string{"without a type"}},
		{"one.geojson", point + line(`[[1]]`), ErrSyntax, 1, []string{"1 coordinates", "2 or more", "1 items", fmt.Sprint("offset ", len(point))}},
		{"third.geojson", `{"type":"FeatureCollection","features":[` + point + "," + line(`[[1]]`) + "]}", ErrSyntax, 1,
			[]string{fmt.Sprint("offset ", 41+len(point))}},
		{"none.geojson", point + line(`[[]]`), ErrSyntax, 1, []string{"0 coordinates"}},
		{"void.geojson", point + line(`[]`), ErrSyntax, 1, nil},
		{"null.geojson", point + line(`[[null,1]]`), ErrSyntax, 1, []string{"null"}},
		{"nullall.geojson", point + line(`null`), ErrSyntax, 1, []string{"null"}},
		{"text.geojson", point + line(`[["1",2]]`), ErrSyntax, 1, []string{"want a finite number"}},
		{"nan.geojson", point + line(`[[NaN,2]]`), ErrSyntax, 1, []string{"invalid character 'N'"}},
		{"range.geojson", point + line(`[[1e999,2]]`), ErrSyntax, 1, []string{"1e999", "want a finite number"}},
		{"flat.geojson", point + line(`[1,2]`), ErrSyntax, 1, nil},
		{"deep.geojson", point + line(`[[[1,2]]]`), ErrSyntax, 1, nil},
		{"deeper.geojson", point + line(strings.Repeat("[", 5)+strings.Repeat("]", 5)), ErrSyntax, 1, []string{"want a finite number"}},
		{"mixed.geojson", point + line(`[[1,2],3]`), ErrSyntax, 1, nil},
		{"absent.geojson", point + geometry(`{"type":"Point"}`), ErrSyntax, 1, []string{"without coordinates"}},
		{"hollow.geojson", point + geometry(`{"type":"GeometryCollection","geometries":[]}`), ErrSyntax, 1, nil},
		{"circle.geojson", point + geometry(`{"type":"Circle","coordinates":[1,2]}`), ErrSyntax, 1, []string{"Circle"}},
		{"nest.geojson", point + geometry(strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 50)+
			strings.Repeat(`]}`, 50)), ErrUnsupported, 1, []string{"deeper than 8"}},
		{"half.geojson", point + `{"type":"Feature","id":1.5,"geometry":{"type":"Point","coordinates":[1,2]}}`,
			ErrSyntax, 1, []string{"1.5"}},
		{"some.geojson", point + `{"type":"Feature","id":"x","geometry":{"type":"Point","coordinates":[1,2]}}`,
			ErrSyntax, 1, []string{`\"x\"`, "all or none"}},

		{"cut.pbf", string(pbf[:len(pbf)-7]), ErrTruncated, -1, []string{"offset"}},
		{"size.pbf", string(pbf) + "\x00\x00", ErrTruncated, 378_877, []string{fmt.Sprint("offset ", len(pbf))}},
		{"frame.pbf", string(pbf) + "\x00\x00\x00\x0d", ErrTruncated, 378_877, []string{"blob header"}},
		{"empty.pbf", "", ErrTruncated, 0, []string{"OSMHeader"}},
		{"huge.pbf", "\xff\xff\xff\xff", ErrSyntax, 0, []string{"4294967295", "65535"}},
		{"noise.pbf", strings.Repeat("\x00\x00\x00\x02\xff\xff", 9), ErrSyntax, 0, []string{"offset 0"}},
		{"twice.pbf", string(pbf) + string(pbf), ErrSyntax, 378_877, []string{"OSMHeader", "want OSMData"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, write(t, c.name, c.content), Options{})
			items, err := Collect(s)
			var at *ReadError
			if !errors.Is(err, c.kind) || !errors.As(err, &at) {
				t.Fatalf("%v, want a ReadError of kind %v", err, c.kind)
			}
			if at.Delivered != int64(len(items)) || c.delivered >= 0 && len(items) != c.delivered {
				t.Errorf("%d items, error says %d, want %d", len(items), at.Delivered, c.delivered)
			}
			if !strings.HasPrefix(err.Error(), "datasets: ") {
				t.Errorf("%v\ndoes not begin with the place", err)
			}
			for _, text := range append(c.says, c.name) {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v\ndoes not say %s", err, text)
				}
			}
		})
	}
}

// zlib's checksum detects a flipped byte in the compressed data.
func TestDamagedBlob(t *testing.T) {
	pbf, err := os.ReadFile("testdata/andorra.osm.pbf")
	if err != nil {
		t.Fatal(err)
	}
	pbf[len(pbf)/2] ^= 0x10
	items, err := Collect(open(t, write(t, "bad.pbf", string(pbf)), Options{OSM: TaggedNodes}))
	var at *ReadError
	if !errors.Is(err, ErrSyntax) || !errors.As(err, &at) || at.Offset <= 0 || at.Offset > int64(len(pbf)/2) {
		t.Errorf("%v, want the offset of the block at %d", err, len(pbf)/2)
	}
	if len(items) == 0 || len(items) >= 11_257 {
		t.Errorf("%d items, want those of the blocks before", len(items))
	}
}

func TestRoadErrors(t *testing.T) {
	for _, c := range []struct {
		nodes, edges string
		kind         error
		says         string
	}{
		{"0 1 2\n", "0 0 1 3\n", ErrSyntax, "a.cedge: line 1: malformed: edge 0 ends at node 1"},
		{"0 1 2\n0 1 2\n", "", ErrSyntax, "a.cnode: line 2: malformed: node 0 is defined twice"},
		{"NodeID x y\n0 1\n", "", ErrSyntax, "a.cnode: line 2: malformed: 2 fields"},
		{"0 1 x\n", "", ErrSyntax, "a.cnode: line 1"},
		{"0 nan 2\n", "", rstar.ErrBadRect, "a.cnode: line 1"},
		{"0 1 2\n", "0 0 -1 3\n", ErrSyntax, "a.cedge: line 1"},
		{"0 1 2\n", "0 0 0 far\n", ErrSyntax, "a.cedge: line 1"},
		{"", "", ErrTruncated, "a.cnode: line 1"},
	} {
		path := write(t, "a.cnode", c.nodes)
		edges := strings.TrimSuffix(path, ".cnode") + ".cedge"
		if _, err := Open(path, Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without a.cedge: %v", err)
		}
		if err := os.WriteFile(edges, []byte(c.edges), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Collect(open(t, path, Options{}))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %q: %v, want %v, %q", c.nodes, c.edges, err, c.kind, c.says)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	record := strings.Repeat("\x00", recordBytes) // fits both encodings
	for _, c := range []struct {
		spec string
		opts Options
		kind error
		says string
	}{
		{"/no/such/file.csv", Options{}, fs.ErrNotExist, "rea02-like"},
		{"unifrom", Options{}, fs.ErrNotExist, "uniform, skewed"},
		{"shape:x", Options{}, ErrFormat, "csv, geojson"},
		{t.TempDir(), Options{}, ErrUnsupported, "regular file"},
		{write(t, "zero", record), Options{}, ErrAmbiguous, "rea02:FILE"},
		{write(t, "what", "hello, world"), Options{}, ErrFormat, "csv:FILE"},
		{write(t, "empty", ""), Options{}, ErrFormat, "empty"},
		{"rea02:" + write(t, "cut", record+"\x00"), Options{}, ErrTruncated, "33 is not a multiple of 32"},
		{"rec:" + write(t, "cut", record+"\x00"), Options{}, ErrTruncated, "offset 32"},
		{"road:" + write(t, "a.txt", ""), Options{}, ErrFormat, "cedge"},
		{"uniform", Options{Count: -1}, ErrOption, "-1"},
		{"california", Options{Count: 5}, ErrOption, "only generators"},
		{"california", Options{OSM: "relations"}, ErrOption, "segments, ways or nodes"},
	} {
		_, err := Open(c.spec, c.opts)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v, %q", c.spec, err, c.kind, c.says)
		}
	}
	if !errors.Is(ErrAmbiguous, ErrFormat) {
		t.Error("ErrAmbiguous is no ErrFormat")
	}
}

func TestStopsEarly(t *testing.T) {
	for _, spec := range []string{
		"uniform", "skewed", "rea02-like", "california",
		"testdata/andorra.osm.pbf", "testdata/countries.geojson",
	} {
		n := 0
		err := open(t, spec, Options{}).Items(func(rstar.Item) bool { n++; return n < 3 })
		if n != 3 || err != nil {
			t.Errorf("%s: %d items, %v", spec, n, err)
		}
	}
}
