//go:build clients

package webclients

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Debian's Python, for which Debian packages OWSLib.
const python = "/usr/bin/python3"

// OWSLib walks all pages: each feature of the file is on one of them, once.
func TestOWSLib(t *testing.T) {
	var found struct {
		Conformance, Paths []string
		Collections        map[string]struct {
			IDs, Queryables, Within []string
			Pages                   int
			Matched                 []int
			BBox                    [4]float64
		}
	}
	if err := json.Unmarshal([]byte(run(t, python, "owslib_pages.py", site)), &found); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found.Conformance, func(c string) bool { return strings.HasSuffix(c, "/ogcapi-features-1/1.0/conf/core") }) ||
		!slices.Contains(found.Paths, "/collections/{collectionId}/items") || len(found.Collections) != len(loaded) {
		t.Errorf("conformance %q, paths %q, %d collections", found.Conformance, found.Paths, len(found.Collections))
	}
	for i, c := range loaded {
		got, want := found.Collections[c.name], ogr2ogr(t, []string{original(t, i)}, "-select", "id")
		ids := slices.Sorted(maps.Keys(want))
		if !slices.Equal(got.IDs, ids) {
			t.Errorf("%s: %d ids, want the %d of the file", c.name, len(got.IDs), len(ids))
		}
		if !slices.Equal(got.Matched, []int{len(ids)}) || got.Pages != (len(ids)+699)/700 {
			t.Errorf("%s: numberMatched %v, %d pages, want %d", c.name, got.Matched, got.Pages, len(ids))
		}
		within := slices.Sorted(maps.Keys(idsWithin(t, c.name, got.BBox[0], got.BBox[1], got.BBox[2], got.BBox[3])))
		if len(got.Within) == 0 || !slices.Equal(got.Within, within) {
			t.Errorf("%s: %d features in %v, want %d", c.name, len(got.Within), got.BBox, len(within))
		}
		property := map[string]string{"countries": "id", "kinds": "half", "andorra": "highway"}[c.name]
		if !slices.Contains(got.Queryables, "geometry") || !slices.Contains(got.Queryables, property) {
			t.Errorf("%s: queryables %q", c.name, got.Queryables)
		}
	}
}
