package tile

import (
	"encoding/binary"
	"math"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
)

// Geometry in a tile (MVT specification 4.3)
//
//	command  u32: operation 1 to 7 in 3 bits, how often above: MoveTo 1, LineTo 2,
//	         ClosePath 7
//	x, y     the way from the position before, zigzag: 0 -1 1 -2 ... are 0 1 2 3 ...
//
// all as varints. In the tile y grows downwards, and a shell has positive area by the
// sum of x1*y2 - x2*y1, a hole negative.

// geomType is MVT's.
type geomType uint8

const (
	typePoint geomType = 1 + iota
	typeLine
	typePolygon
	geomTypes
)

const (
	moveTo    = 1
	lineTo    = 2
	closePath = 7
)

// spot is a position in units.
type spot struct{ x, y int32 }

// shaper draws geometries in a tile. It is reusable memory for one at a time.
type shaper struct {
	a      *area
	coarse float64 // how much coarser than usual; 1: as usual
	// Commands by type, and the position after them.
	out    [geomTypes][]byte
	cursor [geomTypes]spot

	path, clipped, spare []orb.Point
	spots                []spot
	points               []spot
	tiny                 spot // a part that is too small or too thin, if hasTiny
	hasTiny              bool
}

// draw draws a feature.
func (s *shaper) draw(v *feature.View) {
	s.points, s.hasTiny = s.points[:0], false
	for i := range s.out {
		s.out[i], s.cursor[i] = s.out[i][:0], spot{}
	}
	shell := [3]bool{} // the last one is drawn, in each copy
	for p := (feature.Path{}); v.NextPath(&p); {
		s.path = v.AppendPath(s.path[:0], &p)
		bound := orb.MultiPoint(s.path).Bound()
		for i := range s.a.copies {
			c := &s.a.copies[i]
			if p.Kind() != feature.PathHole {
				shell[i] = false
			}
			if !bound.Intersects(c.clip) {
				continue
			}
			switch p.Kind() {
			case feature.PathPoints:
				for _, q := range s.path {
					if c.clip.Contains(q) {
						s.points = append(s.points, round(s.a.project(q, c.shift)))
					}
				}
			case feature.PathLine:
				if !s.tooSmall(bound, c) {
					s.line(bound, c)
				}
			case feature.PathShell:
				shell[i] = !s.tooSmall(bound, c) && s.ring(bound, c, 1)
			case feature.PathHole:
				if shell[i] {
					s.ring(bound, c, -1)
				}
			}
		}
	}
	if s.hasTiny && len(s.points) == 0 && len(s.out[typeLine]) == 0 && len(s.out[typePolygon]) == 0 {
		s.points = append(s.points, s.tiny)
	}
	if n := len(s.points); n > 0 {
		s.command(typePoint, moveTo, n)
		for _, p := range s.points {
			s.step(typePoint, p)
		}
	}
}

// tooSmall reports whether a part is smaller than a pixel, and records it if it
// is in the area.
func (s *shaper) tooSmall(b orb.Bound, c *worldCopy) bool {
	low, high := s.a.project(b.Min, c.shift), s.a.project(b.Max, c.shift)
	if high[0]-low[0] >= pixel*s.coarse || low[1]-high[1] >= pixel*s.coarse {
		return false
	}
	s.keep(b.Center(), c)
	return true
}

// keep records the position of a part of which nothing is drawn, if it is in the area.
func (s *shaper) keep(at orb.Point, c *worldCopy) {
	if !s.hasTiny && c.clip.Contains(at) {
		s.tiny, s.hasTiny = round(s.a.project(at, c.shift)), true
	}
}

func (s *shaper) line(bound orb.Bound, c *worldCopy) {
	if inside(bound, c.clip) {
		s.run(s.path, c)
		return
	}
	s.clipped = clipLine(s.path, s.clipped, c.clip, func(run []orb.Point) { s.run(run, c) })
}

func inside(b, in orb.Bound) bool { return in.Contains(b.Min) && in.Contains(b.Max) }

// run draws one run of a line.
func (s *shaper) run(run []orb.Point, c *worldCopy) {
	s.project(run, c, tolerance*s.coarse)
	if len(s.spots) < 2 {
		s.keep(run[0], c) // A corner of the area is cut, by less than a unit.
		return
	}
	s.command(typeLine, moveTo, 1)
	s.step(typeLine, s.spots[0])
	s.command(typeLine, lineTo, len(s.spots)-1)
	for _, p := range s.spots[1:] {
		s.step(typeLine, p)
	}
}

// project leaves a line in spots: simplified, and without equal neighbours.
func (s *shaper) project(line []orb.Point, c *worldCopy, by float64) {
	s.spare = s.spare[:0]
	for _, p := range line {
		s.spare = append(s.spare, s.a.project(p, c.shift))
	}
	s.spots = s.spots[:0]
	for _, p := range simplify(s.spare, by) {
		if q := round(p); len(s.spots) == 0 || s.spots[len(s.spots)-1] != q {
			s.spots = append(s.spots, q)
		}
	}
}

// ring draws a ring whose area must have the sign; false: nothing is left of it.
func (s *shaper) ring(bound orb.Bound, c *worldCopy, sign int64) bool {
	ring := s.path
	if !inside(bound, c.clip) {
		s.clipped, s.spare = clipRing(s.clipped[:0], s.path, s.spare, c.clip)
		if ring = s.clipped; len(ring) == 0 {
			return false
		}
	}
	s.project(ring, c, tolerance*s.coarse)
	if s.polygon(sign) {
		return true
	}
	if sign > 0 {
		s.thin(ring, c)
	}
	return false
}

// polygon draws the ring in spots; false: it has no area.
func (s *shaper) polygon(sign int64) bool {
	all := withoutSpikes(s.spots)
	if len(all) < 3 {
		return false
	}
	area := int64(0)
	for i, p := range all {
		q := all[(i+1)%len(all)]
		area += int64(p.x)*int64(q.y) - int64(q.x)*int64(p.y)
	}
	if area == 0 {
		return false
	}
	if area*sign < 0 {
		for i, j := 1, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
	}
	s.command(typePolygon, moveTo, 1)
	s.step(typePolygon, all[0])
	s.command(typePolygon, lineTo, len(all)-1)
	for _, p := range all[1:] {
		s.step(typePolygon, p)
	}
	s.command(typePolygon, closePath, 1)
	return true
}

// withoutSpikes turns a closed ring, in place, into an open one without
// positions that lie between their neighbours, or on the way back.
func withoutSpikes(ring []spot) []spot {
	if len(ring) > 1 && ring[0] == ring[len(ring)-1] {
		ring = ring[:len(ring)-1]
	}
	out := ring[:0]
	for _, p := range ring {
		for len(out) > 0 && out[len(out)-1] == p || len(out) > 1 && straight(out[len(out)-2], out[len(out)-1], p) {
			out = out[:len(out)-1]
		}
		out = append(out, p)
	}
	for len(out) > 2 {
		n := len(out)
		switch {
		case out[n-1] == out[0], straight(out[n-2], out[n-1], out[0]):
			out = out[:n-1]
		case straight(out[n-1], out[0], out[1]):
			out = out[1:]
		default:
			return out
		}
	}
	return nil
}

func straight(a, b, c spot) bool {
	return int64(b.x-a.x)*int64(c.y-b.y) == int64(b.y-a.y)*int64(c.x-b.x)
}

func round(p orb.Point) spot {
	// Clipped: within a unit of the buffer.
	return spot{int32(math.Round(p[0])), int32(math.Round(p[1]))}
}

func (s *shaper) command(t geomType, operation, count int) {
	s.out[t] = binary.AppendUvarint(s.out[t], uint64(count)<<3|uint64(operation))
}

func (s *shaper) step(t geomType, to spot) {
	at := s.cursor[t]
	s.out[t] = binary.AppendUvarint(s.out[t], zigzag(int64(to.x-at.x)))
	s.out[t] = binary.AppendUvarint(s.out[t], zigzag(int64(to.y-at.y)))
	s.cursor[t] = to
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }
