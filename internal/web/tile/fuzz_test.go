package tile

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
)

// anyGeometry makes a geometry of numbers; next returns one from 0 to 1.
func anyGeometry(next func() float64, depth int) orb.Geometry {
	// Nearby, on common coordinates, or anywhere; at a border of the world too.
	x, y := next()*400-200, next()*200-100
	size := math.Exp2(-20*next()) * 200
	if next() < 0.2 {
		x, y = math.Round(x/45)*45, math.Round(y/45)*45
	}
	at := func() orb.Point {
		p := orb.Point{x + size*(next()-0.5), y + size*(next()-0.5)}
		if next() < 0.2 {
			p[0], p[1] = x, math.Round(p[1])
		}
		return orb.Point{min(max(p[0], -180), 180), min(max(p[1], -90), 90)}
	}
	line := func(n int) (l []orb.Point) {
		for range n {
			if l = append(l, at()); next() < 0.1 {
				l = append(l, l[len(l)-1])
			}
		}
		return l
	}
	ring := func() orb.Ring {
		l := line(3 + int(next()*600*next()))
		return append(l, l[0])
	}
	n := 1 + int(next()*3)
	switch int(next() * 8) {
	case 0:
		return at()
	case 1:
		return orb.MultiPoint(line(n))
	case 2:
		return orb.LineString(line(2 + int(next()*600)))
	case 3:
		var m orb.MultiLineString
		for range n {
			m = append(m, line(2+int(next()*30)))
		}
		return m
	case 4:
		p := orb.Polygon{ring()}
		for range n - 1 {
			p = append(p, ring())
		}
		return p
	case 5:
		var m orb.MultiPolygon
		for range n {
			m = append(m, orb.Polygon{ring(), ring()})
		}
		return m
	}
	var c orb.Collection
	for range n {
		if depth < 3 {
			c = append(c, anyGeometry(next, depth+1))
		}
	}
	return c
}

// drawAny draws a geometry in a tile where it lies, and checks the contents.
func drawAny(t *testing.T, next func() float64) {
	g := anyGeometry(next, 0)
	b, err := feature.Append(nil, g, nil)
	if err != nil {
		return // These rings are invalid.
	}
	v, err := feature.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	z := int(next() * (MaxZoom + 1))
	in := v.Bound()
	p := orb.Point{in.MinX + (in.MaxX-in.MinX)*next(), in.MinY + (in.MaxY-in.MinY)*next()}
	if v.Type() == feature.None || math.IsInf(in.MinX, 0) {
		p = orb.Point{}
	}
	world := &area{n: math.Exp2(float64(z))}
	at := world.project(p, 0)
	tile := func(u float64) int { return min(max(int(u/extent), 0), 1<<z-1) }
	a, err := newArea(z, tile(at[0]), tile(at[1]))
	if err != nil {
		t.Fatal(err)
	}
	s := &shaper{a: a, coarse: 1}
	l := &layer{}
	l.reset(math.MaxInt, &Options{})
	s.draw(&v)
	l.feature([]byte("x"), &v, s)
	data, _ := l.encode("layer")
	decode(t, data, "layer")
}

// TestAnyGeometry: wherever a geometry is drawn, nothing in the tile is empty,
// degenerate or out of place.
func TestAnyGeometry(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for range 2000 {
		drawAny(t, r.Float64)
	}
}

func FuzzDraw(f *testing.F) {
	r := rand.New(rand.NewPCG(8, 2))
	for range 30 {
		b := make([]byte, 2*(20+r.IntN(200)))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		drawAny(t, func() float64 {
			if len(b) < 2 {
				return 0
			}
			n := binary.LittleEndian.Uint16(b)
			b = b[2:]
			return float64(n) / (1 << 16)
		})
	})
}
