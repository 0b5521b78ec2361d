package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkt"
	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/places"
)

// answerFlags say how features are printed.
type answerFlags struct {
	format string
	fieldFlags
}

var answerFlagNames = []string{"format", "fields", "no-geometry"}

// fieldFlags say which parts of features are requested.
type fieldFlags struct {
	fields     []string
	noGeometry bool
}

func (f *fieldFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringSliceVar(&f.fields, "fields", nil, "features: properties that are asked for, printed in this order; empty: all")
	fs.BoolVar(&f.noGeometry, "no-geometry", false, "features: without their geometries")
}

// selection returns the requested parts.
func (f *fieldFlags) selection() catfish.FeatureFields {
	return catfish.FeatureFields{Fields: f.fields, NoGeometry: f.noGeometry}
}

var answerFormats = []string{"table", "geojson", "geojsonseq", "csv"}

func (f *answerFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "table", "features: how they are printed: "+strings.Join(answerFormats, ", "))
	f.fieldFlags.register(c)
	Complete(c, "format", answerFormats...)
}

func (f *answerFlags) check(asJSON bool) error {
	if !slices.Contains(answerFormats, f.format) {
		return BadUsage("--format is %q, want %s", f.format, strings.Join(answerFormats, ", "))
	}
	if asJSON && f.format != "table" {
		return BadUsage("--json and --format %s, want one of them", f.format)
	}
	return nil
}

// place returns the parts of a feature to print.
func (f *answerFlags) place(x catfish.Feature) (places.Place, error) {
	p := places.Place{ID: x.ID, Geometry: x.Geometry, Altitudes: x.Altitudes, Properties: x.Properties}
	if len(f.fields) == 0 || p.Properties == nil {
		return p, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(p.Properties, &all); err != nil {
		return p, fmt.Errorf("properties of %q: %w", x.ID, err)
	}
	b := []byte{'{'}
	for _, name := range f.fields {
		if v, ok := all[name]; ok {
			if len(b) > 1 {
				b = append(b, ',')
			}
			key, err := json.Marshal(name)
			if err != nil {
				return p, err
			}
			b = append(append(append(b, key...), ':'), v...)
		}
	}
	b = append(b, '}')
	p.Properties = b
	return p, nil
}

// featureJSON is a feature with the fields that GeoJSON does not define.
type featureJSON struct {
	ID       string          `json:"id"`
	Metres   *float64        `json:"distance_m,omitempty"` // of nearest only
	Distance *float64        `json:"distance,omitempty"`   // the same in a planar collection
	Revision uint64          `json:"revision"`
	Expires  *time.Time      `json:"expires,omitempty"`
	Feature  json.RawMessage `json:"feature"`
}

func (f *answerFlags) json(x catfish.Feature) (j featureJSON, err error) {
	j = featureJSON{ID: x.ID, Revision: x.Revision}
	if !x.Expires.IsZero() {
		j.Expires = &x.Expires
	}
	p, err := f.place(x)
	if err == nil {
		j.Feature, err = places.AppendFeature(nil, p)
	}
	return j, err
}

// printer writes features one by one, as they arrive.
type printer struct {
	f      *answerFlags
	a      *App
	n      int
	near   bool          // print distances
	space  feature.Space // of the distances
	asJSON bool
	items  []featureJSON  // of --json
	rows   []places.Place // of csv, which needs all rows for its columns
	buf    bytes.Buffer
}

// printEvery is how many bytes are gathered between writes.
const printEvery = 64 << 10

func (p *printer) print(x catfish.Feature) error {
	p.n++
	if p.asJSON {
		j, err := p.f.json(x)
		if p.near {
			if d := &x.Distance; p.space == feature.Planar {
				j.Distance = d
			} else {
				j.Metres = d
			}
		}
		p.items = append(p.items, j)
		return err
	}
	pl, err := p.f.place(x)
	if err != nil {
		return err
	}
	if p.near && p.f.format != "table" {
		if pl.Properties, err = withDistance(pl.Properties, p.distanceName(), x.Distance); err != nil {
			return err
		}
	}
	switch p.f.format {
	case "csv":
		p.rows = append(p.rows, pl)
		return nil
	case "table":
		p.row(pl, x)
	default:
		switch {
		case p.f.format == "geojson" && p.n == 1:
			p.buf.WriteString(`{"type":"FeatureCollection","features":[` + "\n")
		case p.f.format == "geojson":
			p.buf.WriteString(",\n")
		}
		b, err := places.AppendFeature(p.buf.AvailableBuffer(), pl)
		if err != nil {
			return err
		}
		p.buf.Write(b)
		if p.f.format == "geojsonseq" {
			p.buf.WriteByte('\n')
		}
	}
	if p.buf.Len() >= printEvery {
		return p.flush()
	}
	return nil
}

func (p *printer) distanceName() string {
	if p.space == feature.Planar {
		return "distance"
	}
	return "distance_m"
}

// withDistance adds a member to properties.
func withDistance(properties json.RawMessage, name string, d float64) (json.RawMessage, error) {
	text, err := json.Marshal(map[string]float64{name: d})
	if err != nil || len(properties) <= len("{}") {
		return text, err
	}
	return append(append(bytes.Clone(properties[:len(properties)-1]), ','), text[1:]...), nil
}

// row is a line for people and cut(1): id, geometry, properties, and for nearest the
// distance.
func (p *printer) row(pl places.Place, x catfish.Feature) {
	fmt.Fprintf(&p.buf, "%s\t%s\t%s", plain([]byte(pl.ID)), geometryText(pl.Geometry), pl.Properties)
	if p.near {
		unit := " m"
		if p.space == feature.Planar {
			unit = ""
		}
		fmt.Fprintf(&p.buf, "\tdistance %.6g%s", x.Distance, unit)
	}
	p.buf.WriteByte('\n')
}

// maxGeometryText is the longest geometry in a table: about ten positions.
const maxGeometryText = 120

func geometryText(g orb.Geometry) string {
	switch g := g.(type) {
	case nil:
		return "-"
	case orb.Point:
		return fmt.Sprintf("%v,%v", g[0], g[1])
	}
	b := g.Bound()
	if points(g, maxGeometryText/8) {
		if s := wkt.MarshalString(g); len(s) <= maxGeometryText && utf8.ValidString(s) {
			return s
		}
	}
	return fmt.Sprintf("%s in %v,%v,%v,%v", g.GeoJSONType(), b.Min[0], b.Min[1], b.Max[0], b.Max[1])
}

// points reports whether a geometry has at most n positions.
func points(g orb.Geometry, n int) bool {
	switch g := g.(type) {
	case orb.MultiPoint:
		return len(g) <= n
	case orb.LineString:
		return len(g) <= n
	case orb.Polygon:
		for _, r := range g {
			n -= len(r)
		}
		return n >= 0
	}
	return false
}

func (p *printer) flush() error {
	_, err := io.Copy(p.a.Out, &p.buf)
	p.buf.Reset()
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// end completes the answer. next is the cursor of the next page, empty if there is none.
func (p *printer) end(next string, info catfish.ConnInfo) error {
	if p.asJSON {
		if p.items == nil {
			p.items = []featureJSON{} // [] in JSON, not null
		}
		return p.a.json(struct {
			Count     int           `json:"count"`
			Items     []featureJSON `json:"items"`
			Next      string        `json:"next,omitempty"`
			Policy    string        `json:"policy"`
			Transport string        `json:"transport"`
		}{p.n, p.items, next, info.Policy, info.Transport})
	}
	switch p.f.format {
	case "csv":
		columns := p.f.fields
		if len(columns) > 0 && p.near {
			columns = append(slices.Clone(columns), p.distanceName())
		}
		text := slices.ContainsFunc(p.rows, func(pl places.Place) bool {
			_, point := pl.Geometry.(orb.Point)
			return pl.Altitudes != nil || pl.Geometry != nil && !point
		})
		if _, err := places.Write(&p.buf, places.CSV, func(yield func(places.Place, error) bool) {
			for _, pl := range p.rows {
				if !yield(pl, nil) {
					return
				}
			}
		}, places.WriteOptions{Columns: p.columns(columns), WKT: text}); err != nil {
			return err
		}
	case "geojson":
		if p.n == 0 {
			p.buf.WriteString(`{"type":"FeatureCollection","features":[`)
		}
		fmt.Fprintf(&p.buf, "\n],\"numberReturned\":%d", p.n)
		if next != "" {
			text, err := json.Marshal(next)
			if err != nil {
				return err
			}
			fmt.Fprintf(&p.buf, `,"next":%s`, text)
		}
		p.buf.WriteString("}\n")
	}
	if err := p.flush(); err != nil {
		return err
	}
	more := ""
	if next != "" {
		more = fmt.Sprintf("; there are more: --cursor %s", shellWord(next))
	}
	fmt.Fprintf(p.a.Err, "%d features, policy %s, transport %s%s\n", p.n, info.Policy, info.Transport, more)
	return nil
}

// columns returns the columns of all rows, in the order in which they first occur.
func (p *printer) columns(given []string) []string {
	if len(given) > 0 {
		return given
	}
	seen := map[string]bool{}
	for _, pl := range p.rows {
		for _, name := range memberNames(pl.Properties) {
			if !seen[name] {
				seen[name] = true
				given = append(given, name)
			}
		}
	}
	return given
}

// memberNames returns the names of an object's members, in their order.
func memberNames(object json.RawMessage) (names []string) {
	if object == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var v json.RawMessage
		if err != nil || d.Decode(&v) != nil {
			return names
		}
		if name, ok := key.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// shellWord quotes a word that a shell would split or expand.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,+@", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
