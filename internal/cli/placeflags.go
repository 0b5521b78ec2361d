package cli

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/places"
)

// placeFlags say how to read files of places. The format is that of sourceFlags.
type placeFlags struct {
	id, x, y, wkt, separator string
	strict, planar, unique   bool
	text                     []string
	flags                    *pflag.FlagSet // of the command
}

var placeFlagNames = []string{"id", "x", "y", "wkt", "separator", "text", "strict", "unique", "planar"}

func (f *placeFlags) register(c *cobra.Command) {
	fs := c.Flags()
	f.flags = fs
	fs.StringVar(&f.id, "id", "", "property or CSV column that has the id; empty: the file's own ids, where there is none one is made")
	fs.StringVar(&f.x, "x", "", "CSV column of the longitude, or x; empty: found by name")
	fs.StringVar(&f.y, "y", "", "CSV column of the latitude, or y; empty: found by name")
	fs.StringVar(&f.wkt, "wkt", "", "CSV column that has geometries as text (WKT); empty: found by name")
	fs.StringVar(&f.separator, "separator", "", `separator of CSV columns, such as ";" or tab; empty: found in the header line`)
	fs.StringSliceVar(&f.text, "text", nil, "CSV columns whose fields are text, also if they are written as numbers, such as postal codes")
	fs.BoolVar(&f.strict, "strict", false, "end at the first bad record, rather than leaving it out")
	fs.BoolVar(&f.unique, "unique", false, "end at the first record whose id an earlier record or the collection has,\nrather than replacing that feature")
	fs.BoolVar(&f.planar, "planar", false, "a collection of features that is made has x and y in any unit, rather than longitude and latitude")
}

// space returns the options for creating a collection.
func (f *placeFlags) space() (o catfish.FeaturesOptions) { return planarOptions(f.planar) }

// options returns the options for reading one file; the collection provides check.
func (f *placeFlags) options(s *sourceFlags, check func(*places.Place) error) (o places.Options, err error) {
	o = places.Options{Strict: f.strict, ID: f.id, X: f.x, Y: f.y, WKT: f.wkt, Text: f.text, Check: check, MemoryBytes: s.memory}
	if s.memory <= 0 {
		return o, BadUsage("--read-memory is %d, want 1 or more", s.memory)
	}
	switch f.separator {
	case "":
	case "tab", `\t`:
		o.Separator = '\t'
	default:
		if len(f.separator) != 1 {
			return o, BadUsage("--separator is %q, want one ASCII character, or tab", f.separator)
		}
		o.Separator = rune(f.separator[0])
	}
	if s.format != "" && s.format != string(datasets.OSM) { // XML or PBF: the content says
		if o.Format, err = places.ParseFormat(s.format); err != nil {
			return o, BadUsage("--format: %w", err)
		}
	}
	return o, nil
}

// open opens a file, or standard input, for a loader.
func (f *placeFlags) open(l *featureLoader, path string, s *sourceFlags) (*places.Reader, error) {
	o, err := f.options(s, l.check)
	if err != nil {
		return nil, err
	}
	o.AnyCRS = l.space != feature.Geographic
	var r *places.Reader
	if path == places.Stdin {
		r, err = places.NewReader(l.a.In, "standard input", o)
	} else {
		r, err = places.Open(path, o)
	}
	if err != nil {
		return nil, convertible(err, path, l.name)
	}
	if is := r.Format(); s.format == string(datasets.OSM) && is != places.OSMPBF && is != places.OSMXML {
		_ = r.Close() // only opened
		return nil, BadUsage("--format osm: %s is %s", path, is)
	}
	return r, nil
}

// boxFlagNames are the flags of sourceFlags that only apply to boxes.
var boxFlagNames = []string{"osm", "highways", "objects", "seed"}

// boxesOrPlaces says whether files hold boxes or places. Boxes are the output of
// generators, the paper's formats, CSV with an exact header, and all files read with
// a flag of boxes. Files of both kinds are boxes, whose reader reports the error.
func (f *sourceFlags) boxesOrPlaces(files []string) string {
	for _, name := range boxFlagNames {
		if f.flags.Changed(name) {
			return catfish.KindBoxes
		}
	}
	for _, spec := range files {
		if f.areBoxes(spec) {
			return catfish.KindBoxes
		}
	}
	return catfish.KindFeatures
}

func (f *sourceFlags) areBoxes(spec string) bool {
	if spec == places.Stdin {
		return false // Boxes are read from files only.
	}
	if _, err := places.ParseFormat(f.format); err == nil && f.format != string(datasets.CSV) && f.format != "osm" {
		return false
	}
	src, err := f.open(spec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true // The reader that opens it reports the error.
	case err != nil:
		return false // Packed, or of a format that boxes are not read from.
	}
	switch src.Format() {
	case datasets.GeoJSON, datasets.OSM:
		return false
	case datasets.CSV:
		return hasBoxHeader(src.Name())
	}
	return true
}

// boxHeaders are the header lines of CSV files of boxes (package datasets).
var boxHeaders = []string{"id,minx,miny,maxx,maxy", "id,x,y"}

func hasBoxHeader(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 4096).ReadSlice('\n') // an error shows in the line
	text := strings.TrimSpace(strings.TrimPrefix(string(line), "\ufeff"))
	return slices.Contains(boxHeaders, strings.ToLower(strings.ReplaceAll(text, " ", "")))
}
