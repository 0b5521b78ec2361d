package store

import (
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// Features without a geometry
//
// They are in no area. But OGC API - Features has a search by bbox find them, too (17-069r4,
// /req/core/fc-bbox-response, C), page by page and in the order of ids with the others. So
// the tree of a geographic space has them at places of their own, beyond all longitudes,
// where no other search looks (Query.Nowhere). Each has another place, by its record:
// many at one point could not be divided.
//
//	-180 ............. 180               1000 .. 1001
//	|    the world     |                  nowhere
//
// A set knows how many there are: where there are none, nothing is looked for.

// nowhere has all of them.
var nowhere = rstar.Rect{MinX: 1000, MinY: 1000, MaxX: 1001, MaxY: 1000}

// hasNowhere reports whether a feature has such a place.
func (s *set) hasNowhere(f *feature.View) bool {
	return f.Type() == feature.None && s.space == feature.Geographic
}

// numItems is how many entries of the tree a feature has.
func (s *set) numItems(f *feature.View) int {
	if s.hasNowhere(f) {
		return 1
	}
	return f.NumBoxes()
}

// itemsOf appends the entries of a feature. It uses boxes.
func (s *set) itemsOf(dst []rstar.Item, f *feature.View, ref record.Ref, boxes *[]feature.Box) []rstar.Item {
	if s.hasNowhere(f) {
		r := nowhere
		r.MinX += float64(uint64(ref)%(1<<20)) / (1 << 20)
		r.MaxX = r.MinX
		return append(dst, rstar.Item{Rect: r, ID: uint64(ref)})
	}
	*boxes = f.Boxes((*boxes)[:0])
	for _, b := range *boxes {
		dst = append(dst, rstar.Item{Rect: rstar.Rect(b), ID: uint64(ref)})
	}
	return dst
}

// isNowhere reports whether an entry is one of these.
func isNowhere(it *rstar.Item) bool { return it.Rect.MinX >= nowhere.MinX }

// countNowhere is how many more of them there are with some entries instead of others.
func countNowhere(s feature.Space, old, now []rstar.Item) (more int64) {
	if s != feature.Geographic {
		return 0
	}
	for i := range old {
		if isNowhere(&old[i]) {
			more--
		}
	}
	for i := range now {
		if isNowhere(&now[i]) {
			more++
		}
	}
	return more
}

// areaBoxes returns the boxes to search for in the tree, including nowhere, if that is
// wanted. The result is valid until the next call with b.
func (s *set) areaBoxes(p *Prepared, b *Buffer) []rstar.Rect {
	if !p.Nowhere || s.nowhere.Load() == 0 {
		return p.Boxes()
	}
	b.boxes = append(append(b.boxes[:0], p.Boxes()...), nowhere)
	return b.boxes
}
