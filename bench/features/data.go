package features

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/places"
)

// Tenth is a property that each feature gets besides its own: 0 to 9, each for a
// tenth of the features, by no other rule. Filters that pass one in ten use it.
const Tenth = "tenth"

// maxLat is the limit of tiles to the north and south: shapes given in degrees
// are distorted near the poles.
const maxLat = 80

// Data are features copied from a source repeatedly: copies of all of them, the
// tiles, lie side by side on a grid that is about square, around the source.
// Tags and shapes are kept. The same source and number give the same features.
//
//	+-------+-------+-------+
//	| @3    | @4    | @5    |     id of a copy: way/7@4
//	+-------+-------+-------+
//	| @0    | @1    | @2    |
//	+-------+-------+-------+
type Data struct {
	n           int
	base        []places.Place
	dx, dy      float64 // of a tile, in degrees
	west, south float64 // of the first tile, from the source's place
	cols        int
	points      []int // which of base are points
}

// large is the share of a tile, of its width or height, above which a feature
// is left out unless borders are wanted: of Andorra's 29,149 it leaves out
// 143, such as countries, parishes and parks. Nearly all other features lie in
// three of these or more, so hardly a search could find one feature.
const large = 1.0 / 20

// Open reads the source of a job, in any format of internal/places.
func Open(job DataJob) (*Data, error) {
	if job.Features < 1 || job.Features > maxFeatures {
		return nil, fmt.Errorf("%w: %d features, want 1 to %d", harness.ErrConfig, job.Features, maxFeatures)
	}
	r, err := places.Open(job.Source, places.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d := &Data{n: job.Features}
	var all orb.Bound
	for p, err := range r.All() {
		if err != nil {
			return nil, err
		}
		if p.Geometry == nil || p.ID == "" {
			continue
		}
		b := p.Geometry.Bound()
		if all = all.Union(b); len(d.base) == 0 {
			all = b
		}
		d.base = append(d.base, p)
	}
	if !job.Borders {
		d.base = slices.DeleteFunc(d.base, func(p places.Place) bool {
			b := p.Geometry.Bound()
			return b.Max[0]-b.Min[0] > large*(all.Max[0]-all.Min[0]) || b.Max[1]-b.Min[1] > large*(all.Max[1]-all.Min[1])
		})
	}
	for i, p := range d.base {
		if _, ok := p.Geometry.(orb.Point); ok {
			d.points = append(d.points, i)
		}
	}
	if len(d.base) == 0 || len(d.points) == 0 {
		return nil, fmt.Errorf("%w: %s has %d features with an id and a place, %d of them points: want some of both",
			harness.ErrConfig, job.Source, len(d.base), len(d.points))
	}
	return d, d.lay(all)
}

// lay computes the grid.
func (d *Data) lay(all orb.Bound) error {
	// A gap of a hundredth between tiles, so that no tiles touch.
	d.dx, d.dy = 1.01*max(all.Max[0]-all.Min[0], 1e-6), 1.01*max(all.Max[1]-all.Min[1], 1e-6)
	tiles := (d.n + len(d.base) - 1) / len(d.base)
	cols := min(int(math.Ceil(math.Sqrt(float64(tiles)))), int(360/d.dx))
	rows := 0
	if cols > 0 {
		rows = (tiles + cols - 1) / cols
	}
	if cols == 0 || float64(rows)*d.dy > 2*maxLat {
		return fmt.Errorf("%w: %d tiles of %.2f by %.2f degrees do not fit on a globe", harness.ErrConfig, tiles, d.dx, d.dy)
	}
	// Around the source, but within valid coordinates.
	west := min(max(all.Min[0]-float64(cols/2)*d.dx, -180), 180-float64(cols)*d.dx)
	south := min(max(all.Min[1]-float64(rows/2)*d.dy, -maxLat), maxLat-float64(rows)*d.dy)
	if tiles == 1 {
		west, south = all.Min[0], all.Min[1]
	}
	d.cols, d.west, d.south = cols, west-all.Min[0], south-all.Min[1]
	return nil
}

// Len is the number of features.
func (d *Data) Len() int { return d.n }

// Feature is number i, from 0. It may be changed.
func (d *Data) Feature(i int) catfish.Feature {
	p, tile := &d.base[i%len(d.base)], i/len(d.base)
	dx, dy := d.west+float64(tile%d.cols)*d.dx, d.south+float64(tile/d.cols)*d.dy
	return catfish.Feature{
		ID:         p.ID + "@" + strconv.Itoa(tile),
		Geometry:   shifted(p.Geometry, dx, dy),
		Properties: withTenth(p.Properties, tenth(i)),
	}
}

// Point is a position of feature i.
func (d *Data) Point(i int) orb.Point {
	p, tile := &d.base[i%len(d.base)], i/len(d.base)
	at := first(p.Geometry)
	return orb.Point{at[0] + d.west + float64(tile%d.cols)*d.dx, at[1] + d.south + float64(tile/d.cols)*d.dy}
}

// Object is the number of the i-th feature that is a point, for any i.
func (d *Data) Object(i int) int {
	tiles := max(d.n/len(d.base), 1)
	n := d.points[i%len(d.points)] + i/len(d.points)%tiles*len(d.base)
	if n >= d.n { // of a source that is not used completely
		n = d.points[0]
	}
	return n
}

// All are all features, in order.
func (d *Data) All() iter.Seq2[places.Place, error] {
	return func(yield func(places.Place, error) bool) {
		for i := range d.n {
			f := d.Feature(i)
			if !yield(places.Place{ID: f.ID, Geometry: f.Geometry, Properties: f.Properties}, nil) {
				return
			}
		}
	}
}

// Write writes the features, one per line.
func (d *Data) Write(w io.Writer) (int64, error) {
	return places.Write(w, places.GeoJSONSeq, d.All(), places.WriteOptions{})
}

// tenth of feature i: the upper bits of Knuth's multiplicative hash, so that
// neighbours differ.
func tenth(i int) int { return int(uint64(uint32(i)*2654435761) * 10 >> 32) }

func withTenth(p []byte, n int) []byte {
	p = bytes.TrimSpace(p)
	out := make([]byte, 0, len(p)+12)
	out = append(out, `{"`+Tenth+`":`...)
	out = strconv.AppendInt(out, int64(n), 10)
	if len(p) > 2 { // not {}
		out = append(out, ',')
		return append(out, p[1:]...)
	}
	return append(out, '}')
}

// shifted is a copy of a geometry, moved by dx and dy.
func shifted(g orb.Geometry, dx, dy float64) orb.Geometry {
	g = orb.Clone(g)
	move := func(ps []orb.Point) {
		for i := range ps {
			ps[i][0] += dx
			ps[i][1] += dy
		}
	}
	switch g := g.(type) {
	case orb.Point:
		return orb.Point{g[0] + dx, g[1] + dy}
	case orb.MultiPoint:
		move(g)
	case orb.LineString:
		move(g)
	case orb.MultiLineString:
		for _, l := range g {
			move(l)
		}
	case orb.Polygon:
		for _, r := range g {
			move(r)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			for _, r := range p {
				move(r)
			}
		}
	case orb.Collection:
		for i := range g {
			g[i] = shifted(g[i], dx, dy)
		}
	}
	return g
}

// first is a position of a geometry, which has at least one.
func first(g orb.Geometry) orb.Point {
	switch g := g.(type) {
	case orb.Point:
		return g
	case orb.MultiPoint:
		return g[0]
	case orb.LineString:
		return g[0]
	case orb.MultiLineString:
		return g[0][0]
	case orb.Polygon:
		return g[0][0]
	case orb.MultiPolygon:
		return g[0][0][0]
	case orb.Collection:
		return first(g[0])
	}
	return g.Bound().Center()
}
