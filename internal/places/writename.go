package places

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/catfish-index/catfish/internal/places/input"
)

// readOnly are name endings of formats that are read, but not written.
var readOnly = map[string]string{
	".pbf": "OpenStreetMap PBF", ".osm": "OpenStreetMap XML", ".fgb": "FlatGeobuf",
	".tsv": "a table of tabs", ".tab": "a table of tabs", ".psv": "a table of bars",
}

// FormatOf returns the format for writing a file of this name, by the ending before that of
// a packer; GeoJSON if the ending is not known. An ending of a format that is not written is
// datasets.ErrUnsupported.
func FormatOf(name string) (Format, error) {
	ext := extension(name)
	switch ext {
	case ".csv":
		return CSV, nil
	case ".geojsonl", ".geojsons", ".geojsonseq", ".jsonl", ".ndjson", ".ldjson":
		return GeoJSONSeq, nil
	}
	is, ok := readOnly[ext]
	if !ok {
		is, ok = foreignNames[ext]
	}
	if ok {
		return "", fmt.Errorf("places: %w: %s is the name of %s, which is not written; want one of .geojson, .geojsonl and .csv",
			input.ErrUnsupported, input.Quote(name), is)
	}
	return GeoJSON, nil
}

// Pack returns a writer to a file of this name, which packs if the name ends with .gz,
// .zst or .zstd. Close ends the packing, and leaves w open.
func Pack(name string, w io.Writer) (io.WriteCloser, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst", ".zstd":
		// One at a time: no goroutines.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return plainWriter{w}, nil
}

type plainWriter struct{ io.Writer }

func (plainWriter) Close() error { return nil }
