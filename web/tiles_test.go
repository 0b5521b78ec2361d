package web

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt/vectortile"

	"github.com/catfish-index/catfish/store"
)

// plain is an answer's body without its coding.
func (a answer) plain(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	switch a.Header.Get("Content-Encoding") {
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
	case "zstd":
		r, err := zstd.NewReader(bytes.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := out.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
	default:
		return a.body
	}
	return out.Bytes()
}

// drawnIn are the features of a tile by their ids, each with the names of its
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
	if err := proto.Unmarshal(a.plain(w.t), &t); err != nil {
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

// A tile has what lies in it, at once after each write.
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
