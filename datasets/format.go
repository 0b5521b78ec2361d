package datasets

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Format names an encoding of items. It is also the prefix that pins
// the format of a file, as in csv:FILE.
type Format string

// The formats. GeoJSON covers single texts, text sequences (RFC 8142)
// and newline-delimited ones alike.
const (
	CSV       Format = "csv"     // id,minx,miny,maxx,maxy or id,x,y
	GeoJSON   Format = "geojson" // RFC 7946, RFC 8142, newline-delimited
	OSM       Format = "osm"     // OpenStreetMap PBF
	Rea02     Format = "rea02"   // little-endian xmin, xmax, ymin, ymax
	Rec       Format = "rec"     // big-endian xmin, ymin, xmax, ymax
	Road      Format = "road"    // cnode/cedge pair
	Generated Format = ""        // a generator; not a file format
)

const formatNames = "csv, geojson, osm, rea02, rec, road"

// ParseFormat accepts the names of the file formats. Its errors wrap
// ErrFormat.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case CSV, GeoJSON, OSM, Rea02, Rec, Road:
		return f, nil
	}
	return "", fmt.Errorf("datasets: %w: %s, want one of %s",
		ErrFormat, input.Quote(s), formatNames)
}

// sniffBytes is how much of a file detection reads: 1024 records of
// rea02, and more than a header line or a PBF frame needs.
const sniffBytes = 1024 * recordBytes

// detect determines the format by the extension where that is unambiguous,
// otherwise by the content. head is the first sniffBytes of the file.
func detect(path string, head []byte) (Format, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return CSV, nil
	case ".geojson", ".json", ".geojsonl", ".geojsons", ".geojsonseq",
		".jsonl", ".ndjson":
		return GeoJSON, nil
	case ".pbf":
		return OSM, nil
	case ".cnode", ".cedge":
		return Road, nil
	}
	// The extensions .rec and .rea02 give the intended encoding, which may
	// differ from the actual one.
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(input.ByteOrderMark)), " \t\r\n\x1e")
	switch {
	case len(head) == 0:
		return "", fmt.Errorf("%w: the file is empty; name one of %s, as in csv:FILE",
			ErrFormat, formatNames)
	case len(text) > 0 && text[0] == '{':
		return GeoJSON, nil
	case bytes.HasPrefix(bytes.ToLower(text), []byte("id,")):
		return CSV, nil
	case bytes.HasPrefix(text, []byte("NodeID ")), bytes.HasPrefix(text, []byte("EdgeID ")):
		return Road, nil
	case len(head) > 15 && string(head[4:15]) == "\x0a\x09OSMHeader":
		return OSM, nil
	}
	return detectRecords(head)
}

// detectRecords distinguishes the two encodings of rea02: read with the wrong
// byte order, a coordinate becomes a number of arbitrary magnitude, and half
// of the pairs are out of order. One encoding is chosen if more than 3/4 of
// the sampled records are plausible in it (the rest may be bad input, which
// the reader reports with its position) and at most 1/4 in the other.
func detectRecords(head []byte) (Format, error) {
	n := len(head) / recordBytes
	var little, big int
	for i := range n {
		rec := head[i*recordBytes:][:recordBytes]
		if r := littleEndian.decode(rec); r.Validate() == nil && earthly(r.MinX, r.MinY, r.MaxX, r.MaxY) {
			little++
		}
		if r := bigEndian.decode(rec); r.Validate() == nil && earthly(r.MinX, r.MinY, r.MaxX, r.MaxY) {
			big++
		}
	}
	switch isLittle, isBig := 4*little > 3*n, 4*big > 3*n; {
	case isLittle && 4*big <= n:
		return Rea02, nil
	case isBig && 4*little <= n:
		return Rec, nil
	case isLittle || isBig:
		return "", fmt.Errorf("%w: %d of the first %d records make sense as rea02"+
			" (little-endian) and %d as rec (big-endian); name one, as in rea02:FILE",
			ErrAmbiguous, little, n, big)
	}
	return "", fmt.Errorf("%w: neither the name nor the content fits one of %s;"+
		" name one, as in csv:FILE", ErrFormat, formatNames)
}

// earthly reports whether all values are zero or between 2^-64 and 2^64 in
// magnitude, which spans nanometres in degrees to light years in metres.
func earthly(values ...float64) bool {
	for _, v := range values {
		if a := math.Abs(v); a != 0 && (a < 0x1p-64 || a > 0x1p64) {
			return false
		}
	}
	return true
}
