//go:build linux

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"

	"github.com/catfish-index/catfish/internal/places"
)

// clear is the distance of a box's edge from the next point in degrees:
// several times the error of float32. PostGIS' operator && compares rectangles
// of these, so with such boxes it is exact, and need not test the geometries.
const clear = 1e-5

// grid finds the points in a box.
type grid struct {
	points []places.Place
	cells  map[[2]int][]int32
}

// cell is the width of a grid's cell in degrees.
const cell = 0.02

func newGrid(points []places.Place) *grid {
	g := &grid{points, map[[2]int][]int32{}}
	for i := range points {
		at := cellOf(points[i].Geometry.(orb.Point))
		g.cells[at] = append(g.cells[at], int32(i))
	}
	return g
}

func cellOf(p orb.Point) [2]int {
	return [2]int{int(math.Floor(p[0] / cell)), int(math.Floor(p[1] / cell))}
}

// in returns the numbers of the points in a box or on its edges, but at most
// most+1 of them.
func (g *grid) in(b orb.Bound, most int) (found []int32) {
	low, high := cellOf(b.Min), cellOf(b.Max)
	for x := low[0]; x <= high[0]; x++ {
		for y := low[1]; y <= high[1]; y++ {
			for _, i := range g.cells[[2]int{x, y}] {
				if b.Contains(g.points[i].Geometry.(orb.Point)) {
					found = append(found, i)
				}
				if len(found) > most {
					return found
				}
			}
		}
	}
	return found
}

// narrowest and widest are half of the height of a box, in degrees: where the search
// for enough points begins, and ends.
const narrowest, widest = 0.0005, 2.0

// boxes returns n boxes around points, each with least to most of them.
func (g *grid) boxes(rng *rand.Rand, n, least, most int) ([]orb.Bound, error) {
	boxes := make([]orb.Bound, 0, n)
	for tries := 0; len(boxes) < n; tries++ {
		if tries == 100*n {
			return nil, fmt.Errorf("of %d points no %d boxes hold %d to %d each: take more --features", len(g.points), n, least, most)
		}
		at := g.points[rng.IntN(len(g.points))].Geometry.(orb.Point)
		half, ok := g.halfOf(at, least+rng.IntN(most-least+1))
		if b := around(at, half); ok && len(g.in(b.Pad(clear), most)) == len(g.in(b.Pad(-clear), most)) {
			boxes = append(boxes, b)
		}
	}
	return boxes, nil
}

// halfOf is half of the height of a box around a point that holds want points:
// its edge is in the middle between the last point inside and the next.
func (g *grid) halfOf(at orb.Point, want int) (half float64, ok bool) {
	for reach := narrowest; reach < widest; reach *= 2 {
		found := g.in(around(at, reach), len(g.points))
		if len(found) <= want {
			continue
		}
		away := make([]float64, len(found))
		for i, f := range found {
			p := g.points[f].Geometry.(orb.Point)
			away[i] = max(math.Abs(p[0]-at[0])/aspect, math.Abs(p[1]-at[1]))
		}
		slices.Sort(away)
		return (away[want-1] + away[want]) / 2, away[want]-away[want-1] > 4*clear
	}
	return 0, false
}

// aspect is a box's width divided by its height, in degrees: 1.5 is about
// square on a map at 48 degrees north.
const aspect = 1.5

// around is a box around a point.
func around(p orb.Point, half float64) orb.Bound {
	d := orb.Point{aspect * half, half}
	return orb.Bound{Min: round7(orb.Point{p[0] - d[0], p[1] - d[1]}), Max: round7(orb.Point{p[0] + d[0], p[1] + d[1]})}
}

// Zooms of the requested tiles: from a town on the screen to a few streets.
const minZoom, maxZoom = 13, 16

// tilesOf returns n tiles around places, equally many of each zoom.
func tilesOf(rng *rand.Rand, all []places.Place, n int) []maptile.Tile {
	tiles := make([]maptile.Tile, n)
	for i := range tiles {
		zoom := maptile.Zoom(minZoom + i%(maxZoom-minZoom+1))
		tiles[i] = maptile.At(all[rng.IntN(len(all))].Geometry.Bound().Center(), zoom)
	}
	rng.Shuffle(n, func(i, j int) { tiles[i], tiles[j] = tiles[j], tiles[i] })
	return tiles
}
