package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
)

// TestStatusOfFeatures: status and list tell of features, and of where they are kept;
// check checks their tree.
func TestStatusOfFeatures(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	cafes := file(t, "cafes.geojson", cafesJSON)
	_, addr, _ := serve(t, "--data-dir", data, "--sync", "100ms", "--features", "cafes", "--load", cafes)
	says := succeed(t, at(addr, "status")...)
	for _, want := range []string{"cafes: 1 features (geographic)", "kept        in ", data, "sync 100ms", "0 watchers"} {
		if !strings.Contains(says, want) {
			t.Errorf("status does not say %q:\n%s", want, says)
		}
	}
	if got := succeed(t, at(addr, "check")...); !strings.Contains(got, "1 objects") {
		t.Errorf("check says %s", got)
	}
	st := decode[catfish.ServerStats](t, succeed(t, "status", "--server", addr, "--json"))
	for _, c := range decode[struct {
		Collections []catfish.CollectionInfo `json:"collections"`
	}](t, succeed(t, "collections", "list", "--json", "--server", addr)).Collections {
		if c.SlabBytes > st.Memory.Limit {
			t.Errorf("%s may take %d bytes, the server has %d", c.Name, c.SlabBytes, st.Memory.Limit)
		}
	}
	_, addr, _ = serve(t, "--features", "cafes")
	if got := succeed(t, at(addr, "status")...); !strings.Contains(got, "in memory alone") {
		t.Errorf("status says %s", got)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	fail(t, exitFailure, []string{"check", "--data-dir", gone}, gone+" does not exist")
	fail(t, exitFailure, []string{"restore", "--from", gone, "--data-dir", gone + "2"}, gone+" does not exist")
}
