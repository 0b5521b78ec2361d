package datasets

import (
	"io"
	"iter"

	"github.com/catfish-index/catfish/internal/places"
)

// Files of places have an id, a geometry and properties each. docs/files.md has the
// formats and their rules; a reader keeps one record at a time in memory, and what
// OpenStreetMap's objects refer to, up to PlacesOptions.MemoryBytes.
type (
	// Place is a place of a file.
	Place = places.Place
	// PlacesFormat names a file format of places. The content of a file determines it.
	PlacesFormat = places.Format
	// PlacesOptions say how to read. With the zero value everything is detected.
	PlacesOptions = places.Options
	// PlacesReader gives the places of a file, and counts records that break a rule of
	// the format.
	PlacesReader = places.Reader
	// PlacesWriteOptions say how to write.
	PlacesWriteOptions = places.WriteOptions
	// PlacesError is the error of one record of a file.
	PlacesError = places.RecordError
)

// OpenPlaces opens a file of places, "-" for standard input. Its errors wrap those of
// this package.
func OpenPlaces(path string, opts PlacesOptions) (*PlacesReader, error) {
	return places.Open(path, opts)
}

// NewPlacesReader reads places from r. name is the file's name for errors.
func NewPlacesReader(r io.Reader, name string, opts PlacesOptions) (*PlacesReader, error) {
	return places.NewReader(r, name, opts)
}

// ParsePlacesFormat accepts the names of the formats, such as "geojson".
func ParsePlacesFormat(s string) (PlacesFormat, error) { return places.ParseFormat(s) }

// WritePlaces writes places in a format, and returns their number.
func WritePlaces(w io.Writer, f PlacesFormat, all iter.Seq2[Place, error], opts PlacesWriteOptions) (int64, error) {
	return places.Write(w, f, all, opts)
}

// PlacesFormatOf returns the format for writing a file of this name: by its ending before
// that of a packer, GeoJSON if the ending is not known. For an ending of a format that
// is not written the error is ErrUnsupported.
func PlacesFormatOf(name string) (PlacesFormat, error) { return places.FormatOf(name) }

// PackPlaces returns a writer to a file of this name, which packs if the name ends with
// .gz, .zst or .zstd. Close ends the packing, and leaves w open.
func PackPlaces(name string, w io.Writer) (io.WriteCloser, error) { return places.Pack(name, w) }
