package places

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkt"

	"github.com/catfish-index/catfish/internal/places/input"
)

// firstPlaces decide the columns of a CSV file. They are held in memory, so
// their number is small.
const firstPlaces = 1000

// tableWriter writes rows of id, lon and lat or wkt, and the columns.
type tableWriter struct {
	out     *csv.Writer
	first   []Place
	columns []string
	index   map[string]int // of a column in columns
	given   bool           // columns were given, so others are left out
	wkt     bool
	lonLat  bool // always lon and lat
	later   Later
	begun   bool
	row     []string // reused
	n       int64
}

func writeCSV(out *bufio.Writer, all iter.Seq2[Place, error], opts WriteOptions) (int64, error) {
	t := &tableWriter{
		out: csv.NewWriter(out), columns: slices.Clone(opts.Columns),
		given: len(opts.Columns) > 0, wkt: opts.WKT, lonLat: opts.LonLat, later: opts.Later,
	}
	err := t.all(all)
	t.out.Flush()
	if failed := t.out.Error(); err == nil && failed != nil {
		err = fmt.Errorf("places: writing: %w", failed)
	}
	return t.n, err
}

func (t *tableWriter) all(all iter.Seq2[Place, error]) error {
	for p, err := range all {
		switch {
		case err != nil:
			_ = t.begin() // The error of the places explains any other.
			return err
		case t.begun:
			err = t.write(p)
		default:
			if t.first = append(t.first, p); len(t.first) == firstPlaces {
				err = t.begin()
			}
		}
		if err != nil {
			return err
		}
	}
	return t.begin()
}

// begin writes the header, and the places that were held for it.
func (t *tableWriter) begin() error {
	if t.begun {
		return nil
	}
	t.begun = true
	t.index = make(map[string]int)
	for i, name := range t.columns {
		t.index[name] = i
	}
	for i, p := range t.first {
		if _, point := p.Geometry.(orb.Point); p.Geometry != nil && !point {
			t.wkt = true
		}
		t.wkt = t.wkt || p.Altitudes != nil // lon and lat have no room for altitudes
		if t.given {
			continue
		}
		err := eachProperty(p.Properties, func(name string, _ json.RawMessage) error {
			t.column(name)
			return nil
		})
		if err != nil {
			return t.failed(int64(i), p, err)
		}
	}
	if len(t.first) == firstPlaces { // More places may follow.
		t.wkt = t.wkt || t.later.Shapes
		if !t.given {
			for _, name := range t.later.Columns {
				t.column(name)
			}
		}
	}
	header := append([]string{"id", "lon", "lat"}, t.columns...)
	if t.wkt = !t.lonLat && (t.wkt || !positionsFirst(header)); t.wkt {
		header = append([]string{"id", "wkt"}, t.columns...)
	}
	if err := t.out.Write(header); err != nil {
		return fmt.Errorf("places: writing: %w", err)
	}
	t.row = make([]string, len(header))
	for _, p := range t.first {
		if err := t.write(p); err != nil {
			return err
		}
	}
	t.first = nil
	return nil
}

// positionsFirst reports whether a reader of the header uses columns lon and lat for the
// positions. Properties may have names that it prefers, such as geometry; it prefers none
// to a first column wkt.
func positionsFirst(header []string) bool {
	lower := make([]string, len(header))
	for i, name := range header {
		lower[i] = strings.ToLower(strings.TrimSpace(name))
	}
	c := columns{x: -1, y: -1, wkt: -1}
	c.guess(lower)
	return c.x == 1 && c.y == 2
}

// column adds a column, unless it exists.
func (t *tableWriter) column(name string) {
	if _, known := t.index[name]; !known {
		t.index[name] = len(t.columns)
		t.columns = append(t.columns, name)
	}
}

func (t *tableWriter) write(p Place) error {
	clear(t.row)
	t.row[0] = p.ID
	properties := t.row[len(t.row)-len(t.columns):]
	err := t.geometry(&p)
	if err == nil {
		err = eachProperty(p.Properties, func(name string, value json.RawMessage) error {
			i, known := t.index[name]
			if !known && !t.given {
				return fmt.Errorf("%w: property %s is none of the columns, which the first"+
					" %d places set; name the columns (WriteOptions.Columns, --fields)",
					input.ErrOption, input.Quote(name), firstPlaces)
			}
			if !known {
				return nil
			}
			properties[i], err = fieldText(value)
			return err
		})
	}
	if err != nil {
		return t.failed(t.n, p, err)
	}
	if err := t.out.Write(t.row); err != nil {
		return fmt.Errorf("places: writing: %w", err)
	}
	t.n++
	return nil
}

func (t *tableWriter) failed(i int64, p Place, err error) error {
	return fmt.Errorf("places: writing place %d, id %s: %w", i+1, input.Quote(p.ID), err)
}

func (t *tableWriter) geometry(of *Place) error {
	g := of.Geometry
	if g == nil {
		return nil
	}
	if t.wkt {
		if _, err := of.appendGeometry(nil); err != nil { // not finite
			return err
		}
		t.row[1] = wkt.MarshalString(g)
		if of.Altitudes != nil {
			t.row[1] = putWKT(t.row[1], of.Altitudes)
		}
		return nil
	}
	p, ok := g.(orb.Point)
	if what := "an altitude"; !ok || of.Altitudes != nil && !t.lonLat {
		if !ok {
			what = "a " + g.GeoJSONType()
		}
		why := fmt.Sprintf(", which the first %d places set", firstPlaces)
		if t.lonLat {
			why = ""
		}
		return fmt.Errorf("%w: %s has no room in columns lon and lat%s; ask for WKT (WriteOptions.WKT, --geometry wkt) or GeoJSON",
			input.ErrOption, what, why)
	}
	for i, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: coordinate %v, want a finite number", input.ErrSyntax, v)
		}
		t.row[1+i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return nil
}

// eachProperty calls each for the members of a JSON object.
func eachProperty(properties json.RawMessage, each func(string, json.RawMessage) error) error {
	if properties == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(properties))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') {
		return fmt.Errorf("%w: properties %s, want a JSON object", input.ErrSyntax, input.Quote(properties))
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fmt.Errorf("%w: %w", input.ErrSyntax, err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("%w: %w", input.ErrSyntax, err)
		}
		if err := each(key.(string), value); err != nil { // a key always is a string
			return err
		}
	}
	return nil
}

// fieldText returns a JSON value as the field of a row. If a number with an exponent
// would be read as text, it is written in a form that is not.
func fieldText(value json.RawMessage) (string, error) {
	switch {
	case null(value):
		return "", nil
	case value[0] == '-' || isDigit(value[0]):
		text := string(value)
		if v, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, "eE") && !isNumber(text) {
			text = strconv.FormatFloat(v, 'g', -1, 64)
		}
		return text, nil
	case value[0] != '"':
		return string(value), nil
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}
