package cql2

import (
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// geometry is the property that spatial predicates compare.
const geometry = "geometry"

// opDWithin is not in CQL2: within a distance in metres of a point.
const opDWithin = "s_dwithin"

const opDisjoint = "s_disjoint"

// relations of spatial predicates with the feature's geometry as first argument, and as
// second argument.
var relations = map[string][2]feature.Relation{
	"s_intersects": {feature.Intersects, feature.Intersects},
	opDisjoint:     {feature.Intersects, feature.Intersects}, // negated
	"s_within":     {feature.Within, feature.Contains},
	"s_contains":   {feature.Contains, feature.Within},
}

// spatial translates a predicate of the feature's geometry and another geometry.
func (t *translator) spatial(n *node) filter.Test {
	_, _, in := t.area(n)
	x := t.tree.Place(in)
	if n.op == opDisjoint {
		x = t.tree.Not(x)
	}
	return x
}

// area is the area of a predicate, which opDisjoint negates.
func (t *translator) area(n *node) (a *store.Area, r feature.Relation, in *feature.Query) {
	t.at = n
	other, swapped := n.args[1], 0
	if !isGeometry(n.args[0]) {
		if !isGeometry(n.args[1]) || n.op == opDWithin {
			t.failUnless(isInstance(n.args[0]), n.args[0], "%v, want the property %s, %s", n.args[0], geometry, geometries)
			t.fail(n.args[1], "%v, want the property %s", n.args[1], geometry)
		}
		other, swapped = n.args[0], 1
	}
	t.areas++
	t.failUnless(t.areas <= maxAreas, n, "there are more than %d areas, want them in one MULTIPOLYGON", maxAreas)
	if n.op == opDWithin {
		p, ok := other.geometry.(orb.Point)
		t.failUnless(ok, other, "%v, want a POINT in S_DWITHIN", other)
		metres := t.metres(n.args[2])
		a = query.Circle(p[0], p[1], metres)
	} else {
		t.failUnless(isInstance(other), other, "%v, want %s", other, geometries)
		r, a = relations[n.op][swapped], t.areaOf(other)
	}
	// Areas are checked here, where the faulty one is known.
	in, err := a.Prepare(feature.Geographic, r)
	if err != nil {
		t.fail(other, "%v", err)
	}
	return a, r, in
}

const geometries = "POINT, POLYGON, MULTIPOLYGON or BBOX"

func isGeometry(n *node) bool { return n.form == property && strings.EqualFold(n.text, geometry) }

func isInstance(n *node) bool { return n.form == shape || n.form == box }

func (t *translator) metres(n *node) float64 {
	t.failUnless(n.form == numeral, n, "%v, want a distance in metres", n)
	f, _ := strconv.ParseFloat(n.text, 64) // The parser has refused all but numbers.
	t.failUnless(f >= 0, n, "a distance of %v, want 0 or more metres", f)
	return f
}

func (t *translator) areaOf(n *node) *store.Area {
	switch g := n.geometry.(type) {
	case nil:
		t.failUnless(len(n.bbox) == 4 || len(n.bbox) == 6, n, "a BBOX of %d numbers, want 4 or 6", len(n.bbox))
		v, half := n.bbox, len(n.bbox)/2
		return query.Box(v[0], v[1], v[half], v[half+1])
	case orb.Point: // a box without area
		return query.Box(g[0], g[1], g[0], g[1])
	}
	g, err := feature.Normalise(n.geometry, feature.Options{Space: feature.Geographic})
	if err != nil {
		t.fail(n, "%v", err)
	}
	return query.Polygon(g)
}
