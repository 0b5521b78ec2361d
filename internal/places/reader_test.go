package places

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/catfish-index/catfish/internal/places/input"
)

// readAll reads text, and returns the places delivered before an error.
func readAll(t testing.TB, name, text string, opts Options) ([]Place, *Reader, error) {
	t.Helper()
	r, err := NewReader(strings.NewReader(text), name, opts)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	var all []Place
	for p, err := range r.All() {
		if err != nil {
			return all, r, err
		}
		all = append(all, p)
	}
	return all, r, nil
}

// show writes a place in one line.
func show(t testing.TB, p Place) string {
	t.Helper()
	geometry, err := p.appendGeometry(nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s", p.ID, geometry, p.Properties)
}

func showAll(t testing.TB, all []Place) string {
	t.Helper()
	var lines []string
	for _, p := range all {
		lines = append(lines, show(t, p))
	}
	return strings.Join(lines, "\n")
}

const threeLines = `{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":null}
{"type":"Feature","id":"b","geometry":{"type":"Point","coordinates":[1]},"properties":{}}
{"type":"Feature","id":"c","geometry":null,"properties":{"n":1}}
`

// A bad record is left out and reported, or ends a strict reader.
func TestBadRecords(t *testing.T) {
	all, r, err := readAll(t, "x", threeLines, Options{})
	if err != nil || len(all) != 2 || all[0].ID != "a" || all[1].ID != "c" {
		t.Fatalf("%v, %v", all, err)
	}
	bad := r.Bad()
	if len(bad) != 1 || bad[0].Line != 2 || bad[0].Name != "x" || !errors.Is(bad[0], input.ErrSyntax) {
		t.Fatalf("%v", bad)
	}
	want := Stats{Read: int64(len(threeLines)), Total: -1, Places: 2, NoGeometry: 1, Bad: 1}
	if got := r.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}

	all, r, err = readAll(t, "x", threeLines, Options{Strict: true})
	var at *RecordError
	if len(all) != 1 || !errors.As(err, &at) || at.Line != 2 || at.Name != "x" {
		t.Fatalf("strict: %v, %v", all, err)
	}
	if _, again := r.Next(); again != err {
		t.Errorf("the error is not final: %v", again)
	}
}

var errRefused = errors.New("refused")

// Check makes further records bad; the error has their position, in each format.
func TestCheckOption(t *testing.T) {
	for format, text := range samples(t) {
		n := 0
		check := func(p *Place) error {
			if n++; n == 1 {
				return errRefused
			}
			p.ID = "changed"
			return nil
		}
		all, r, err := readAll(t, "x", text, Options{Format: format, Check: check})
		if err != nil || len(all) != n-1 || len(all) > 0 && all[0].ID != "changed" {
			t.Errorf("%s: %d places of %d, %v", format, len(all), n, err)
		}
		bad := r.Bad()
		if len(bad) == 0 || !errors.Is(bad[0], errRefused) {
			t.Errorf("%s: %v", format, bad)
			continue
		}
		want := map[Format]string{
			GeoJSON: `{"type":"Feature","id":"a"`, GeoJSONSeq: `{"type":"Feature","id":"a"`,
			CSV: "1,2,3", OSMXML: `<node id="7"`, OSMPBF: "\x00\x00\x00", FlatGeobuf: "",
		}[format]
		if at := text[bad[0].Offset:]; !strings.HasPrefix(at, want) || format == CSV && bad[0].Line != 2 {
			t.Errorf("%s: line %d, offset %d: %.40q", format, bad[0].Line, bad[0].Offset, at)
		}
	}
}

// All bad records are counted, ten are kept.
func TestBadRecordsAreCounted(t *testing.T) {
	_, r, err := readAll(t, "x", threeLines+strings.Repeat("{\n", 50), Options{Format: GeoJSONSeq})
	if err != nil || r.Stats().Bad != 51 || len(r.Bad()) != keptBad || r.Bad()[9].Line != 12 {
		t.Errorf("%v, %+v, %v", err, r.Stats(), r.Bad())
	}
}

func packed(t *testing.T, kind, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if kind == ".zst" {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPacked(t *testing.T) {
	for _, kind := range []string{".gz", ".zst"} {
		p := packed(t, kind, threeLines)
		path := filepath.Join(t.TempDir(), "x.geojsonl"+kind)
		if err := os.WriteFile(path, []byte(p), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, Options{})
		if err != nil {
			t.Fatal(kind, err)
		}
		n := 0
		for _, err := range r.All() {
			if err != nil {
				t.Fatal(kind, err)
			}
			n++
		}
		if s := r.Stats(); n != 2 || s.Read != int64(len(p)) || s.Total != s.Read || r.Format() != GeoJSONSeq {
			t.Errorf("%s: %d places, %+v, %s", kind, n, s, r.Format())
		}
		if err := r.Close(); err != nil {
			t.Error(kind, err)
		}
		if _, err := r.Next(); err == nil || err == io.EOF && n == 0 {
			t.Errorf("%s: closed reader: %v", kind, err)
		}
		// A truncated or broken input is distinguished from a complete one.
		_, _, err = readAll(t, "x.geojsonl", p[:len(p)-9], Options{Format: GeoJSONSeq})
		if !errors.Is(err, input.ErrTruncated) {
			t.Errorf("%s, cut: %v", kind, err)
		}
		broken := []byte(p)
		broken[len(broken)/2] ^= 0x55
		_, _, err = readAll(t, "x.geojsonl", string(broken), Options{Format: GeoJSONSeq})
		if !errors.Is(err, input.ErrSyntax) && !errors.Is(err, input.ErrTruncated) {
			t.Errorf("%s, broken: %v", kind, err)
		}
	}
	_, _, err := readAll(t, "x.csv", "PK\x03\x04xx", Options{})
	if !errors.Is(err, input.ErrUnsupported) || !strings.Contains(err.Error(), "zip") {
		t.Errorf("zip: %v", err)
	}
}

func TestDetect(t *testing.T) {
	line := `{"type":"Point","coordinates":[1,2]}`
	for _, c := range []struct {
		name, text string
		want       Format
		says       string
	}{
		{"x", line, GeoJSON, ""},
		{"x", line + "\n\n", GeoJSON, ""},
		{"x", line + "\n" + line, GeoJSONSeq, ""},
		{"x", "\ufeff\r\n" + line, GeoJSON, ""},
		{"x.json.gz", "{\n" + line, GeoJSON, ""},
		{"x.ndjson.zst", line, GeoJSONSeq, ""},
		{"x", "\x1e" + line, GeoJSONSeq, ""},
		{"x", "<?xml version='1.0'?>\n<osm version='0.6'>", OSMXML, ""},
		{"x", "a;lat;lon\n", CSV, ""},
		{"x.csv", "wkt\n", CSV, ""},
		{"x", "fgb\x03fgb\x01", FlatGeobuf, ""},
		{"x", "\x00\x00\x00\x0d\x0a\x09OSMHeader ", OSMPBF, ""},
		{"x", " \n", "", "empty"},
		{"x", "", "", "empty"},
		{"x", "\xff\xfea\x00", "", "UTF-16"},
		{"x", "<html></html>", "", "neither"},
		{"x", "\x00\x01,\x02", "", "neither"},
	} {
		got, err := detect(c.name, []byte(c.text))
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %q: %q, %v; want %q, %s", c.name, c.text, got, err, c.want, c.says)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Format: "shp"}, {MemoryBytes: -1}, {X: "a"}, {Y: "a"}, {X: "a", Y: "b", WKT: "c"},
		{Separator: '"'}, {Separator: 'é'}, {Format: GeoJSON, Separator: ';'},
	} {
		_, err := NewReader(strings.NewReader("{}"), "x", o)
		if !errors.Is(err, input.ErrOption) && !errors.Is(err, input.ErrFormat) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Open(t.TempDir(), Options{}); !errors.Is(err, input.ErrUnsupported) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "x"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// brokenReader fails after its text.
type brokenReader struct{ io.Reader }

var errDisk = errors.New("disk on fire")

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errDisk
	}
	return n, err
}

// An error of the input is never mistaken for its end.
func TestInputError(t *testing.T) {
	for format, text := range samples(t) {
		for _, cut := range []int{len(text), len(text) / 2} {
			r, err := NewReader(brokenReader{strings.NewReader(text[:cut])}, "x", Options{Format: format})
			for err == nil {
				_, err = r.Next()
			}
			if !errors.Is(err, errDisk) {
				t.Errorf("%s, %d bytes: %v", format, cut, err)
			}
		}
	}
}

// A truncated file is an error, or a bad last record, in formats that mark their
// end.
func TestTruncatedInput(t *testing.T) {
	for format, text := range samples(t) {
		_, r, err := readAll(t, "x", text[:len(text)-3], Options{Format: format})
		if err == nil && r.Stats().Bad == 0 && format != CSV {
			t.Errorf("%s: no error", format)
		}
	}
}

// samples are small files of each format.
func samples(t testing.TB) map[Format]string {
	t.Helper()
	pbf, err := os.ReadFile("../../datasets/testdata/andorra.osm.pbf")
	if err != nil {
		t.Fatal(err)
	}
	fgb, err := os.ReadFile("testdata/mixed.fgb")
	if err != nil {
		t.Fatal(err)
	}
	return map[Format]string{
		GeoJSON: `{"type":"FeatureCollection","features":[` +
			strings.ReplaceAll(strings.TrimSpace(threeLines), "\n", ",") + "]}",
		GeoJSONSeq: strings.TrimSpace(threeLines),
		OSMXML:     smallOSM,
		OSMPBF:     string(pbf),
		CSV:        "id,lon,lat,name\n1,2,3,\"x, y\"\n",
		FlatGeobuf: string(fgb),
	}
}

// Borders of countries, and one geometry of each kind.
func TestCountries(t *testing.T) {
	r, err := Open("../../datasets/testdata/countries.geojson", Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	kinds := map[string]int{}
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if p.ID == "" || !bytes.Contains(p.Properties, []byte(p.ID)) {
			t.Errorf("id %q, properties %s", p.ID, p.Properties)
		}
		kinds[p.Geometry.GeoJSONType()]++
	}
	if s := r.Stats(); s.Bad != 0 || s.Read != s.Total || kinds["Polygon"] == 0 || kinds["MultiPolygon"] == 0 {
		t.Errorf("%v, %+v", kinds, s)
	}
}
