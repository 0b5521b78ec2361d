package places

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/places/input"
)

func zipped(t *testing.T, names ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte("some content"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestForeignFormats: known formats that are not read are named, by their content or else
// by their name, with the path for ogr2ogr to open.
func TestForeignFormats(t *testing.T) {
	sqlite := "SQLite format 3\x00" + strings.Repeat("\x00", 52)
	for _, c := range []struct{ name, text, is, source string }{
		{"x", "\x00\x00\x27\x0a\x00\x00", "a Shapefile", ""},
		{"a/x.shx", "\x00\x00\x27\x0a\x00\x00", "a Shapefile", "a/x.shp"},
		{"x.dbf", "\x03\x7c\x01\x01\x02\x00\x00\x00", "a Shapefile", "x.shp"},
		{"x.prj", `GEOGCS["GCS_WGS_1984"]`, "a Shapefile", "x.shp"},
		{"x", sqlite + "GPKG", "a GeoPackage", ""},
		{"x.gpkg", sqlite + "\x00\x00\x00\x00", "a GeoPackage", ""},
		{"x", sqlite + "\x00\x00\x00\x00", "an SQLite database", ""},
		{"x", "PAR1\x15\x04", "a Parquet file", ""},
		{"x", "ARROW1\x00\x00", "an Arrow file", ""},
		{"x.tab", "!table\n!version 300\n", "a MapInfo file", ""},
		{"x", `<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2">`, "a KML file", ""},
		{"x.kml", `<?xml version="1.0"?>`, "a KML file", ""},
		{"x", `<ogr:FeatureCollection xmlns:gml="http://www.opengis.net/gml/3.2">`, "a GML file", ""},
		{"x.kml.gz", "<kml>", "a KML file", "/vsigzip/x.kml.gz"},
		{"x", "<gpx version='1.1'>", "a GPX file", ""},
		{"x.kmz", zipped(t, "doc.kml"), "a KMZ file", ""},
		{"x.zip", zipped(t, "readme.txt", "roads.dbf", "roads.shp"), "a Shapefile in a zip archive", "/vsizip/x.zip"},
		{"x.zip", zipped(t, "my.gdb/a00000001.gdbtable"), "an Esri geodatabase in a zip archive", "/vsizip/x.zip"},
		{"x.dxf", "  0\nSECTION\n", "a DXF drawing", ""},
	} {
		_, err := NewReader(strings.NewReader(c.text), c.name, Options{})
		var is *ForeignError
		if !errors.As(err, &is) || is.Is != c.is || is.Source != c.source || is.Project || !errors.Is(err, input.ErrUnsupported) {
			t.Errorf("%s %q: %v", c.name, c.text[:min(20, len(c.text))], err)
		}
	}
	// A given format overrides a name, but not binary content.
	if _, _, err := count(t, "x.kml", "lon,lat\n1,2\n", Options{Format: CSV}); err != nil {
		t.Error(err)
	}
	if _, _, err := count(t, "x.csv", sqlite, Options{Format: CSV}); !errors.Is(err, input.ErrUnsupported) {
		t.Error(err)
	}
	dir := filepath.Join(t.TempDir(), "x.gdb")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var is *ForeignError
	if _, err := Open(dir, Options{}); !errors.As(err, &is) || is.Is != "an Esri geodatabase" {
		t.Error(err)
	}
	_, _, err := readAll(t, "x.json", `{"type":"Topology","objects":{}}`, Options{})
	if !errors.As(err, &is) || is.Is != "a TopoJSON file" {
		t.Error(err)
	}
}

// count returns the number of places and of bad records in a text.
func count(t *testing.T, name, text string, o Options) (places int, bad int64, err error) {
	t.Helper()
	all, r, err := readAll(t, name, text, o)
	if r != nil {
		bad = r.Stats().Bad
	}
	return len(all), bad, err
}

const oneFeature = `{"type":"Feature","geometry":{"type":"Point","coordinates":[80,40]},"properties":null}`

// TestGeoJSONCRS: a member crs that names another system than WGS 84 ends reading,
// wherever it is, with the name. Options.AnyCRS accepts the system.
func TestGeoJSONCRS(t *testing.T) {
	named := func(name string) string { return `{"type":"name","properties":{"name":"` + name + `"}}` }
	before := func(crs string) string {
		return `{"type":"FeatureCollection","crs":` + crs + `,"features":[` + oneFeature + `]}`
	}
	for _, crs := range []string{
		"null", named("urn:ogc:def:crs:OGC:1.3:CRS84"), named("urn:ogc:def:crs:OGC::CRS84h"), named("EPSG:4326"), named("epsg:4979"),
		named("urn:ogc:def:crs:EPSG::4326"), named("urn:ogc:def:crs:EPSG:6.9:4326"), named("http://www.opengis.net/def/crs/OGC/1.3/CRS84"),
		named("http://www.opengis.net/def/crs/EPSG/0/4326"), named("http://www.opengis.net/gml/srs/epsg.xml#4326"), named("WGS 84"),
		`{"type":"EPSG","properties":{"code":4326}}`, `"EPSG:4326"`, `{"type":"OGC","properties":{"urn":"urn:ogc:def:crs:OGC:1.3:CRS84"}}`,
	} {
		if n, _, err := count(t, "x.json", before(crs), Options{}); n != 1 || err != nil {
			t.Errorf("%s: %d places, %v", crs, n, err)
		}
	}
	for crs, says := range map[string]string{
		named("EPSG:31287"):                             "EPSG:31287",
		named("urn:ogc:def:crs:EPSG::3857"):             "urn:ogc:def:crs:EPSG::3857",
		named("WGS 84 / Pseudo-Mercator"):               "Pseudo-Mercator",
		named("urn:ogc:def:crs:EPSG::14326"):            "14326",
		`{"type":"EPSG","properties":{"code":2056}}`:    "EPSG:2056",
		`{"type":"link","properties":{"href":"a.b/c"}}`: "a.b/c",
		`{"type":"name"}`:                               "name",
		`7`:                                             "7",
	} {
		feature := strings.TrimSuffix(oneFeature, "}") + `,"crs":` + crs + "}"
		for where, c := range map[string]struct {
			text   string
			places int
		}{
			"before the features":    {before(crs), 0},
			"behind the features":    {`{"type":"FeatureCollection","features":[` + oneFeature + `],"crs":` + crs + `}`, 1},
			"of a feature":           {`{"type":"FeatureCollection","features":[` + feature + `]}`, 0},
			"of a line":              {oneFeature + "\n" + feature + "\n" + oneFeature, 1},
			"of a collection a line": {oneFeature + "\n" + before(crs) + "\n" + oneFeature, 1},
			"of a geometry":          {`{"type":"Point","coordinates":[1,2],"crs":` + crs + `}`, 0},
		} {
			var is *ForeignError
			n, bad, err := count(t, "x.json", c.text, Options{})
			if n != c.places || bad > 0 || !errors.As(err, &is) || !is.Project || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "x.json: line ") {
				t.Errorf("%s, %s: %d places, %d bad, %v", where, crs, n, bad, err)
			}
			if n, _, err := count(t, "x.json", c.text, Options{AnyCRS: true}); n == 0 || err != nil {
				t.Errorf("%s, %s, any: %d places, %v", where, crs, n, err)
			}
		}
	}
	// A property of that name has no effect.
	if n, _, err := count(t, "x.json", strings.Replace(oneFeature, "null", `{"crs":"EPSG:2056"}`, 1), Options{}); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// TestFlatGeobufCRS: as for GeoJSON, by the header.
func TestFlatGeobufCRS(t *testing.T) {
	header := func(org string, code int32, codeText, name, wkt string) string {
		// A root table whose field 10 is a table of org, code, name, (none), wkt, code as text.
		text := func(s string) []byte {
			return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s+"\x00"...)
		}
		var b []byte
		u16 := func(vs ...int) {
			for _, v := range vs {
				b = binary.LittleEndian.AppendUint16(b, uint16(v))
			}
		}
		u32 := func(v int) { b = binary.LittleEndian.AppendUint32(b, uint32(v)) }
		u32(4 + 26)                                 // root: after its vtable
		u16(26, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4) // 11 fields
		u32(26)                                     // root, at 30: back to its vtable
		u32(4 + 16)                                 // CRS, from 34 on: after its vtable
		u16(16, 24, 4, 8, 12, 0, 16, 20)            // at 38
		u32(16)                                     // CRS, at 54
		at := 54 + 24
		for i, s := range []string{org, "", name, wkt, codeText} {
			if i == 1 {
				u32(int(code))
				continue
			}
			u32(at - len(b))
			at += len(text(s))
		}
		for _, s := range []string{org, name, wkt, codeText} {
			b = append(b, text(s)...)
		}
		return string(fgbMagic) + "\x00" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))) + string(b)
	}
	for _, c := range []struct{ text, says string }{
		{header("EPSG", 4326, "", "", ""), ""},
		{header("", 4326, "", "", ""), ""},
		{header("", 0, "", "", ""), ""}, // absent
		{header("OGC", 0, "CRS84", "WGS 84 (CRS84)", ""), ""},
		{header("", 0, "", "", `GEOGCS["WGS 84",DATUM["WGS_1984"]]`), ""},
		{header("EPSG", 31287, "", "MGI / Austria Lambert", ""), "EPSG:31287"},
		{header("esri", 54009, "", "", ""), "ESRI:54009"},
		{header("", 3857, "", "", ""), "EPSG:3857"},
		{header("", 0, "", "Mollweide", ""), "Mollweide"},
		{header("", 0, "", "", `PROJCS["MGI / Austria Lambert",GEOGCS["MGI"]]`), "MGI / Austria Lambert"},
	} {
		_, err := NewReader(strings.NewReader(c.text), "x.fgb", Options{})
		var is *ForeignError
		if (c.says != "") != errors.As(err, &is) || err != nil && (!is.Project || !strings.Contains(err.Error(), fmt.Sprintf("%q", c.says))) {
			t.Errorf("%q: %v", c.says, err)
		}
		if _, err := NewReader(strings.NewReader(c.text), "x.fgb", Options{AnyCRS: true}); err != nil {
			t.Errorf("%q, any: %v", c.says, err)
		}
	}
}
