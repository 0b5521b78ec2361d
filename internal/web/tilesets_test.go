package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store"
)

// The Abstract Test Suite of OGC API - Tiles Part 1 (20-057, annex A), by its
// identifiers: TestATS_tiles_core_tc_op is /conf/core/tc-op of it.

// linksOf returns the links of a document, with all their members.
func linksOf(t *testing.T, doc any) (all []map[string]any) {
	t.Helper()
	for _, l := range lookup(t, doc, "links").([]any) {
		all = append(all, l.(map[string]any))
	}
	return all
}

// linked returns the only link of a relation.
func linked(t *testing.T, doc any, rel string) map[string]any {
	t.Helper()
	var found []map[string]any
	for _, l := range linksOf(t, doc) {
		if l["rel"] == rel {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d links %q in %.300v", len(found), rel, doc)
	}
	return found[0]
}

// A client reaches the tiles from a collection by links alone, and their template gives
// the same tile as the path of web maps.
func TestATS_tiles_core_tc_op(t *testing.T) { // and /conf/core/tc-success
	w := newSite(t, Options{})
	list := w.json(linked(t, w.json(countries), relTilesetsVector)["href"].(string))
	tilesets := lookup(t, list, "tilesets").([]any)
	if len(tilesets) != 1 {
		t.Fatalf("%d tilesets", len(tilesets))
	}
	tileset := w.json(linked(t, tilesets[0], "self")["href"].(string))
	item := linked(t, tileset, "item")
	if item["templated"] != true || item["type"] != typeMVT {
		t.Errorf("%v", item)
	}
	for _, at := range [][3]int{{0, 0, 0}, {3, 4, 2}, {5, 16, 11}, {6, 63, 35}} { // zoom, column, row
		target := strings.NewReplacer("{tileMatrix}", fmt.Sprint(at[0]), "{tileCol}", fmt.Sprint(at[1]), "{tileRow}", fmt.Sprint(at[2])).
			Replace(item["href"].(string))
		a := w.get(target)
		b := w.get(fmt.Sprintf("%s/tiles/%d/%d/%d.mvt", countries, at[0], at[1], at[2]))
		if len(w.drawnIn(a, "countries")) == 0 || string(a.body) != string(b.body) || a.Header.Get("ETag") != b.Header.Get("ETag") {
			t.Errorf("%s: %d bytes, by the other path %d", target, len(a.body), len(b.body))
		}
	}
}

// Tiles out of range are 404, those without anything in them 204.
func TestATS_tiles_core_tc_error(t *testing.T) {
	w := newSite(t, Options{})
	for at, want := range map[string]int{"25/0/0": 404, "2/4/0": 404, "2/0/4": 404, "2/-1/0": 404, "x/0/0": 404, "2/0/0": 204, "24/0/0": 204} {
		if a := w.get(countries + "/tiles/WebMercatorQuad/" + at); a.StatusCode != want {
			t.Errorf("%s: %s, want %d", at, a.Status, want)
		}
	}
}

func TestATS_tiles_core_conformance_success(t *testing.T) {
	w := newSite(t, Options{})
	has := fmt.Sprint(w.json("/conformance")["conformsTo"])
	for _, c := range []string{"core", "tileset", "tilesets-list", "geodata-tilesets", "oas30", "mvt"} {
		if !strings.Contains(has, "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/"+c) {
			t.Errorf("no %s in %s", c, has)
		}
	}
}

func TestATS_tiles_tileset_description(t *testing.T) {
	w := newSite(t, Options{})
	w.points(3)
	for _, name := range []string{"countries", "empty"} {
		d := w.json("/collections/" + name + "/tiles/WebMercatorQuad")
		if d["dataType"] != "vector" || d["crs"] != crs3857 || d["tileMatrixSetURI"] != tileMatrixSetURI {
			t.Errorf("%v", d)
		}
		scheme := w.json(linked(t, d, relTilingScheme)["href"].(string))
		if scheme["uri"] != d["tileMatrixSetURI"] || scheme["crs"] != d["crs"] {
			t.Errorf("%v", scheme)
		}
		layer := lookup(t, d, "layers").([]any)[0]
		if lookup(t, layer, "id") != name {
			t.Errorf("%v", layer)
		}
	}
	d := w.json("/collections/empty/tiles/WebMercatorQuad")
	if b := fmt.Sprint(lookup(t, d, "boundingBox", "lowerLeft"), lookup(t, d, "boundingBox", "upperRight")); b != "[-180 0] [-178 1]" {
		t.Errorf("box %s", b)
	}
	properties := lookup(t, lookup(t, d, "layers").([]any)[0], "propertiesSchema", "properties")
	for name, want := range map[string]string{"id": "string", "n": "number", "even": "boolean", "name": "string"} {
		if typ := lookup(t, properties, name, "type"); typ != want {
			t.Errorf("%s is %v", name, typ)
		}
	}
}

// The zooms are those of the registry of OGC: the scale of zoom 0 halves.
func TestTileMatrices(t *testing.T) {
	all := tileMatrices()
	if len(all) != 25 {
		t.Fatalf("%d zooms", len(all))
	}
	for z, m := range all {
		n := math.Exp2(float64(z))
		near := func(a, b float64) bool { return math.Abs(a/b-1) < 1e-12 }
		if m.ID != fmt.Sprint(z) || m.MatrixWidth != int(n) || m.MatrixHeight != int(n) ||
			!near(m.ScaleDenominator, 559082264.028717/n) || !near(m.CellSize, 156543.033928041/n) ||
			!near(m.PointOfOrigin[0], -20037508.3427892) || !near(m.PointOfOrigin[1], 20037508.3427892) {
			t.Errorf("%+v", m)
		}
	}
}

func TestATS_tiles_tilesets_list_tileset_links(t *testing.T) {
	w := newSite(t, Options{})
	for _, s := range lookup(t, w.json(countries+"/tiles"), "tilesets").([]any) {
		if lookup(t, s, "dataType") != "vector" || lookup(t, s, "crs") != crs3857 || lookup(t, s, "tileMatrixSetURI") != tileMatrixSetURI {
			t.Errorf("%v", s)
		}
		linked(t, s, "self")
		linked(t, s, relTilingScheme)
	}
	sets := w.json(linked(t, w.json("/"), relTilingSchemes)["href"].(string))
	for _, s := range lookup(t, sets, "tileMatrixSets").([]any) {
		if set := w.json(linked(t, s, "self")["href"].(string)); lookup(t, s, "id") != set["id"] {
			t.Errorf("%v is %v", s, set["id"])
		}
	}
}

// The operation ids end as clause 14 of the standard requires.
func TestATS_tiles_oas30_operation_id(t *testing.T) {
	w := newSite(t, Options{})
	paths := lookup(t, w.json("/api"), "paths")
	for path, suffix := range map[string]string{
		"/collections/{collectionId}/tiles":                                                  ".collection.vector.getTileSetsList",
		"/collections/{collectionId}/tiles/WebMercatorQuad":                                  ".collection.vector.getTileSet",
		"/collections/{collectionId}/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}": ".collection.vector.getTile",
	} {
		if id := lookup(t, paths, path, "get", "operationId").(string); !strings.HasSuffix(id, suffix) {
			t.Errorf("%s: %s", path, id)
		}
	}
}

// No operation has two parameters of one name and place.
func TestParametersUnique(t *testing.T) {
	w := newSite(t, Options{})
	doc := w.json("/api")
	for path, methods := range doc["paths"].(map[string]any) {
		for method, op := range methods.(map[string]any) {
			seen := map[string]bool{}
			for _, p := range lookup(t, op, "parameters").([]any) {
				parts := strings.Split(p.(map[string]any)["$ref"].(string), "/")
				is := lookup(t, doc, parts[1:]...)
				if at := fmt.Sprint(lookup(t, is, "in"), " ", lookup(t, is, "name")); seen[at] {
					t.Errorf("%s %s has %s twice", method, path, at)
				} else {
					seen[at] = true
				}
			}
		}
	}
}

func TestTileJSON(t *testing.T) {
	w := newSite(t, Options{URL: "https://example.org/geo/"})
	if d := w.json(emptyTiles + "tile.json"); d["bounds"] != nil || d["center"] != nil || d["tilejson"] != "3.0.0" {
		t.Errorf("of nothing: %v", d)
	}
	for _, p := range []orb.Point{{1, 42}, {2, 43}} {
		w.put("empty", store.Feature{ID: fmt.Sprint(p), Geometry: p, Properties: []byte(`{"n":1,"on":true,"at":{"x":1},"none":null}`)})
	}
	w.put("empty", store.Feature{ID: "c", Geometry: orb.Point{1, 42}, Properties: []byte(`{"n":"x","name":"y"}`)})
	d := w.json(emptyTiles + "tile.json")
	if got := fmt.Sprint(d["tiles"]); got != "[https://example.org/geo/collections/empty/tiles/{z}/{x}/{y}.mvt]" {
		t.Error(got)
	}
	layer := d["vector_layers"].([]any)[0].(map[string]any)
	if got := fmt.Sprint(layer["id"], layer["fields"], d["bounds"], d["minzoom"], d["maxzoom"]); got !=
		"emptymap[at:String cluster:Boolean id:String n:Mixed name:String none:Mixed on:Boolean point_count:Number] [1 42 2 43]024" {
		t.Error(got)
	}
	if c := d["center"].([]any); fmt.Sprint(c[0]) != "1.5" || !strings.HasPrefix(fmt.Sprint(c[1]), "42.50") || fmt.Sprint(c[2]) != "8" {
		t.Errorf("center %v", c) // A tile of zoom 8 is 1.4 degrees wide; the box is 1.35 high.
	}
	d = w.json(emptyTiles + "tile.json?f=json&properties=name&filter=n%3D1")
	if got := fmt.Sprint(d["tiles"]); got != "[https://example.org/geo/collections/empty/tiles/{z}/{x}/{y}.mvt?properties=name&filter=n%3D1]" {
		t.Error(got)
	}
	if got := fmt.Sprint(d["vector_layers"].([]any)[0].(map[string]any)["fields"]); got != "map[cluster:Boolean id:String name:String point_count:Number sampled:Number]" {
		t.Error(got)
	}
	// An extent that crosses 180 degrees has the whole width.
	if b := fmt.Sprint(w.json(countries + "/tiles/tile.json")["bounds"]); !strings.HasPrefix(b, "[-180 ") || !strings.Contains(b, " 180 ") {
		t.Errorf("bounds %s", b)
	}
}

// counted returns the cells of an answer: their corners and counts.
func (w *site) counted(target string) (cells map[string]int) {
	w.t.Helper()
	a := w.get(target)
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != typeGeoJSON {
		w.t.Fatalf("%s: %s %s", target, a.Status, a.body)
	}
	cells = map[string]int{}
	doc := a.json(w.t)
	for _, f := range doc["features"].([]any) {
		f := f.(map[string]any)
		var b, at [4]float64
		for i, v := range f["bbox"].([]any) {
			fmt.Sscan(fmt.Sprint(v), &b[i])
		}
		for i, v := range f["geometry"].(map[string]any)["coordinates"].([]any) {
			fmt.Sscan(fmt.Sprint(v), &at[i])
		}
		if at[0] <= b[0] || at[0] >= b[2] || at[1] <= b[1] || at[1] >= b[3] {
			w.t.Errorf("%v is not in %v", at, b)
		}
		var n int
		fmt.Sscan(fmt.Sprint(f["properties"].(map[string]any)["count"]), &n)
		cells[fmt.Sprintf("%.3f %.3f", b[0], b[1])] += n
	}
	if fmt.Sprint(doc["numberReturned"]) != fmt.Sprint(len(cells)) {
		w.t.Errorf("numberReturned %v of %d", doc["numberReturned"], len(cells))
	}
	return cells
}

// Counts equal those of a loop over all points, with and without conditions, immediately
// after a write.
func TestCounts(t *testing.T) {
	w := newSite(t, Options{})
	const target = "/collections/empty/counts?zoom=4"
	if got := w.counted(target); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	w.points(300)
	// count returns the number of points by the south-western corners of cells.
	count := func(fits func(i int, p orb.Point) bool) map[string]int {
		cells := map[string]int{}
		for i := range 300 {
			p := pointOf(i).Geometry.(orb.Point)
			if !fits(i, p) {
				continue
			}
			x := math.Floor((p[0] + 180) / 22.5)
			y := math.Floor((1 - math.Asinh(math.Tan(p[1]*math.Pi/180))/math.Pi) / 2 * 16)
			if p[1] == 0 {
				y = 7 // cells have their southern and western borders
			}
			south := math.Atan(math.Sinh(math.Pi*(1-2*(y+1)/16))) * 180 / math.Pi
			cells[fmt.Sprintf("%.3f %.3f", x*22.5-180, south+0)]++
		}
		return cells
	}
	cellOf := func(x0, x1 float64) func(int, orb.Point) bool {
		return func(_ int, p orb.Point) bool { return p[0] >= x0 && p[0] < x1 }
	}
	for query, fits := range map[string]func(i int, p orb.Point) bool{
		"":                              func(int, orb.Point) bool { return true },
		"&bbox=-170,-10,-160,80":        cellOf(-180, -157.5), // whole cells
		"&bbox=170,-10,-170,80":         func(_ int, p orb.Point) bool { return p[0] < -157.5 || p[0] >= 157.5 },
		"&even=true":                    func(i int, _ orb.Point) bool { return i%2 == 0 },
		"&filter=n%3C10%20OR%20n%3E290": func(i int, _ orb.Point) bool { return i < 10 || i > 290 },
		"&filter=S_WITHIN(geometry,BBOX(0,-1,90,90))":       func(_ int, p orb.Point) bool { return p[0] > 0 && p[0] < 90 },
		"&filter=NOT%20S_WITHIN(geometry,BBOX(0,-1,90,90))": func(_ int, p orb.Point) bool { return p[0] <= 0 || p[0] >= 90 },
	} {
		got, want := w.counted(target+query), count(fits)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n%v, want\n%v", query, got, want)
		}
	}
	before := w.counted(target)
	w.put("empty", store.Feature{ID: "new", Geometry: orb.Point{1, 1}})
	before["0.000 0.000"]++
	if got := w.counted(target); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("after a write: %v, want %v", got, before)
	}
	if v := w.get(target).Header.Values("Cache-Control"); !slices.Equal(v, []string{"no-store"}) {
		t.Errorf("Cache-Control %q", v)
	}
}
