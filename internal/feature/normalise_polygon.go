package feature

import (
	"fmt"

	"github.com/paulmach/orb"
)

// multiPolygon normalises polygons; single says that m stands for one.
func (n *normaliser) multiPolygon(at string, m orb.MultiPolygon, single bool) (orb.Geometry, error) {
	var out orb.MultiPolygon
	for i, p := range m {
		where := at
		if !single {
			where = fmt.Sprintf("%s[%d]", at, i)
		}
		parts, err := n.polygon(where, p)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	switch {
	case len(out) == 0:
		return nil, nil
	case single && len(out) == 1:
		return out[0], nil
	}
	return out, nil
}

// polygon returns one polygon, or its parts if it is cut.
func (n *normaliser) polygon(at string, p orb.Polygon) (orb.MultiPolygon, error) {
	if len(p) == 0 || len(p[0]) == 0 {
		n.z.take(positionsOf(p, 0))
		return nil, nil
	}
	rings := make(orb.Polygon, 0, len(p))
	var zs [][]float64 // of the rings
	crosses := false
	for i, r := range p {
		if len(r) == 0 {
			continue
		}
		where := fmt.Sprintf("%s[%d]", at, i)
		if err := n.checkLine(r); err != nil {
			return nil, fmt.Errorf("%s%w", where, err)
		}
		z := n.z.take(len(r))
		if n.Lenient && r[0] != r[len(r)-1] {
			r = append(r[:len(r):len(r)], r[0])
			if z != nil {
				z = append(z, z[0])
			}
		}
		// A ring may end a whole turn from where it began.
		if n.Space == Geographic && r[0] != r[len(r)-1] && r[0][1] == r[len(r)-1][1] &&
			wrapLongitude(r[0][0]) == wrapLongitude(r[len(r)-1][0]) {
			crosses = true
		} else if err := checkPath(shell, r); err != nil {
			return nil, prefix(where, err)
		}
		crosses = crosses || n.Space == Geographic && wraps(r)
		rings, zs = append(rings, r), append(zs, z)
	}
	if !crosses {
		for _, z := range zs {
			n.z.keep(z...)
		}
		return orb.MultiPolygon{rings}, n.simple(at, rings)
	}
	unwrapped, err := unwrapPolygon(rings, zs, n.LongEdges)
	if err != nil {
		return nil, prefix(at, err)
	}
	for i, u := range unwrapped {
		rings[i] = u.ring()
	}
	if err := n.simple(at, rings); err != nil {
		return nil, err
	}
	return cutPolygon(unwrapped, &n.z), nil
}

// simple checks that no edges of a polygon's rings cross.
func (n *normaliser) simple(at string, rings orb.Polygon) error {
	if n.Lenient {
		return nil
	}
	return prefix(at, checkSimple(rings))
}
