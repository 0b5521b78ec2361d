package tile

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

const (
	// extent is a tile's side, and buffer the margin drawn beyond it, in units.
	// Both are common values (MVT specification 4.1; PostGIS, geojson-vt):
	// strokes and circles of up to 8 pixels are whole at borders.
	extent = 4096
	buffer = 64
	// pixel is one in units, of a tile that is drawn 512 pixels wide.
	pixel = extent / 512

	// MaxZoom is the deepest zoom: a unit is 0.6 mm there.
	MaxZoom = 24

	// MaxLatitude is the edge of the world in Web Mercator, a square:
	// atan(sinh(pi)).
	MaxLatitude = 85.05112877980659
)

// area is a tile's area.
type area struct {
	z, x, y int
	n       float64 // tiles to a side
	// Longitudes of the drawn area, with the buffer, may be beyond 180 degrees;
	// latitudes are not beyond the world's.
	west, south, east, north float64
	copies                   []worldCopy
}

// worldCopy is the part of one copy of the world, in degrees, that a tile
// shows: at 180 degrees another copy of the world begins.
//
//	  copy -1     copy 0        copy 1
//	------180|-180 ----- 180|-180------
//	       [tile 0 with buffer]
type worldCopy struct {
	clip  orb.Bound
	shift float64 // added to longitudes
}

func newArea(z, x, y int) (*area, error) {
	if z < 0 || z > MaxZoom || x < 0 || y < 0 || x >= 1<<z || y >= 1<<z {
		return nil, fmt.Errorf("%w %d/%d/%d, want a zoom from 0 to %d, and x and y less than two to its power", ErrNoTile, z, x, y, MaxZoom)
	}
	a := &area{z: z, x: x, y: y, n: float64(uint(1) << z)}
	a.west, a.east = a.longitude(-buffer), a.longitude(extent+buffer)
	a.north, a.south = a.latitude(-buffer), a.latitude(extent+buffer)
	for _, shift := range []float64{0, -360, 360} {
		c := orb.Bound{
			Min: orb.Point{max(a.west-shift, -180), a.south}, Max: orb.Point{min(a.east-shift, 180), a.north},
		}
		if c.Min[0] <= c.Max[0] {
			a.copies = append(a.copies, worldCopy{c, shift})
		}
	}
	return a, nil
}

// longitude returns the longitude of a column of units.
func (a *area) longitude(u float64) float64 { return (float64(a.x)+u/extent)/a.n*360 - 180 }

// latitude returns the latitude of a row of units, within the world.
func (a *area) latitude(u float64) float64 {
	v := (float64(a.y) + u/extent) / a.n // 0 in the north, 1 in the south
	switch {
	case v <= 0:
		return MaxLatitude
	case v >= 1:
		return -MaxLatitude
	}
	return math.Atan(math.Sinh(math.Pi*(1-2*v))) * 180 / math.Pi
}

// project returns units.
func (a *area) project(p orb.Point, shift float64) orb.Point {
	lat := min(max(p[1], -MaxLatitude), MaxLatitude)
	return orb.Point{
		((p[0]+shift+180)/360*a.n - float64(a.x)) * extent,
		((1-math.Asinh(math.Tan(lat*math.Pi/180))/math.Pi)/2*a.n - float64(a.y)) * extent,
	}
}
