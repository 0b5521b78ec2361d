package feature

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

const radians = math.Pi / 180

// Origin is a point from which distances are measured, prepared for many
// features. It is a value and does not change.
type Origin struct {
	space    Space
	x, y     float64 // degrees, or the unit of the plane
	sin, cos float64 // of the latitude
}

// NewOrigin normalises and checks the point as Normalise does.
func NewOrigin(s Space, p orb.Point) (Origin, error) {
	n := normaliser{Options: Options{Space: s}, left: 1}
	if err := n.check(p); err != nil {
		return Origin{}, fmt.Errorf("geometry%w", prefix(".coordinates", err))
	}
	return originAt(s, n.wrap(p[0]), p[1]), nil
}

func originAt(s Space, x, y float64) Origin {
	o := Origin{space: s, x: x, y: y}
	if s == Geographic {
		o.sin, o.cos = math.Sincos(y * radians)
	}
	return o
}

// antipode is the opposite point of the sphere.
func (o *Origin) antipode() Origin {
	return originAt(o.space, wrapLongitude(o.x+180), -o.y)
}

// haversine of the angle between o and a point: sin² of half of it. It grows
// with the angle and is periodic in the longitude.
func (o *Origin) haversine(lon, lat float64) float64 {
	s := math.Sin((lat - o.y) * (radians / 2))
	t := math.Sin((lon - o.x) * (radians / 2))
	return s*s + o.cos*math.Cos(lat*radians)*t*t
}

// metres is the great-circle distance. The usual asin of the haversine loses
// half of its digits at the antipode; with 1-h, computed without
// cancellation, none are lost.
func (o *Origin) metres(lon, lat float64) float64 {
	h := o.haversine(lon, lat)
	s := math.Sin((lat + o.y) * (radians / 2))
	t := math.Cos((lon - o.x) * (radians / 2))
	k := s*s + o.cos*math.Cos(lat*radians)*t*t // 1-h
	return 2 * EarthRadius * math.Atan2(math.Sqrt(h), math.Sqrt(k))
}

// slack covers rounding, in metres: the longitudes and latitudes of the
// computations below have errors of a few 2^-53 of a turn, less than 1e-8 m on
// the ground. A hundred times that loses nothing.
const slack = 1e-6

// LowerBound is at most Distance of any feature whose geometry has a point in b
// nearest to o, and so of every feature whose boxes all have at least this
// bound. A tree's nearest search needs this bound.
//
// In the plane it is the distance to the box, computed by the same operations
// as Distance, which all are monotone, so that no rounding can lift it above.
//
// On the sphere, for each latitude of the box the haversine grows with the
// difference in longitude, taken the short way round, up to 180 degrees. So
//
//   - if o lies between the box's west and east, the nearest point has o's
//     longitude, and the distance is the difference in latitude;
//   - else the nearest point lies on the edge, west or east, that is nearer
//     in longitude. With l that difference, the cosine of the angle to the
//     point of latitude f on it is sin(y) sin(f) + cos(y) cos(f) cos(l),
//     which is C cos(f - f*) with f* = atan2(sin y, cos y cos l), C >= 0. It
//     is greatest at f*, if that is in the box, or else at one of both ends.
//
// The poles need no special case, since nothing above divides by the cosine
// of a latitude. Features are cut at 180 degrees, so that boxes do not wrap;
// the short way round is what finds those on the other side. Distance is never
// less than the distance to some point of the geometry, except for rounding,
// which slack covers.
func (o *Origin) LowerBound(b Box) float64 {
	if o.space == Planar {
		return planarDistance(o.x, o.y, min(max(o.x, b.MinX), b.MaxX),
			min(max(o.y, b.MinY), b.MaxY))
	}
	if o.x >= b.MinX && o.x <= b.MaxX {
		y := min(max(o.y, b.MinY), b.MaxY)
		return max(0, EarthRadius*radians*math.Abs(y-o.y)*(1-1e-12)-slack)
	}
	west, east := turnTo(o.x, b.MinX), turnTo(o.x, b.MaxX)
	x := b.MinX
	l := west
	if east < west {
		x, l = b.MaxX, east
	}
	best := min(o.metres(x, b.MinY), o.metres(x, b.MaxY))
	y := math.Atan2(o.sin, o.cos*math.Cos(l*radians)) / radians
	if y > b.MinY && y < b.MaxY {
		best = min(best, o.metres(x, y))
	}
	return max(0, best*(1-1e-12)-slack)
}

// turnTo is the difference of two longitudes the short way round, 0..180.
func turnTo(a, b float64) float64 {
	d := math.Abs(a - b)
	return min(d, math.Abs(360-d))
}

func planarDistance(ax, ay, bx, by float64) float64 {
	dx, dy := bx-ax, by-ay
	return math.Sqrt(float64(dx*dx) + float64(dy*dy))
}

// around returns boxes that cover all within radius of o.
func (o *Origin) around(radius float64) []Box {
	if o.space == Planar {
		// Round outwards by one step: the sum may have been rounded inwards.
		r := math.Nextafter(radius, math.Inf(1))
		down, up := math.Inf(-1), math.Inf(1)
		return []Box{{
			math.Nextafter(o.x-r, down), math.Nextafter(o.y-r, down),
			math.Nextafter(o.x+r, up), math.Nextafter(o.y+r, up),
		}}
	}
	angle := (radius*(1+1e-12) + slack) / EarthRadius
	south, north := o.y-angle/radians, o.y+angle/radians
	if angle >= math.Pi || south <= -90 || north >= 90 {
		return []Box{{-180, max(south, -90), 180, min(north, 90)}}
	}
	// The meridian that touches the circle: sin l = sin(angle) / cos(y).
	l := math.Asin(min(1, math.Sin(angle)/o.cos)) / radians * (1 + 1e-12)
	return longitudes(nil, o.x-l, south, o.x+l, north)
}
