package web

import (
	"errors"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// bbox is the area of parameter bbox: west, south, east, north, or six numbers with a
// lowest and a highest height, which features do not have. If west is greater than east,
// the box crosses 180 degrees. By the standard, an answer to a bbox also has the features
// without a geometry (store.Query.Nowhere).
func (p *params) bbox() (*store.Area, error) {
	b, err := p.box()
	if b == nil || err != nil {
		return nil, err
	}
	return query.Box(b[0], b[1], b[2], b[3]), nil
}

// box is bbox as west, south, east, north; nil if the parameter is absent.
func (p *params) box() (*[4]float64, error) {
	text, ok := p.take("bbox")
	if !ok {
		return nil, nil
	}
	bad := func(err error) (*[4]float64, error) {
		return nil, &paramError{name: "bbox", value: text, err: err,
			want: "west,south,east,north in degrees, longitudes from -180 to 180, latitudes from -90 to 90, " +
				"or six numbers with heights as the third and sixth"}
	}
	n := 1 + strings.Count(text, ",")
	if n != 4 && n != 6 {
		return bad(errors.New("there are " + strconv.Itoa(n) + " numbers"))
	}
	var all [6]float64
	v := all[:0]
	for s := range strings.SplitSeq(text, ",") {
		f, err := number(s)
		if err != nil {
			return bad(err)
		}
		v = append(v, f)
	}
	west, south, east, north := v[0], v[1], v[len(v)/2], v[len(v)/2+1]
	switch {
	case len(v) == 6 && v[2] > v[5]:
		return bad(errors.New("the lowest height is above the highest"))
	case south > north:
		return bad(errors.New("south is greater than north"))
	case min(west, east) < -180 || max(west, east) > 180:
		return bad(errors.New("a longitude is out of range"))
	case south < -90 || north > 90:
		return bad(errors.New("a latitude is out of range"))
	}
	return &[4]float64{west, south, east, north}, nil
}
