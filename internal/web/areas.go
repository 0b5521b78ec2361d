package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// Areas of events
//
// One stream may follow many areas. Each has a name, which its events carry:
//
//	GET  ?areas=depot:16.3,48.1,16.5,48.3;airport:16.57,48.11,3000
//	POST {"areas":[{"name":"depot","bbox":[16.3,48.1,16.5,48.3]},
//	               {"name":"airport","point":[16.57,48.11],"radius":3000},
//	               {"name":"town","geometry":{"type":"Polygon",...},"filter":"speed > 50"}]}
//
// Browsers' EventSource can send the GET form. The other parameters are conditions for
// all areas. A feature without a geometry is in no area, as it is in no fence. Parameter
// bbox alone is an exception: with it such features match, as the standard requires.

// world is an area of a query beside which none of a filter is searched for.
var world = query.Box(-180, -90, 180, 90)

// areaSpec is an area in the body of a POST: one of bbox, geometry, or point and radius.
type areaSpec struct {
	Name     string          `json:"name"`
	BBox     []float64       `json:"bbox"`
	Geometry json.RawMessage `json:"geometry"`
	Point    []float64       `json:"point"`
	Radius   float64         `json:"radius"`
	Filter   json.RawMessage `json:"filter"` // a text, or CQL2 JSON
}

const (
	areasWant = "areas such as depot:16.3,48.1,16.5,48.3;airport:16.57,48.11,3000, each with a name and either " +
		"west,south,east,north or longitude,latitude,metres"
	// maxAreaName is the longest name of an area.
	maxAreaName = 128
)

// followed returns the areas to follow, by name, and holds memory for them.
func (q *request) followed(c whole.Collection) (map[string]*store.Query, error) {
	q.turns = limits.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	defer q.turns.End()
	q.params.later = true
	var specs []areaSpec
	var err error
	text, named := q.params.take("areas")
	switch {
	case q.r.Method == http.MethodPost:
		specs, err = q.areasIn()
	case named:
		if specs, err = areasOf(text); err != nil {
			return nil, &paramError{name: "areas", value: text, err: err, want: areasWant}
		}
		if b, both := q.params.take("bbox"); both {
			err = &paramError{name: "bbox", value: b, want: "either bbox or areas"}
		}
	default:
		return q.followedBox(c)
	}
	if err != nil {
		return nil, err
	}
	// An area in the filter is then a second one, beside these.
	common, err := q.conditionsIn(c, store.Query{Area: world}, "lastEventId", "areas")
	if err != nil {
		return nil, err
	}
	size := limits.WatcherBytes + int64(len(q.r.URL.RawQuery))*compiledBytes
	all, filters := make(map[string]*store.Query, len(specs)), map[string]*filter.Program{}
	for i := range specs {
		if err := q.turns.Tick(); err != nil {
			return nil, err
		}
		s := &specs[i]
		a, err := q.followedArea(s, c, &common, filters)
		if err == nil && all[s.Name] != nil {
			err = badArea("there are two of that name")
		}
		if err != nil {
			return nil, ofArea(s.Name, err)
		}
		size += int64(store.WatchWeight(a))*limits.AreaBytes + int64(len(s.Name)+len(s.Filter))*compiledBytes
		if err := q.hold(&q.holds.search, size); err != nil {
			return nil, err
		}
		all[s.Name] = a
	}
	return all, q.hold(&q.holds.body, 0)
}

// followedBox is the area of parameter bbox, or the whole world.
func (q *request) followedBox(c whole.Collection) (map[string]*store.Query, error) {
	query, err := q.conditions(c, "bbox", "lastEventId", "areas")
	if err != nil {
		return nil, err
	}
	size := limits.WatcherBytes + int64(store.WatchWeight(&query))*limits.AreaBytes + int64(len(q.r.URL.RawQuery))*compiledBytes
	return map[string]*store.Query{"": &query}, q.hold(&q.holds.search, size)
}

// areasOf reads parameter areas.
func areasOf(text string) (all []areaSpec, err error) {
	for part := range strings.SplitSeq(text, ";") {
		i := strings.LastIndexByte(part, ':')
		if i < 0 {
			return nil, fmt.Errorf("%q has no name", clip(part, maxValue))
		}
		s := areaSpec{Name: part[:i]}
		for number := range strings.SplitSeq(part[i+1:], ",") {
			f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, fmt.Errorf("area %q: %q is no number", clip(s.Name, maxValue), clip(number, maxValue))
			}
			s.BBox = append(s.BBox, f)
		}
		if len(s.BBox) == 3 {
			s.Point, s.Radius, s.BBox = s.BBox[:2], s.BBox[2], nil
		}
		all = append(all, s)
	}
	return all, nil
}

// areasIn reads the areas from the body of a POST.
func (q *request) areasIn() ([]areaSpec, error) {
	if err := q.mediaType("POST wants", typeJSON); err != nil {
		return nil, err
	}
	body, err := q.body()
	if err != nil {
		return nil, err
	}
	// CompactProperties bounds the nesting depth of the text; package json does not.
	if whole, err := feature.CompactProperties(body); err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	} else if whole == nil {
		return nil, badArea(`the body: want an object such as {"areas":[{"name":"depot","bbox":[16.3,48.1,16.5,48.3]}]}`)
	}
	var in struct {
		Areas []areaSpec `json:"areas"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(&in)
	switch n := len(in.Areas); {
	case err != nil:
		return nil, &statusError{http.StatusBadRequest, "the body: " + strings.TrimPrefix(err.Error(), "json: ")}
	case n == 0 || n > api.MaxWatchAreas:
		return nil, &statusError{http.StatusBadRequest, fmt.Sprintf("the body: there are %d areas, want 1 to %d", n, api.MaxWatchAreas)}
	}
	return in.Areas, nil
}

// ofArea names the area in an error.
func ofArea(name string, err error) error {
	if name == "" || err == nil {
		return err
	}
	return fmt.Errorf("area %.200q: %w", name, err)
}

func badArea(format string, args ...any) error {
	return &statusError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// followedArea prepares an area, with the common conditions. filters has the filters already
// prepared for other areas.
func (q *request) followedArea(s *areaSpec, c whole.Collection, common *store.Query, filters map[string]*filter.Program) (*store.Query, error) {
	if s.Name == "" || len(s.Name) > maxAreaName {
		return nil, badArea("an area is called %.200q, want a name of 1 to %d bytes", s.Name, maxAreaName)
	}
	area, err := s.area(c)
	if err != nil {
		return nil, err
	}
	all := store.Query{Area: area, Filter: common.Filter, Where: common.Where}
	if len(s.Filter) == 0 || string(s.Filter) == "null" {
		return &all, nil
	}
	if filters[string(s.Filter)] == nil {
		p := params{later: true, all: []param{{name: "filter", value: string(s.Filter)}, {name: "filter-lang", value: langJSON}}, taken: make([]bool, 2), described: q.params.described}
		var text string
		if json.Unmarshal(s.Filter, &text) == nil {
			p.all[0].value, p.all[1].value = text, langText
		}
		own := store.Query{Area: area} // An area in the filter is a second one, beside it.
		if err = p.filter(q.ctx, c, &own); err != nil {
			return nil, err
		}
		q.params.described = p.described
		filters[string(s.Filter)] = common.Where.And(own.Where)
	}
	all.Where = filters[string(s.Filter)]
	return &all, nil
}

// area is the geographic area of the spec.
func (s *areaSpec) area(c whole.Collection) (*store.Area, error) {
	shapes := 0
	for _, is := range []bool{s.BBox != nil, s.Point != nil, s.Geometry != nil} {
		if is {
			shapes++
		}
	}
	switch {
	case shapes != 1:
		return nil, badArea("want either bbox, or geometry, or point and radius")
	case s.Radius != 0 && s.Point == nil:
		return nil, badArea("radius is for a point")
	case s.BBox != nil:
		text := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.BBox)), ","), "[]")
		p := params{all: []param{{"bbox", text}}, taken: make([]bool, 1)}
		return p.bbox()
	case s.Point != nil:
		if len(s.Point) != 2 || math.Abs(s.Point[0]) > 180 || math.Abs(s.Point[1]) > 90 || s.Radius <= 0 {
			return nil, badArea("point %v, radius %v: want longitude and latitude in degrees, and metres above 0", s.Point, s.Radius)
		}
		return query.Circle(s.Point[0], s.Point[1], s.Radius), nil
	}
	g, err := feature.DecodeGeometry(s.Geometry, feature.Options{Space: c.Options().Space})
	if err != nil {
		return nil, err
	}
	switch g.(type) {
	case orb.Polygon, orb.MultiPolygon:
		return query.Polygon(g), nil
	}
	return nil, badArea("geometry: want a Polygon or MultiPolygon")
}
