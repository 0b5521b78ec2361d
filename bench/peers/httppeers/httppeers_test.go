//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/maptile"

	"github.com/catfish-index/catfish/internal/places"
)

// The same seed gives the same points and boxes, another seed gives others;
// boxes hold the wanted numbers, and no point is near an edge.
func TestData(t *testing.T) {
	all := makePoints(20_000, 1)
	if !reflect.DeepEqual(all, makePoints(20_000, 1)) || reflect.DeepEqual(all, makePoints(20_000, 2)) {
		t.Error("points do not follow from the seed")
	}
	ids := map[string]bool{}
	for _, p := range all {
		var properties struct {
			Kind, Name string
			Seats      *int
		}
		if err := json.Unmarshal(p.Properties, &properties); err != nil || properties.Kind == "" || properties.Name == "" || properties.Seats == nil {
			t.Fatalf("%s: %v", p.Properties, err)
		}
		ids[p.ID] = true
	}
	if len(ids) != len(all) {
		t.Errorf("%d ids of %d points", len(ids), len(all))
	}
	g := newGrid(all)
	boxes, err := g.boxes(rand.New(rand.NewPCG(1, 1)), 100, 50, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range boxes {
		n := 0
		for _, p := range all {
			if b.Contains(p.Geometry.(orb.Point)) {
				n++
			}
			if near := b.Pad(clear).Contains(p.Geometry.(orb.Point)); near != b.Pad(-clear).Contains(p.Geometry.(orb.Point)) {
				t.Errorf("%v is at an edge of %v", p.Geometry, b)
			}
		}
		if n < 50 || n > 100 || n != len(g.placesIn(b, 100)) {
			t.Errorf("%v holds %d, by the grid %d", b, n, len(g.placesIn(b, 100)))
		}
	}
	if _, err := g.boxes(rand.New(rand.NewPCG(1, 1)), 1, 30_000, 30_000); err == nil {
		t.Error("boxes with more points than there are")
	}
}

// fixed is a backend with one answer.
type fixed []places.Place

func (f fixed) items(_ context.Context, dst []byte, _ [4]float64, limit int) ([]byte, int, error) {
	for i, p := range f[:min(limit, len(f))] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = places.AppendFeature(dst, p)
	}
	return dst, min(limit, len(f)), nil
}

func (f fixed) tile(_ context.Context, dst []byte, z, x, y int) ([]byte, error) {
	return fmt.Appendf(dst, "%d/%d/%d", z, x, y), nil
}

func (fixed) close() {}

func ask(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// A handler's answer is right, and an answer with any difference is wrong.
func TestItems(t *testing.T) {
	want := makePoints(20, 1)[:3]
	h := handler(fixed(want))
	p := handled("x")
	code, body := ask(h, p.items(region, 100))
	if err := checkItems([]byte(body), want); err != nil || code != http.StatusOK {
		t.Errorf("%d, %v: %s", code, err, body)
	}
	other := makePoints(20, 2)
	for name, wrong := range map[string][]places.Place{
		"fewer": want[:2], "more": append(want[:3:3], makePoints(20, 1)[3]), "twice": append(want[:3:3], want[0]),
		"properties": {want[0], want[1], {ID: want[2].ID, Geometry: want[2].Geometry, Properties: other[2].Properties}},
		"place":      {want[0], want[1], {ID: want[2].ID, Geometry: other[2].Geometry, Properties: want[2].Properties}},
		"id":         {want[0], want[1], {ID: "x", Geometry: want[2].Geometry, Properties: want[2].Properties}},
	} {
		_, body := ask(handler(fixed(wrong)), p.items(region, 100))
		if err := checkItems([]byte(body), want); !errors.Is(err, errWrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{"/items", "/items?bbox=1,2,3&limit=1", "/items?bbox=1,2,3,x&limit=1", "/items?bbox=1,2,3,4", "/tiles/1/x/2.mvt"} {
		if code, body := ask(h, path); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, body := ask(h, p.tile(maptile.New(1, 2, 3))); code != http.StatusOK || body != "3/1/2" {
		t.Errorf("tile: %d %s", code, body)
	}
}

// A tile that has lost a point is wrong.
func TestTiles(t *testing.T) {
	at := orb.Point{1.5, 42.5}
	tile := maptile.At(at, wholeZoom)
	c := tile.Center()
	all := []places.Place{{ID: "a", Geometry: c}, {ID: "b", Geometry: orb.LineString{c, at}}, {ID: "c", Geometry: orb.Point{50, 50}}}
	encode := func(ids ...string) []byte {
		fc := geojson.NewFeatureCollection()
		for _, id := range ids {
			f := geojson.NewFeature(c)
			f.Properties["id"] = id
			fc.Append(f)
		}
		layers := mvt.NewLayers(map[string]*geojson.FeatureCollection{"places": fc})
		layers.ProjectToTile(tile)
		b, err := mvt.Marshal(layers)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if n, err := checkTile(encode("a", "x"), tile, all); err != nil || n != 2 {
		t.Error(n, err)
	}
	for _, wrong := range [][]byte{nil, encode("x"), []byte("no tile")} {
		if _, err := checkTile(wrong, tile, all); !errors.Is(err, errWrong) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	if a, b := tilesOf(rng(), all, 12), tilesOf(rng(), all, 12); !reflect.DeepEqual(a, b) || len(a) != 12 {
		t.Errorf("%v, %v", a, b)
	}
}

func TestSample(t *testing.T) {
	const ok = `{"requests":10,"duration_us":5e6,"bytes":100,"p50_us":1,"p99_us":2,"connect":0,"read":0,"write":0,"status":0,"timeout":0}`
	s, err := parseSample([]byte("Running 5s test\nresult " + ok + "\nRequests/sec: 2\n"))
	if err != nil || s.Requests != 10 || s.P99Us != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	var r row
	r.summarize([]sample{s, {Requests: 30, DurationUs: 5e6}, {Requests: 20, DurationUs: 5e6}})
	if r.RequestsPerS != 4 || r.Spread["requests_per_s"] != [2]float64{2, 6} {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{
		"", "result x", "\nresult {", "\nresult " + strings.Replace(ok, `"status":0`, `"status":1`, 1),
		"\nresult " + strings.Replace(ok, `"requests":10`, `"requests":0`, 1), "\nresult " + strings.Replace(ok, `"timeout":0`, `"timeout":3`, 1),
	} {
		if _, err := parseSample([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestCopyText(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	writeCopyText(w, "a\\n\tb\nc\ré")
	w.Flush()
	if b.String() != `a\\n\tb\nc\ré` {
		t.Errorf("%q", b.String())
	}
	r := stream(func(*bufio.Writer) error { return errWrong })
	if _, err := io.ReadAll(r); !errors.Is(err, errWrong) {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range []string{
		"--work x", "--peer x", "--peer tile38", "--features 10", "--rounds 0", "--connections 0", "--duration 1500ms",
		"--duration 0s", "--warmup -1s", "--server-cpus x", "--load-cpus 9999", "what",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%s: %v", args, err)
		}
	}
	c, err := parse([]string{"--tile38", "t"}, io.Discard)
	if err != nil || strings.Join(c.peers, ",") != "catfish,postgis,tile38" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := programsOf(t.TempDir()); !errors.Is(err, errMissing) {
		t.Error(err)
	}
}
