package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt/vectortile"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web/tile"
)

// drawnIn returns the features of a tile by their ids, each with the names of its
// properties, as "CH: id name".
func (w *site) drawnIn(a answer, layer string) (all []string) {
	w.t.Helper()
	if a.StatusCode == http.StatusNoContent {
		if len(a.body) > 0 || a.Header.Get("Content-Type") != "" {
			w.t.Errorf("204 with %d bytes of %q", len(a.body), a.Header.Get("Content-Type"))
		}
		return nil
	}
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/vnd.mapbox-vector-tile" {
		w.t.Fatalf("%s, %s: %.300s", a.Status, a.Header.Get("Content-Type"), a.body)
	}
	var t vectortile.Tile
	if err := t.Unmarshal(a.decoded(w.t)); err != nil {
		w.t.Fatal(err)
	}
	if len(t.Layers) != 1 || t.Layers[0].GetName() != layer {
		w.t.Fatalf("layers %v", t.Layers)
	}
	l := t.Layers[0]
	for _, f := range l.Features {
		id, names := "", []string{}
		for i := 0; i < len(f.Tags); i += 2 {
			k := l.Keys[f.Tags[i]]
			if names = append(names, k); k == "id" {
				id = l.Values[f.Tags[i+1]].GetStringValue()
			}
		}
		slices.Sort(names)
		all = append(all, id+": "+strings.Join(names, " "))
	}
	slices.Sort(all)
	return all
}

const emptyTiles = "/collections/empty/tiles/"

// A tile has the features inside it, immediately after each write.
func TestTiles(t *testing.T) {
	w := newSite(t, Options{})
	if got := w.drawnIn(w.get(emptyTiles+"0/0/0.mvt"), "empty"); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	// By zoom, column, row: 4/8/5 has 0 to 22.5 east, 40.9 to 55.7 north.
	here := store.Feature{ID: "here", Geometry: orb.Point{9.5, 47.1}, Properties: []byte(`{"name":"Vaduz","n":1}`)}
	w.put("empty", here)
	for path, want := range map[string][]string{
		"0/0/0": {"here: id n name"}, "4/8/5": {"here: id n name"}, "4/5/8": nil,
		"4/8/5.mvt?properties=name":                                           {"here: id name"},
		"4/8/5.mvt?properties=other,name":                                     {"here: id name"},
		"4/8/5.mvt?properties=":                                               {"here: id"},
		"4/8/5.mvt?f=mvt":                                                     {"here: id n name"},
		"4/8/5.mvt?name=Vaduz":                                                {"here: id n name"},
		"4/8/5.mvt?name=Bern":                                                 nil,
		"4/8/5.mvt?filter=n%3E0":                                              {"here: id n name"},
		"4/8/5.mvt?filter=n%3E1":                                              nil,
		"4/8/5.mvt?filter=n%3E0&name=Bern":                                    nil,
		"4/8/5.mvt?datetime=2024-01-01":                                       {"here: id n name"},
		"4/8/5.mvt?filter=S_INTERSECTS(geometry,BBOX(9,47,10,48))":            {"here: id n name"},
		"4/8/5.mvt?filter=S_INTERSECTS(geometry,BBOX(9,48,10,49))":            nil,
		"4/8/5.mvt?filter=n=2%20OR%20S_INTERSECTS(geometry,BBOX(9,47,10,48))": {"here: id n name"},
		"4/8/5.mvt?filter=n=1%20AND%20S_WITHIN(geometry,BBOX(9,47,10,48))":    {"here: id n name"},
		"4/8/5.mvt?filter=NOT%20S_WITHIN(geometry,BBOX(9,47,10,48))":          nil,
		"4/8/5.mvt?filter-lang=cql2-json&filter={%22op%22:%22=%22,%22args%22:[{%22property%22:%22n%22},1]}": {"here: id n name"},
	} {
		if !strings.Contains(path, ".mvt") {
			path += ".mvt"
		}
		if got := w.drawnIn(w.get(emptyTiles+path), "empty"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	there := here
	there.ID = "there"
	w.put("empty", there)
	if got := w.drawnIn(w.get(emptyTiles+"4/8/5.mvt?properties=name"), "empty"); !slices.Equal(got, []string{"here: id name", "there: id name"}) {
		t.Errorf("after a write: %v", got)
	}
	a := w.do(http.MethodDelete, "/collections/empty/items/there", "")
	if got := w.drawnIn(w.get(emptyTiles+"4/8/5.mvt?properties=name"), "empty"); !slices.Equal(got, []string{"here: id name"}) {
		t.Errorf("after a deletion (%s): %v", a.Status, got)
	}
}

// Each coding of a tile has a tag of its own, and is made once; a client with the
// current tile gets 304.
func TestTileCodings(t *testing.T) {
	w := newSite(t, Options{})
	w.points(200)
	const target = emptyTiles + "0/0/0.mvt?properties=name"
	plain := w.get(target)
	tag := plain.Header.Get("ETag")
	if len(plain.body) < minCoded || tag == "" || plain.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("%d bytes, %v", len(plain.body), plain.Header)
	}
	tags := map[string]string{}
	for _, coding := range []string{"", "gzip", "zstd"} {
		accept := "Accept-Encoding: " + coding
		for range 3 {
			a := w.get(target, accept)
			tags[coding] = a.Header.Get("ETag")
			want := tag
			if coding != "" {
				want = strings.TrimSuffix(tag, `"`) + "-" + coding + `"`
			}
			if a.StatusCode != http.StatusOK || a.Header.Get("Content-Encoding") != coding || !bytes.Equal(a.decoded(t), plain.body) ||
				tags[coding] != want || !slices.Contains(a.Header.Values("Vary"), "Accept-Encoding") {
				t.Errorf("%s: %s, %v, want the tag %s", coding, a.Status, a.Header, want)
			}
			head := w.do(http.MethodHead, target, "", accept)
			if head.Header.Get("Content-Length") != fmt.Sprint(len(a.body)) || head.Header.Get("ETag") != want || len(head.body) > 0 {
				t.Errorf("HEAD, %s: %v, want %d bytes", coding, head.Header, len(a.body))
			}
		}
	}
	if s := w.cache.Stats(); s.Misses != 3 || s.Tiles != 3 {
		t.Errorf("%+v, want three drawings", s)
	}
	for _, c := range []struct {
		accept, has string
		want        int
		tag         string
	}{
		{"", tag, 304, tag}, {"", "W/" + tag, 304, tag}, {"", `"x", ` + tag, 304, tag}, {"", "*", 304, tag},
		{"gzip", tags["gzip"], 304, tags["gzip"]}, {"gzip", tag, 304, tag}, {"gzip, zstd", tags["gzip"], 304, tags["gzip"]},
		{"gzip", tags["zstd"], 200, tags["gzip"]}, {"", tags["gzip"], 200, tag}, {"", `"x"`, 200, tag},
	} {
		a := w.get(target, "Accept-Encoding: "+c.accept, "If-None-Match: "+c.has)
		if a.StatusCode != c.want || a.Header.Get("ETag") != c.tag || c.want == 304 && len(a.body) > 0 {
			t.Errorf("%q has %s: %s, %s, want %d, %s", c.accept, c.has, a.Status, a.Header.Get("ETag"), c.want, c.tag)
		}
	}
	w.put("empty", store.Feature{ID: "new", Geometry: orb.Point{9, 47}})
	if a := w.get(target, "If-None-Match: "+tag); a.StatusCode != http.StatusOK || a.Header.Get("ETag") == tag || bytes.Equal(a.body, plain.body) {
		t.Errorf("after a write: %s, %v", a.Status, a.Header)
	}
	// A write elsewhere changes nothing here.
	const north, south = emptyTiles + "5/1/5.mvt", emptyTiles + "5/20/20.mvt"
	before := w.get(north).Header.Get("ETag")
	w.put("empty", store.Feature{ID: "far", Geometry: orb.Point{50, -45}})
	if a := w.get(north, "If-None-Match: "+before); a.StatusCode != http.StatusNotModified {
		t.Errorf("after a write elsewhere: %s, %v", a.Status, a.Header)
	}
	if got := w.drawnIn(w.get(south), "empty"); !slices.Equal(got, []string{"far: id"}) {
		t.Errorf("where the write was: %v", got)
	}
	// A tile that depends on the time is not cached.
	if a := w.get(target + "&name=now"); a.StatusCode != http.StatusNoContent || a.Header.Get("ETag") != "" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	// An empty tile has a tag, too.
	nothing := w.get(north)
	if a := w.get(north, "If-None-Match: "+nothing.Header.Get("ETag")); nothing.StatusCode != http.StatusNoContent || a.StatusCode != http.StatusNotModified {
		t.Errorf("%s, then %s", nothing.Status, a.Status)
	}
}

// Errors in requests for tiles or counts are reported.
func TestTileErrors(t *testing.T) {
	w := newSite(t, Options{})
	for target, want := range map[string]struct {
		status int
		says   string
	}{
		countries + "/tiles/25/0/0.mvt":                   {404, "no such tile 25/0/0, want a zoom from 0 to 24"},
		countries + "/tiles/1/2/0.mvt":                    {404, "no such tile 1/2/0"},
		countries + "/tiles/1/0/-1.mvt":                   {404, `"-1" is no number`},
		countries + "/tiles/1/0/0.png":                    {404, "want a number and .mvt"},
		countries + "/tiles/1/0/99999999999999999999.mvt": {404, "is no number"},
		countries + "/tiles/Other/1/0/0":                  {404, ""},
		countries + "/tiles/WebMercatorQuad/1/2/0":        {404, "no such tile 1/0/2"},
		"/collections/none/tiles/0/0/0.mvt":               {404, "none"},
		"/collections/plane/tiles/0/0/0.mvt":              {404, "planar"},
		"/collections/plane/tiles/tile.json":              {404, "planar"},
		"/collections/plane/counts?zoom=1":                {404, "planar"},
		countries + "/tiles/1/0/0.mvt?bbox=1,2,3,4":       {400, "bbox"},
		countries + "/tiles/1/0/0.mvt?f=png":              {400, "want mvt"},
		countries + "/tiles/1/0/0.mvt?colour=red":         {400, "one of f, properties, datetime, filter"},
		countries + "/tiles/1/0/0.mvt?filter=colour%3D1":  {400, "colour"},
		countries + "/tiles/tile.json?colour=red":         {400, "colour"},
		countries + "/tiles/WebMercatorQuad?colour=red":   {400, "colour"},
		countries + "/counts":                             {400, `"zoom": it is missing, want a number from 0 to 30`},
		countries + "/counts?zoom=31":                     {400, `"31", want a number from 0 to 30`},
		countries + "/counts?zoom=8":                      {400, "65536 cells of zoom 8, at most 16384: ask for a smaller area"},
		countries + "/counts?zoom=1&bbox=1":               {400, "bbox"},
		countries + "/counts?zoom=1&colour=red":           {400, "one of f, bbox, zoom, datetime"},
		"/collections/none/counts?zoom=1":                 {404, "none"},
	} {
		if p := w.problem(w.get(target), want.status); !strings.Contains(p.Detail, want.says) {
			t.Errorf("%s: %q, want %q", target, p.Detail, want.says)
		}
	}
}

// A filter over too many features examines a sample, and the tile says so, each time.
func TestSampledTile(t *testing.T) {
	w := newSite(t, Options{Origin: "*"})
	w.points(400)
	w.tiles.builder.MaxFiltered = 100
	w.tiles.cache = tile.NewCache(1<<20, w.tiles.builder)
	for query, want := range map[string]string{"": "<nil>", "&even=true": "4"} {
		a := w.get("/collections/empty/counts?zoom=3" + query)
		if got := fmt.Sprint(a.json(t)["sampled"]); a.StatusCode != http.StatusOK || got != want || (a.Header.Get(sampledHeader) == "1/4") != (want == "4") {
			t.Errorf("counts%s: %s, sampled %s, %q", query, a.Status, got, a.Header.Get(sampledHeader))
		}
	}
	for _, c := range []struct{ target, sampled string }{
		{"0/0/0.mvt?even=true", "1/4"}, {"0/0/0.mvt?filter=" + url.QueryEscape("even=true AND NOT S_INTERSECTS(geometry,BBOX(0,80,1,81))"), "1/4"},
		{"0/0/0.mvt?n=-1", "1/4"}, {"0/0/0.mvt", ""}, {"5/16/10.mvt?even=true", ""},
	} {
		var first []byte
		for try := range 2 {
			a := w.get(emptyTiles + c.target)
			if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusNoContent || a.Header.Get(sampledHeader) != c.sampled {
				t.Errorf("%s: %s, sampled %q: %.200s", c.target, a.Status, a.Header.Get(sampledHeader), a.body)
			}
			if has := bytes.Contains(a.body, []byte("sampled")); has != (c.sampled != "" && len(a.body) > 0) || try > 0 && !bytes.Equal(a.body, first) {
				t.Errorf("%s: property sampled: %v", c.target, has)
			}
			first = a.body
			if expose := a.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(expose, sampledHeader) {
				t.Errorf("pages of others see %q", expose)
			}
		}
	}
	for query, want := range map[string]string{"": "<nil>", "?even=true": "Number"} {
		layer := w.json(emptyTiles + "tile.json" + query)["vector_layers"].([]any)[0].(map[string]any)
		if got := fmt.Sprint(layer["fields"].(map[string]any)["sampled"]); got != want {
			t.Errorf("tile.json%s: sampled is %s, want %s", query, got, want)
		}
	}
}

// gate is a Host that grants a scheduling slot for each value sent to pass.
type gate struct {
	limits.Alone
	pass    chan struct{}
	waiting atomic.Int64
}

func (g *gate) RunStep(ctx context.Context, source string, step func()) error {
	g.waiting.Add(1)
	<-g.pass
	g.waiting.Add(-1)
	return g.Alone.RunStep(ctx, source, step)
}

// However many tiles clients request at a time, only a few are drawn at once. A cached
// tile needs no slot, and a client that has disconnected does not get one.
func TestDrawingsAreBounded(t *testing.T) {
	w := newSite(t, Options{MaxDrawings: 2})
	w.points(1500) // enough that a drawing pauses
	const target = emptyTiles + "0/0/0.mvt?properties="
	kept := w.get(target)
	synctest.Test(t, func(t *testing.T) {
		g := &gate{Alone: limits.Alone{Slots: limits.NewSlots(4)}, pass: make(chan struct{})}
		w.host = g
		status := make([]int, 10)
		var all sync.WaitGroup
		for i := range status {
			all.Go(func() {
				if i%2 == 0 {
					status[i] = w.get(fmt.Sprintf("%sp%d", target, i)).StatusCode
				} else {
					status[i] = w.get(fmt.Sprintf("/collections/empty/counts?zoom=3&n=%d", i)).StatusCode
				}
			})
		}
		gone, hangUp := context.WithCancel(t.Context())
		all.Go(func() {
			defer func() {
				if v := recover(); v != http.ErrAbortHandler {
					t.Errorf("who hung up: %v", v)
				}
			}()
			w.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, target+"gone", http.NoBody))
		})
		synctest.Wait()
		if n := g.waiting.Load(); n != 2 {
			t.Errorf("%d are drawn at a time, want 2", n)
		}
		if a := w.get(target); a.StatusCode != http.StatusOK || !bytes.Equal(a.body, kept.body) {
			t.Errorf("a tile that is kept: %s", a.Status)
		}
		hangUp()
		for synctest.Wait(); g.waiting.Load() > 0; synctest.Wait() {
			if n := g.waiting.Load(); n > 2 {
				t.Fatalf("%d are drawn at a time, want 2", n)
			}
			g.pass <- struct{}{}
		}
		all.Wait()
		for i, s := range status {
			if s != http.StatusOK {
				t.Errorf("request %d: %d", i, s)
			}
		}
	})
}

// The cache keeps within its limit of bytes, and the budgets show it.
func TestTileCacheBytes(t *testing.T) {
	w := newSite(t, Options{TileCacheBytes: 3000})
	for _, properties := range []string{"", "a", "b", "c", "d", "e"} {
		w.get(countries + "/tiles/0/0/0.mvt?properties=" + properties)
	}
	budgets := w.Budgets()
	b := budgets[len(budgets)-1]
	s := w.cache.Stats()
	if b.Name != "bytes of HTTP tiles" || b.Used != s.Bytes || b.Limit != 3000 || s.Bytes == 0 || s.Bytes > 3000 || s.Evicted == 0 {
		t.Errorf("%+v, %+v", b, s)
	}
	none := newSite(t, Options{TileCacheBytes: -1})
	for range 2 {
		none.get(countries + "/tiles/0/0/0.mvt")
	}
	if s := none.cache.Stats(); s.Misses != 2 || s.Tiles != 0 {
		t.Errorf("without a cache: %+v", s)
	}
}
