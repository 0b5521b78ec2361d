package places

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Usual names of the columns of longitude and latitude, in pairs, the more
// certain ones first. stop_lon is of GTFS, decimalLongitude of Darwin Core,
// longitude_deg of OurAirports.
var (
	positionNames = [][2]string{
		{"longitude", "latitude"}, {"lon", "lat"}, {"lng", "lat"}, {"long", "lat"},
		{"longitude_deg", "latitude_deg"}, {"lon_deg", "lat_deg"},
		{"decimallongitude", "decimallatitude"}, {"stop_lon", "stop_lat"}, {"x", "y"},
	}
	wktNames = []string{"wkt", "geometry", "geom", "the_geom"}
)

// separators are the candidates of findSeparator; the first wins a tie.
const separators = ",;\t|"

// findSeparator returns the separator that occurs most often in the header line,
// outside of quotes.
func findSeparator(line []byte) (rune, error) {
	var counts [len(separators)]int
	quoted := false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if i := strings.IndexByte(separators, c); i >= 0 && !quoted {
			counts[i]++
		}
	}
	most := 0
	for i, n := range counts {
		if n > counts[most] {
			most = i
		}
	}
	if counts[most] == 0 {
		return 0, fmt.Errorf("%w: no comma, semicolon, tab or pipe in the header line %s,"+
			" want one, or Options.Separator (--separator)", input.ErrSyntax, input.Quote(line))
	}
	return rune(separators[most]), nil
}

// headerLine returns the first line that is not blank.
func headerLine(head []byte) []byte {
	head = bytes.TrimPrefix(head, []byte(input.ByteOrderMark))
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	return line
}

// columns says what each column of a CSV file is for. Indices are -1 for missing
// columns.
type columns struct {
	names        []string // of the columns, unique
	keys         [][]byte // "name": as JSON; nil if the column is no property
	text         []bool   // columns whose fields are not numbers
	id, x, y     int
	wkt          int
	idIsOptional bool
}

// findColumns interprets a header.
func findColumns(header []string, opts Options) (*columns, error) {
	c := &columns{id: -1, x: -1, y: -1, wkt: -1}
	lower := make([]string, len(header))
	for i, name := range header {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("%w: the header line is not UTF-8", input.ErrSyntax)
		}
		lower[i] = strings.ToLower(strings.TrimSpace(name))
	}
	var err error
	find := func(name, option string) int {
		i := slices.Index(lower, strings.ToLower(strings.TrimSpace(name)))
		if i < 0 && err == nil {
			err = fmt.Errorf("%w: no column %s, which %s names; there are %s",
				input.ErrOption, input.Quote(name), option, input.QuoteUpTo(strings.Join(header, ", "), 400))
		}
		return i
	}
	if c.id, c.idIsOptional = slices.Index(lower, "id"), true; opts.ID != "" {
		c.id, c.idIsOptional = find(opts.ID, "Options.ID (--id)"), false
	}
	switch {
	case opts.X != "":
		c.x, c.y = find(opts.X, "Options.X (--x)"), find(opts.Y, "Options.Y (--y)")
	case opts.WKT != "":
		c.wkt = find(opts.WKT, "Options.WKT (--wkt)")
	default:
		c.guess(lower)
	}
	c.text = make([]bool, len(header))
	for _, name := range opts.Text {
		if i := find(name, "Options.Text (--text)"); i >= 0 {
			c.text[i] = true
		}
	}
	if err != nil {
		return nil, err
	}
	if c.x < 0 && c.wkt < 0 {
		return nil, fmt.Errorf("%w: no columns of positions in %s; want longitude and"+
			" latitude, lon and lat, x and y, or wkt, or name them with Options.X and"+
			" Options.Y (--x and --y)", input.ErrSyntax, input.QuoteUpTo(strings.Join(header, ", "), 400))
	}
	c.name(header, lower)
	return c, nil
}

// guess finds the geometry by the usual names. It prefers a geometry to a
// position, since it has more information.
func (c *columns) guess(lower []string) {
	for _, name := range wktNames {
		if c.wkt = slices.Index(lower, name); c.wkt >= 0 {
			return
		}
	}
	for _, pair := range positionNames {
		x, y := slices.Index(lower, pair[0]), slices.Index(lower, pair[1])
		if x >= 0 && y >= 0 {
			c.x, c.y = x, y
			return
		}
	}
}

// name makes property names. A column without a name is called by its number,
// from 1; a name that occurred before gets the number, too.
func (c *columns) name(header, lower []string) {
	seen := make(map[string]bool, len(header))
	c.keys = make([][]byte, len(header))
	for i, name := range header {
		name = strings.TrimSpace(name)
		if name == "" {
			name = fmt.Sprintf("column%d", i+1)
		}
		for seen[name] {
			name = fmt.Sprintf("%s_%d", name, i+1)
		}
		seen[name] = true
		c.names = append(c.names, name)
		if i == c.x || i == c.y || i == c.wkt || i == c.id && lower[i] == "id" {
			continue
		}
		c.keys[i] = append(appendString(nil, name), ':')
	}
}
