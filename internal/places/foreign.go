package places

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// ForeignError is an input that this package does not read, but that GDAL's ogr2ogr
// converts into one that it reads:
//
//	ogr2ogr -f GeoJSONSeq /vsistdout/ SOURCE | catfish load - -c NAME
//
// It wraps datasets.ErrUnsupported.
type ForeignError struct {
	Is string // such as "a GeoPackage"
	// Source is the path for ogr2ogr to open: the file beside the input that has the
	// geometries, or the file packed in the input. Empty: the input's path.
	Source string
	// Project: the positions are not longitude and latitude of WGS 84, and ogr2ogr
	// needs -t_srs EPSG:4326.
	Project bool
}

func (e *ForeignError) Error() string { return input.ErrUnsupported.Error() + ": " + e.Is }

func (e *ForeignError) Unwrap() error { return input.ErrUnsupported }

// foreignMagic are the first bytes of binary formats.
var foreignMagic = []struct{ magic, is string }{
	{"SQLite format 3\x00", "an SQLite database"},
	{"\x00\x00\x27\x0a", "a Shapefile"},
	{"PAR1", "a Parquet file"},
	{"ARROW1", "an Arrow file"},
	{"!table", "a MapInfo file"},
}

// foreignXML are marks in the first kilobytes of XML formats.
var foreignXML = []struct{ mark, is string }{
	{"<kml", "a KML file"}, {"<gpx", "a GPX file"}, {"opengis.net/gml", "a GML file"}, {"<gml:", "a GML file"},
}

// foreignNames is for inputs whose content is not conclusive.
var foreignNames = map[string]string{
	".shp": "a Shapefile", ".shx": "a Shapefile", ".dbf": "a Shapefile", ".prj": "a Shapefile",
	".gpkg": "a GeoPackage", ".sqlite": "an SQLite database", ".gml": "a GML file", ".kml": "a KML file",
	".kmz": "a KMZ file", ".gpx": "a GPX file", ".parquet": "a Parquet file", ".geoparquet": "a Parquet file",
	".arrow": "an Arrow file", ".feather": "an Arrow file", ".mif": "a MapInfo file", ".dxf": "a DXF drawing",
	".gdb": "an Esri geodatabase", ".topojson": "a TopoJSON file",
}

// foreignBinary finds binary formats that are not read; nil if no known one matches.
func foreignBinary(name string, head []byte) error {
	if bytes.HasPrefix(head, []byte(zipMagic)) {
		return foreignZip(name, head)
	}
	for _, f := range foreignMagic {
		if !bytes.HasPrefix(head, []byte(f.magic)) {
			continue
		}
		e := foreign(name, f.is)
		if f.is == "an SQLite database" && (len(head) >= 72 && bytes.HasPrefix(head[68:], []byte("GP")) || extension(name) == ".gpkg") {
			e.Is = "a GeoPackage" // Its application id (OGC 12-128, 1.1.1.1) is GPKG, GP10 or GP11.
		}
		return e
	}
	return nil
}

func foreignText(name string, text []byte) *ForeignError {
	if text[0] == '<' {
		for _, f := range foreignXML {
			if bytes.Contains(text[:min(len(text), 4096)], []byte(f.mark)) {
				return foreign(name, f.is)
			}
		}
	}
	return foreignName(name)
}

func foreignName(name string) *ForeignError {
	if is, ok := foreignNames[extension(name)]; ok {
		return foreign(name, is)
	}
	return nil
}

func foreign(name, is string) *ForeignError {
	e := &ForeignError{Is: is}
	switch ext := filepath.Ext(name); strings.ToLower(ext) {
	case ".shx", ".dbf", ".prj": // The geometries are in the file beside it.
		e.Source = strings.TrimSuffix(name, ext) + ".shp"
	case ".gz":
		e.Source = "/vsigzip/" + name
	}
	return e
}

const (
	zipMagic     = "PK\x03\x04"
	zipHeadBytes = 30 // before the name of a file
)

// foreignZip finds archives by the names of files within the head.
func foreignZip(name string, head []byte) error {
	if extension(name) == ".kmz" {
		return foreign(name, "a KMZ file")
	}
	for {
		at := bytes.Index(head, []byte(zipMagic))
		if at < 0 || len(head)-at < zipHeadBytes {
			return notUnpacked("a zip archive")
		}
		head = head[at:]
		n := int(binary.LittleEndian.Uint16(head[26:]))
		file := string(head[zipHeadBytes:min(len(head), zipHeadBytes+n)])
		is, ok := foreignNames[extension(file)]
		if !ok && strings.Contains(strings.ToLower(file), ".gdb/") {
			is, ok = foreignNames[".gdb"], true
		}
		if ok {
			return &ForeignError{Is: is + " in a zip archive", Source: "/vsizip/" + name}
		}
		head = head[len(zipMagic):]
	}
}
