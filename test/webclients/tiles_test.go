//go:build clients

package webclients

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
)

// tile is @mapbox/vector-tile's view of a tile.
type tile struct {
	Status int
	Type   string
	Bytes  int
	Layers map[string]struct {
		Version, Extent int
		Features        []struct {
			ID         string
			Cluster    bool
			Points     int
			Kind       string
			Properties map[string]any
			Outside    int
			Geometry   struct{ Type string }
		}
	}
}

// corner is the north-west corner of a tile (Web Mercator), or of a part of it.
func corner(z int, x, y float64) (lon, lat float64) {
	n := math.Exp2(float64(z))
	return x/n*360 - 180, math.Atan(math.Sinh(math.Pi*(1-2*y/n))) * 180 / math.Pi
}

// at is the tile that a position is in.
func at(z int, lon, lat float64) (x, y int) {
	n := math.Exp2(float64(z))
	s := math.Sin(lat * math.Pi / 180)
	return int((lon + 180) / 360 * n), int((0.5 - math.Log((1+s)/(1-s))/(4*math.Pi)) * n)
}

// Tiles that are not crowded have the features that the same box has among items:
// all that lie in the tile, and none that lie beyond its buffer of a 64th.
func TestTiles(t *testing.T) {
	type where struct {
		collection string
		z, x, y    int
	}
	var all []where
	for _, c := range []struct {
		collection string
		lon, lat   float64
		zooms      []int
	}{
		// The old town: all types, close together, among them a building of 1 by 16
		// metres, way/1055616930.
		{"andorra", 1.5218, 42.5075, []int{13, 14, 15, 16, 17, 18}},
		{"andorra", 1.6, 42.55, []int{14, 15, 16}},
		{"countries", 9.5, 47.1, []int{0, 1, 2, 4, 6, 8}},
		{"countries", 179.9, -17, []int{2, 5}},
		{"kinds", 2.5, 42.5, []int{0, 3, 5}},
	} {
		for _, z := range c.zooms {
			x, y := at(z, c.lon, c.lat)
			all = append(all, where{c.collection, z, x, y})
		}
	}
	var urls []string
	for _, w := range all {
		urls = append(urls, fmt.Sprintf("%s/collections/%s/tiles/%d/%d/%d.mvt", site, w.collection, w.z, w.x, w.y))
	}
	var tiles []tile
	if err := json.Unmarshal([]byte(run(t, "node", append([]string{"tiles.mjs"}, urls...)...)), &tiles); err != nil {
		t.Fatal(err)
	}
	for i, w := range all {
		got := tiles[i]
		layer := got.Layers[w.collection]
		if got.Status != 200 || !strings.HasPrefix(got.Type, "application/vnd.mapbox-vector-tile") || layer.Version != 2 || layer.Extent != 4096 || len(got.Layers) != 1 {
			t.Errorf("%s: status %d, %s, %d layers, version %d, extent %d", urls[i], got.Status, got.Type, len(got.Layers), layer.Version, layer.Extent)
			continue
		}
		inTile := map[string]bool{}
		for _, f := range layer.Features {
			if f.Cluster {
				t.Errorf("%s: a cluster of %d: the tile is crowded, and no test", urls[i], f.Points)
				break
			}
			if f.ID == "" || f.Outside > 0 || f.Geometry.Type == "" || !strings.HasSuffix(f.Geometry.Type, f.Kind) {
				t.Errorf("%s: %q, %d positions beyond the buffer, a %s as GeoJSON a %q", urls[i], f.ID, f.Outside, f.Kind, f.Geometry.Type)
			}
			inTile[f.ID] = true
		}
		box := func(more float64) map[string]bool {
			west, north := corner(w.z, math.Max(0, float64(w.x)-more), math.Max(0, float64(w.y)-more))
			most := math.Exp2(float64(w.z))
			east, south := corner(w.z, math.Min(most, float64(w.x)+1+more), math.Min(most, float64(w.y)+1+more))
			// Those without a geometry are in every box, and in no tile.
			return idsWithin(t, w.collection, west, south, east, north, "&filter="+url.QueryEscape("geometry IS NOT NULL"))
		}
		// A feature on an edge may be rounded to either side, and one smaller
		// than a pixel, 8 units, is drawn as a point, maybe in the next tile.
		within, around := box(-10.0/4096), box(66.0/4096)
		for id := range within {
			if !inTile[id] {
				t.Errorf("%s: %s is among items of its box, but not in the tile", urls[i], id)
			}
		}
		for id := range inTile {
			if !around[id] {
				t.Errorf("%s: %s is in the tile, but not among items around", urls[i], id)
			}
		}
		if len(within) == 0 {
			t.Errorf("%s: nothing is there to compare", urls[i])
		}
		t.Logf("%s: %d features in the tile, %d in its box, %d around", urls[i], len(inTile), len(within), len(around))
	}
}
