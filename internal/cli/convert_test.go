package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/kv"
)

// TestLoadOtherCRS: a file that names another coordinate reference system, anywhere in
// the file, is refused with the name and the line that loads it. No collection without
// a stored feature is left. A planar collection accepts the file.
func TestLoadOtherCRS(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	crs := `"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::31287"}}`
	feature := `{"type":"Feature","geometry":{"type":"Point","coordinates":[80,40]},"properties":{}}`
	before := clitest.File(t, "p.geojson", `{"type":"FeatureCollection",`+crs+`,"features":[`+feature+`]}`)
	behind := clitest.File(t, "it's.geojson", `{"type":"FeatureCollection","features":[`+feature+`],`+crs+`}`)
	large := clitest.File(t, "large.geojson", `{"type":"FeatureCollection","features":[`+strings.Repeat(feature+",", 300)+feature+`],`+crs+`}`)
	absent := func(when string) {
		t.Helper()
		if got := clitest.Succeed(t, "collections", "list", "-s", addr); strings.Contains(got, "cafes") {
			t.Errorf("%s: the collection is there:\n%s", when, got)
		}
	}
	line := "ogr2ogr -t_srs EPSG:4326 -f GeoJSONSeq /vsistdout/ "
	clitest.Fail(t, ExitFailure, at(addr, "load", before), "EPSG::31287", "line 1", line+before+" | catfish load - -c cafes")
	absent("before")
	clitest.Fail(t, ExitFailure, at(addr, "load", behind), "EPSG::31287", line+"'"+strings.ReplaceAll(behind, "'", `'\''`)+"' | catfish load - -c cafes")
	absent("behind")
	clitest.Fail(t, ExitFailure, at(addr, "put", before), "EPSG::31287", line)
	absent("put")
	// The error reports the features stored before.
	clitest.Fail(t, ExitFailure, at(addr, "load", large), "EPSG::31287", line, "at least 256 features were stored before that, and stay")
	clitest.Succeed(t, "load", before, "--planar", "-s", addr, "-c", "hall")
	clitest.Succeed(t, "load", before, "-s", addr, "-c", "hall")
}

// TestFailedLoadLeavesNoCollection: for any cause of the failure.
func TestFailedLoadLeavesNoCollection(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	for name, text := range map[string]string{
		"bad.csv":      "id,lon,lat\na,north,2\nb,1,95\n",
		"cut.geojson":  `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":`,
		"text.geojson": `{"type":"FeatureCollection","features":"none"}`,
	} {
		code, _, says := clitest.Program(t, at(addr, "load", clitest.File(t, name, text))...)
		if got := clitest.Succeed(t, "collections", "list", "-s", addr); code != ExitFailure || strings.Contains(got, "cafes") {
			t.Errorf("%s: exit %d, %s\n%s", name, code, says, got)
		}
	}
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "none.geojson", `{"type":"FeatureCollection","features":[]}`))...)
	if got := clitest.Succeed(t, "collections", "list", "-s", addr); !strings.Contains(got, "cafes") {
		t.Errorf("a file without features makes no collection:\n%s", got)
	}
}

// TestLoadForeignFormats: a known format that is not read is named, with the line that
// loads it, for any target of the load.
func TestLoadForeignFormats(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	gpkg := clitest.File(t, "small.gpkg", "SQLite format 3\x00"+strings.Repeat("\x00", 52)+"GPKG")
	shp := clitest.File(t, "small.shp", "\x00\x00\x27\x0a"+strings.Repeat("\x00", 96))
	line := "ogr2ogr -f GeoJSONSeq /vsistdout/ "
	clitest.Fail(t, ExitFailure, at(addr, "load", gpkg), "a GeoPackage", line+gpkg+" | catfish load - -c cafes")
	clitest.Fail(t, ExitFailure, []string{"load", shp, "-s", addr}, "a Shapefile", line+shp+" | catfish load - -c NAME")
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--features", "cafes", "--load", shp}, "a Shapefile", line+shp+" | catfish load - -c cafes")
}

// TestDropEmpty: a collection that a failed load made is removed, unless it was used since.
func TestDropEmpty(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	cl, err := catfish.Dial(t.Context(), addr, catfish.Options{Transport: catfish.TransportTCP})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	f, err := cl.Features("cafes")
	if err != nil {
		t.Fatal(err)
	}
	for _, used := range []bool{true, false} {
		if err := cl.CreateFeatures(t.Context(), "cafes", catfish.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
		if used {
			_, _, err = f.Put(t.Context(), catfish.Feature{ID: "a"}, kv.Condition{})
		} else {
			_, err = f.Delete(t.Context(), "a", kv.Condition{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := dropEmpty(t.Context(), cl, f, "cafes"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Describe(t.Context()); errors.Is(err, catfish.ErrUnknownCollection) == used {
			t.Errorf("used %v: %v", used, err)
		}
	}
}
