package places

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// sniffBytes is how much of the input the detection sees.
const sniffBytes = bufferBytes

// detect finds the format. The content decides where it can; text of no other
// format is CSV if the name says so, or if its first line looks like a
// header.
func detect(name string, head []byte) (Format, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(input.ByteOrderMark)), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, fgbMagic):
		return FlatGeobuf, nil
	case len(head) > 15 && string(head[4:15]) == "\x0a\x09OSMHeader":
		return OSMPBF, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "", fmt.Errorf("%w: UTF-16 text, want UTF-8", input.ErrUnsupported)
	case len(text) == 0:
		return "", fmt.Errorf("%w: the input is empty", input.ErrFormat)
	case text[0] == recordSeparator:
		return GeoJSONSeq, nil
	case text[0] == '{':
		return detectGeoJSON(name, text), nil
	case text[0] == '<' && bytes.Contains(text[:min(len(text), 4096)], []byte("<osm")):
		return OSMXML, nil
	}
	switch extension(name) {
	case ".csv", ".tsv", ".tab", ".psv":
		return CSV, nil
	}
	if is := foreignText(name, text); is != nil {
		return "", is
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if _, err := findSeparator(line); err == nil && !bytes.ContainsFunc(line, isControl) {
		return CSV, nil
	}
	return "", fmt.Errorf("%w: neither the content nor the name fits one of %s",
		input.ErrFormat, formatNames())
}

// detectGeoJSON distinguishes one text from one text a line: in the latter the
// first line is complete, and is followed by something.
func detectGeoJSON(name string, text []byte) Format {
	if f, err := FormatOf(name); err == nil && f == GeoJSONSeq {
		return GeoJSONSeq
	}
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	if len(bytes.TrimSpace(rest)) > 0 && json.Valid(line) {
		return GeoJSONSeq
	}
	return GeoJSON
}

// extension returns the ending of a name, without that of a packer.
func extension(name string) string {
	name = strings.ToLower(name)
	for _, packed := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	return filepath.Ext(name)
}

func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\r' }

// suits refuses options that the format does not use: a misspelt set of
// options must not be ignored.
func (o Options) suits(f Format) error {
	if f != CSV && (o.X != "" || o.WKT != "" || o.Separator != 0) {
		return fmt.Errorf("%w: X, Y, WKT and Separator are for csv, the input is %s",
			input.ErrOption, f)
	}
	return nil
}
