package places

import (
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Format names a file format of places.
type Format string

// The formats.
const (
	GeoJSON    Format = "geojson"    // RFC 7946: collection, feature or geometry
	GeoJSONSeq Format = "geojsonseq" // one text a line, or RFC 8142
	OSMPBF     Format = "pbf"        // OpenStreetMap
	OSMXML     Format = "osm"        // OpenStreetMap
	CSV        Format = "csv"        // a header line, any separator
	FlatGeobuf Format = "fgb"        // read only
)

// Formats are all formats that can be read.
var formats = []Format{GeoJSON, GeoJSONSeq, OSMPBF, OSMXML, CSV, FlatGeobuf}

// ParseFormat accepts the names of the formats. Its errors wrap
// datasets.ErrFormat.
func ParseFormat(s string) (Format, error) {
	if slices.Contains(formats, Format(s)) {
		return Format(s), nil
	}
	return "", fmt.Errorf("places: %w: %s, want one of %s",
		input.ErrFormat, input.Quote(s), formatNames())
}

func formatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// Options say how to read. With the zero value the reader detects everything.
type Options struct {
	// Format of the input; empty: detected by its content, or by its name if the
	// content is not conclusive.
	Format Format
	// Strict makes the first bad record the error of the Reader. Otherwise
	// bad records are left out, counted, and the first of them kept.
	Strict bool
	// ID names the property, or the column of a CSV file, whose value is a
	// place's id. A record without it is bad. Empty: the id of the GeoJSON
	// feature, the OpenStreetMap id as in way/5, or the CSV column "id".
	ID string
	// X and Y name the columns of a CSV file that hold longitude and
	// latitude, WKT the one that holds a geometry as text. Empty: by the
	// usual names, see the package's comment.
	X, Y, WKT string
	// Text names columns of a CSV file whose fields are text, also if they are
	// written as numbers: postal codes, telephone numbers.
	Text []string
	// Separator of a CSV file; 0: found in its header line.
	Separator rune
	// Check is called with each place before it is delivered, and may change
	// it; an error makes its record bad. Use it for a collection's requirements,
	// such as feature.Normalise. Nil: all places are good.
	Check func(*Place) error
	// AnyCRS accepts positions unchanged, whatever coordinate reference system the input
	// names: for a space that is not of longitude and latitude. Otherwise an input that
	// names another system than WGS 84 is a *ForeignError, also if the name comes after
	// its features.
	AnyCRS bool
	// MemoryBytes bounds the data kept until the end of the input, which only
	// OpenStreetMap's formats need; 0: datasets.DefaultMemoryBytes.
	MemoryBytes int64
}

func (o Options) validate() error {
	if o.Format != "" {
		if _, err := ParseFormat(string(o.Format)); err != nil {
			return err
		}
	}
	if o.MemoryBytes < 0 {
		return fmt.Errorf("places: %w: MemoryBytes is %d, want 1 or more, or 0 for %d",
			input.ErrOption, o.MemoryBytes, input.DefaultMemoryBytes)
	}
	if (o.X == "") != (o.Y == "") {
		return fmt.Errorf("places: %w: X is %s and Y is %s, want both or none",
			input.ErrOption, input.Quote(o.X), input.Quote(o.Y))
	}
	if o.X != "" && o.WKT != "" {
		return fmt.Errorf("places: %w: X and WKT are both given, want one", input.ErrOption)
	}
	if s := o.Separator; s != 0 && (s > 0x7e || s == '"' || s == '\r' || s == '\n') {
		return fmt.Errorf("places: %w: separator %q, want an ASCII character other"+
			" than a quote or a line end", input.ErrOption, s)
	}
	return nil
}

const (
	// maxRecordBytes bounds one record: a GeoJSON feature, a CSV row, an XML
	// element.
	maxRecordBytes = input.MaxFeatureBytes
	// keptBad is how many bad records a Reader keeps: as many as fit on a screen.
	keptBad = 10
	// bufferBytes are read at once: a few hundred short records.
	bufferBytes = 64 << 10
)
