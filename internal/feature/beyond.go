package feature

import "math"

// angles returns bounds of the angle between o and the nearest point of b, in
// radians, squared, without a trigonometric function. o is geographic.
//
// Let dy and dx be the least differences in latitude and longitude, the latter the
// short way round, and c the cosine of o's latitude.
//
// At most: the way that is straight in longitude and latitude, to the point that
// differs by dy and dx, is as long as a great circle or longer. A step of it is
// sqrt(df² + cos²f dl²), and no latitude f on it differs from o's by more than dy,
// so that cos f <= c + dy.
//
// At least: half of the angle has sin² = sin²(f/2) + c cos(y) sin²(l/2) for a point
// of latitude y that differs by f >= dy and l >= dx; no angle t is less than sin t,
// and sin²(t/2) >= t²/4 (1 - t²/12) up to 180 degrees, as sin t >= t - t³/6. No
// latitude in b differs by more than far, so that cos y >= c - far. So least is at
// most the square of the chord, too, which is 4 sin² of half of the angle.
func (o *Origin) angles(b Box) (least, most float64) {
	dy := max(b.MinY-o.y, o.y-b.MaxY, 0) * radians
	dx := 0.0
	if o.x < b.MinX || o.x > b.MaxX {
		dx = min(turnTo(o.x, b.MinX), turnTo(o.x, b.MaxX)) * radians
	}
	far := max(o.y-b.MinY, b.MaxY-o.y) * radians
	yy, xx := dy*dy, dx*dx
	east := min(1, o.cos+dy)
	return yy*(1-yy/12) + o.cos*max(0, o.cos-far)*xx*(1-xx/12), yy + xx*east*east
}

// grown is the square of an angle that exceeds another one, despite rounding
// errors in either: see slack.
func grown(angle float64) float64 {
	angle += slack / EarthRadius
	return angle * angle * (1 + 1e-9)
}

// Beyond reports whether LowerBound(b) > reach, for most boxes much sooner. It may
// differ from that by slack.
func (o *Origin) Beyond(b Box, reach float64) bool {
	if math.IsInf(reach, 1) {
		return false
	}
	if o.space == Geographic {
		angle := reach / EarthRadius
		switch least, most := o.angles(b); {
		case most <= angle*angle:
			return false
		case least > grown(angle):
			return true
		}
	}
	return o.LowerBound(b) > reach
}
