package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestExportByName: the file's name chooses the format, --format overrides it, and the
// written file can be read again.
func TestExportByName(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "few.csv", "id,lon,lat,n\na,1,2,3\nb,3,4,5\n"))...)
	const csv, geojson, seq = "id,lon,lat,n\n", `{"type":"FeatureCollection",`, `{"type":"Feature",`
	for i, c := range []struct{ name, format, begins, says string }{
		{"x.csv", "", csv, "csv"},
		{"X.CSV", "", csv, "csv"},
		{"x.geojson", "", geojson, "geojson"},
		{"x.json", "", geojson, "geojson"},
		{"x.geojsonl", "", seq, "geojsonseq"},
		{"x.ndjson", "", seq, "geojsonseq"},
		{"x.backup", "", geojson, "geojson"},
		{"x", "", geojson, "geojson"},
		{"x.csv", "geojsonseq", seq, "geojsonseq"},
		{"x.geojson", "csv", csv, "csv"},
		{"x.dump", "csv", csv, "csv"},
		{"x.csv.gz", "", "\x1f\x8b", "csv"},
		{"x.geojsonl.zst", "", "\x28\xb5\x2f\xfd", "geojsonseq"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		args := at(addr, "export", "--out", path)
		if c.format != "" {
			args = append(args, "--format", c.format)
		}
		code, _, says := clitest.Program(t, args...)
		b, err := os.ReadFile(path)
		if code != ExitOK || err != nil || !strings.HasPrefix(string(b), c.begins) || !strings.Contains(says, ", "+c.says+": "+path) {
			t.Errorf("%s as %q: exit %d, %.40q, %v, says %s", c.name, c.format, code, b, err, says)
		}
		again := fmt.Sprintf("again%d", i)
		clitest.Succeed(t, "load", path, "-s", addr, "-c", again)
		if got := strings.TrimSpace(clitest.Succeed(t, "count", "-s", addr, "-c", again, "--filter", "properties.n > 2 && id in ['a', 'b']")); got != "2" {
			t.Errorf("%s as %q: %s of 2 features came back", c.name, c.format, got)
		}
	}
	for _, name := range []string{"x.gpkg", "x.pbf", "x.fgb", "x.tsv", "x.shp.gz"} {
		path := filepath.Join(t.TempDir(), name)
		clitest.Fail(t, ExitUsage, at(addr, "export", "--out", path), "--out", "not written", ".geojsonl", "--format")
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
