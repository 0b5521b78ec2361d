package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

const cafesCSV = `ref;lat;lon;name;seats
c1;42.5;1.5;Bar Sol;20
c2;north;1.6;Broken;
c3;42.51;1.52;"Cafe; Luna";8
c4;95;1.52;Off the map;8
c5;42.55;1.6;Far;40
`

const townJSON = `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1.49,42.49],[1.53,42.49],[1.53,42.52],[1.49,42.52],[1.49,42.49]]]},"properties":null}`

// collectionJSON is a FeatureCollection as search prints it.
type collectionJSON struct {
	Type     string `json:"type"`
	Features []struct {
		Type       string          `json:"type"`
		ID         string          `json:"id"`
		Geometry   json.RawMessage `json:"geometry"`
		Properties map[string]any  `json:"properties"`
	} `json:"features"`
	NumberReturned int    `json:"numberReturned"`
	Next           string `json:"next"`
}

func (c *collectionJSON) ids() (ids []string) {
	for _, f := range c.Features {
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	return ids
}

// itemsJSON is the output of search and nearest with --json.
type itemsJSON struct {
	Count     int           `json:"count"`
	Items     []featureJSON `json:"items"`
	Next      string        `json:"next"`
	Policy    string        `json:"policy"`
	Transport string        `json:"transport"`
}

// programIn is program with standard input.
func programIn(t *testing.T, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Program{}.Run(args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

// at adds the server and the collection cafes to a command.
func at(addr string, args ...string) []string {
	return append(args, "--server", addr, "--collection", "cafes")
}

// A file is loaded, its bad records are reported, and its places are found by area,
// distance and filter, by every path.
func TestFeatures(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	csv, town := clitest.File(t, "cafes.csv", cafesCSV), clitest.File(t, "town.geojson", townJSON)
	code, out, says := clitest.Program(t, at(addr, "load", csv, "--id", "ref")...)
	if code != ExitOK || out != "loaded 3 features into cafes, 2 bad records were left out\n" {
		t.Fatalf("exit %d, %q\n%s", code, out, says)
	}
	for _, s := range []string{"2 bad records", "line 3", `"north"`, "line 5", "latitude 95"} {
		if !strings.Contains(says, s) {
			t.Errorf("load does not say %q:\n%s", s, says)
		}
	}
	for _, way := range [][]string{{}, {"--policy", "fast"}, {"--policy", "offload"}, {"--transport", "soft"}, {"--transport", "tcp"}} {
		for args, want := range map[string][]string{
			"":                                {"c1", "c3", "c5"},
			"--bbox 1,42,1.55,43":             {"c1", "c3"},
			"--bbox 179,42,1.55,43":           {"c1", "c3"}, // across 180 degrees
			"--near 1.52,42.51 --radius 2000": {"c1", "c3"},
			"--circle 1.52,42.51,1900":        {"c3"},
			"--within " + town:                {"c1", "c3"},
			"--polygon " + town + " --relation within":         {"c1", "c3"},
			"--filter properties.seats>10":                     {"c1", "c5"},
			"--bbox 1,42,1.55,43 --filter properties.seats>10": {"c1"},
			"--order id --limit 2":                             {"c1", "c3"},
			"--after c1":                                       {"c3", "c5"},
		} {
			given := append(strings.Fields(args), way...)
			got := clitest.Decode[collectionJSON](t, clitest.Succeed(t, at(addr, append([]string{"search", "--format", "geojson"}, given...)...)...))
			if !slices.Equal(got.ids(), want) || got.NumberReturned != len(want) || (got.Next != "") != strings.Contains(args, "limit") {
				t.Errorf("search %v %v: %+v, want %q", args, way, got, want)
			}
			if strings.Contains(args, "order") || strings.Contains(args, "after") {
				continue
			}
			if n := clitest.Succeed(t, at(addr, append([]string{"count"}, given...)...)...); strings.TrimSpace(n) != string(rune('0'+len(want))) {
				t.Errorf("count %v %v: %s, want %d", args, way, n, len(want))
			}
		}
		near := clitest.Decode[itemsJSON](t, clitest.Succeed(t, at(addr, append([]string{"nearest", "--point", "1.52,42.51", "-k", "2",
			"--filter", "properties.seats > 10", "--json"}, way...)...)...))
		if len(near.Items) != 2 || near.Items[0].ID != "c1" || *near.Items[0].Metres < 1980 || *near.Items[0].Metres > 1982 {
			t.Errorf("nearest %v: %+v", way, near)
		}
		if n := clitest.Decode[itemsJSON](t, clitest.Succeed(t, at(addr, append([]string{"nearest", "--point", "1.52,42.51",
			"--max-distance", "0", "--json"}, way...)...)...)).Count; n != 1 {
			t.Errorf("nearest within 0 m: %d", n)
		}
	}
	// The next ones, until there are none.
	var all []string
	for cursor, n := "", 0; n < 4; n++ {
		args := []string{"search", "--limit", "1", "--json"}
		if cursor != "" {
			args = append(args, "--cursor", cursor)
		}
		got := clitest.Decode[itemsJSON](t, clitest.Succeed(t, at(addr, args...)...))
		for _, i := range got.Items {
			all = append(all, i.ID)
		}
		if cursor = got.Next; cursor == "" {
			break
		}
	}
	if !slices.Equal(all, []string{"c1", "c3", "c5"}) {
		t.Errorf("by pages: %q", all)
	}
	if out := clitest.Succeed(t, at(addr, "search", "--explain", "--bbox", "1,42,2,43")...); !strings.Contains(out, "results       3") {
		t.Errorf("explained: %s", out)
	}
	for args, says := range map[string]string{
		"search --bbox 0,0,1,1 --near 1,1":      "are 2 areas",
		"search --near 1,1":                     "--radius is missing",
		"search --radius 5":                     "goes with --near",
		"search --circle 1,1,-1":                "radius -1",
		"search --filter properties.":           "column 12",
		"search --relation near --bbox 0,0,1,1": `--relation is "near"`,
		"search --relation within":              "without an area",
		"search --format xml":                   `--format is "xml"`,
		"search --format csv --json":            "want one of them",
		"search --order size":                   `--order is "size"`,
		"search --within " + csv:                "--within",
		"search --bbox 0,95,1,96":               "latitude",
		"features delete":                       "want ids, or an area",
		"features delete c1 --filter true":      "want ids, or an area",
		"features put x --file y":               "want one of them",
		"features patch c1 [1]":                 "JSON object",
		"load " + csv + " --highways":           "--highways",
		"load " + csv + " --separator ;;":       "--separator",
		"load " + csv + " --planar":             "geographic",
		"load":                                  "FILE is missing",
		"export --format table":                 "want geojson",
		"delete c1 --bbox 0,0,1,1":              "--bbox does nothing",
	} {
		clitest.Fail(t, ExitUsage, at(addr, strings.Fields(args)...), says)
	}
	clitest.Fail(t, ExitFailure, at(addr, "load", csv, "--id", "ref", "--strict"), "line 3", "north")
	clitest.Fail(t, ExitFailure, at(addr, "get", "none"), "none")
	clitest.Fail(t, ExitFailure, []string{"load", csv, "-s", addr, "-c", "other", "--no-create"}, "unknown collection")
	clitest.Fail(t, ExitFailure, []string{"search", "-s", addr, "-c", "other", "--bbox", "0,0,1,1"}, "unknown collection", "--features")
	clitest.Fail(t, ExitUsage, []string{"search", "-s", addr, "--filter", "true"}, "--filter does nothing in a collection of boxes, as \"default\" is", "--collection")
	clitest.Fail(t, ExitUsage, []string{"nearest", "-s", addr, "--point", "1,1", "--filter", "true"}, "--filter does nothing in a collection of boxes", "--collection")
	clitest.Fail(t, ExitFailure, []string{"load", "none.csv", "-s", addr, "-c", "other"}, "none.csv", "no such file")
	// A file that cannot be loaded creates no collection.
	clitest.Fail(t, ExitFailure, []string{"load", csv, clitest.File(t, "bad.csv", "name;town\nx;y\n"), "-s", addr, "-c", "other"}, "bad.csv", "no columns of positions")
	if out := clitest.Succeed(t, "collections", "list", "-s", addr); strings.Contains(out, "other") {
		t.Errorf("%s", out)
	}
}

// One feature's life, and a file that is exported as it was loaded.
func TestFeaturesByID(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	const sol = `{"type":"Feature","id":"sol","geometry":{"type":"Point","coordinates":[1.5,42.5]},"properties":{"name":"Sol","seats":20}}`
	code, out, says := programIn(t, sol, at(addr, "put", "--json")...)
	if code != ExitOK {
		t.Fatal(says)
	}
	type doneJSON struct {
		Features []featureDone `json:"features"`
	}
	done := clitest.Decode[doneJSON](t, out).Features
	if len(done) != 1 || done[0].ID != "sol" || done[0].Revision == 0 {
		t.Fatalf("%+v", done)
	}
	if got := clitest.Succeed(t, at(addr, "get", "sol")...); got != sol+"\n" {
		t.Errorf("%s", got)
	}
	if code, _, says := programIn(t, sol, at(addr, "features", "put", "-", "--if-absent")...); code != ExitFailure || !strings.Contains(says, "sol") {
		t.Errorf("put twice: exit %d, %s", code, says)
	}
	clitest.Succeed(t, at(addr, "features", "patch", "sol", `{"seats":null,"open":true}`)...)
	got := clitest.Decode[struct {
		Features []featureJSON `json:"features"`
	}](t, clitest.Succeed(t, at(addr, "get", "sol", "--json")...)).Features
	if len(got) != 1 || !strings.Contains(string(got[0].Feature), `"properties":{"name":"Sol","open":true}`) || got[0].Revision <= done[0].Revision {
		t.Errorf("patched: %+v", got)
	}
	// A collection created with --features --planar accepts positions that are no latitudes,
	// and measures in its unit.
	clitest.Succeed(t, "collections", "create", "hall", "--features", "--planar", "--title", "Hall", "-s", addr)
	list := clitest.Decode[struct {
		Collections []catfish.CollectionInfo `json:"collections"`
	}](t, clitest.Succeed(t, "collections", "list", "--json", "-s", addr)).Collections
	if i := slices.IndexFunc(list, func(c catfish.CollectionInfo) bool { return c.Name == "hall" }); i < 0 ||
		list[i].Kind != catfish.KindFeatures || list[i].Features.Title != "Hall" {
		t.Errorf("%+v", list)
	}
	shelf := clitest.File(t, "shelf.csv", "id,x,y,wide\n7,3000,4000,1.5\n")
	clitest.Succeed(t, "load", shelf, "--collection", "hall", "-s", addr)
	near := clitest.Decode[itemsJSON](t, clitest.Succeed(t, "nearest", "--point", "0,0", "--collection", "hall", "-s", addr, "--json"))
	if len(near.Items) != 1 || near.Items[0].Metres != nil || *near.Items[0].Distance != 5000 {
		t.Errorf("planar: %+v", near)
	}
	clitest.Fail(t, ExitFailure, []string{"collections", "create", "hall", "--features", "-s", addr}, "planar")
	clitest.Fail(t, ExitUsage, []string{"collections", "create", "x", "--planar", "-s", addr}, "--planar does nothing")

	// A put that cannot succeed creates no collection.
	put := func(args ...string) []string { return append([]string{"put", "-s", addr, "-c", "new"}, args...) }
	clitest.Fail(t, ExitFailure, put("none.geojson"), "none.geojson")
	clitest.Fail(t, ExitFailure, put(clitest.File(t, "bad.geojson", `{"type":"Feature","geometry":{"type":"Point","coordinates":[1]}}`)), "bad.geojson")
	one := clitest.File(t, "sol.geojson", sol)
	clitest.Fail(t, ExitFailure, put(one, "--if-revision", "7"), "unknown collection")
	clitest.Fail(t, ExitFailure, put(one, "--no-create"), "unknown collection")
	if out := clitest.Succeed(t, "collections", "list", "-s", addr); strings.Contains(out, "new") {
		t.Errorf("%s", out)
	}
	clitest.Succeed(t, put(one, "--if-absent")...)
	clitest.Succeed(t, "collections", "drop", "new", "-s", addr)

	if out := clitest.Succeed(t, at(addr, "delete", "sol")...); !strings.HasPrefix(out, "deleted sol, revision ") {
		t.Errorf("%q", out)
	}
	clitest.Fail(t, ExitFailure, at(addr, "delete", "sol"), "sol")
	for _, f := range []string{"geojson", "geojsonseq", "csv"} {
		code, _, says := programIn(t, sol, at(addr, "load", "-", "--json")...) // standard input
		if code != ExitOK {
			t.Fatal(says)
		}
		path := filepath.Join(t.TempDir(), "out."+f)
		clitest.Succeed(t, at(addr, "export", "--format", f, "--out", path)...)
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := clitest.Succeed(t, at(addr, "features", "delete", "--filter", `id == "sol"`)...); n != "deleted 1 features\n" {
			t.Errorf("%q", n)
		}
		clitest.Succeed(t, at(addr, "load", path)...)
		if again := clitest.Succeed(t, at(addr, "export", "--format", f)...); again != string(first) || !strings.Contains(again, "Sol") {
			t.Errorf("%s came back as %s, was %s", f, again, first)
		}
	}
}

// A table has room for late columns and shapes, since the collection knows all of them.
func TestExportLateColumns(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	var b strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&b, `{"type":"Feature","id":"p%04d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"n":%d}}`+"\n", i, i)
	}
	b.WriteString(`{"type":"Feature","id":"q","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]},"properties":{"late":"yes"}}` + "\n")
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "late.geojsonl", b.String()))...)
	for _, c := range []struct {
		more        []string
		head, final string
	}{
		{nil, "id,wkt,n,late", `q,"LINESTRING(1 2,3 4)",,yes`},
		{[]string{"--no-geometry"}, "id,lon,lat,n,late", "q,,,,yes"},
		{[]string{"--fields", "late"}, "id,wkt,late", `q,"LINESTRING(1 2,3 4)",yes`},
		{[]string{"--filter", "properties.n == 7"}, "id,lon,lat,n", "p0007,1,2,7"},
	} {
		lines := strings.Split(strings.TrimSpace(clitest.Succeed(t, at(addr, append([]string{"export", "--format", "csv"}, c.more...)...)...)), "\n")
		if lines[0] != c.head || lines[len(lines)-1] != c.final {
			t.Errorf("%v: %s, ..., %s, want %s, ..., %s", c.more, lines[0], lines[len(lines)-1], c.head, c.final)
		}
	}
}

// Persistent features survive a restart, and a restore, and clients may drop the
// collection.
func TestDataDir(t *testing.T) {
	dir := t.TempDir()
	data, backups, restored := filepath.Join(dir, "data"), filepath.Join(dir, "backups"), filepath.Join(dir, "restored")
	csv := clitest.File(t, "cafes.csv", cafesCSV)
	start := func(data string, more ...string) (*clitest.Process, string, string) {
		return clitest.Serve(t, append([]string{"--data-dir", data, "--backup-dir", backups, "--grpc", "127.0.0.1:0"}, more...)...)
	}
	p, addr, ready := start(data, "--collection", "cafes", "--load", csv, "--id", "ref")
	if !strings.Contains(ready, " objects=3 collections=cafes,default") {
		t.Errorf("%s", ready)
	}
	clitest.Succeed(t, "load", csv, "--collection", "stops", "--id", "ref", "-s", addr)
	clitest.Succeed(t, at(addr, "delete", "c5")...)
	if out := clitest.Succeed(t, "backup", "monday", "-s", addr); !strings.Contains(out, "5 features of 2 collections") {
		t.Errorf("%s", out)
	}
	clitest.Fail(t, ExitFailure, []string{"backup", "monday", "-s", addr}, "not empty")
	clitest.Fail(t, ExitUsage, []string{"backup", "../monday", "-s", addr}, "without a path")
	clitest.Fail(t, ExitFailure, []string{"check", "--data-dir", data}, "in use", "stop that first")
	clitest.Succeed(t, at(addr, "delete", "c3")...)
	if _, code := p.Interrupt(t); code != ExitOK {
		t.Fatalf("exit %d: %s", code, p.ErrOut.String())
	}
	if out := clitest.Succeed(t, "check", "--data-dir", data); !strings.Contains(out, "4 features of 2 collections") {
		t.Errorf("%s", out)
	}
	// One load is enough: c3 and c5 do not come back.
	p, addr, ready = start(data, "--collection", "cafes", "--load", csv, "--id", "ref", "--sync", "50ms", "--log-bytes", "1MiB")
	if !strings.Contains(ready, " objects=1 collections=cafes,default,stops") {
		t.Errorf("%s", ready)
	}
	p.AwaitError(t, "1 features from before")
	clitest.Fail(t, ExitFailure, []string{"collections", "drop", "cafes", "-s", addr}, "not permitted")
	clitest.Succeed(t, "collections", "drop", "stops", "-s", addr)
	p.Interrupt(t)

	clitest.Succeed(t, "restore", "--from", filepath.Join(backups, "monday"), "--data-dir", restored)
	clitest.Fail(t, ExitFailure, []string{"restore", "--from", filepath.Join(backups, "monday"), "--data-dir", restored}, "not empty")
	clitest.Fail(t, ExitUsage, []string{"restore", "--from", restored}, "both")
	clitest.Succeed(t, "backup", "--data-dir", data, "--out", filepath.Join(backups, "off"))
	clitest.Fail(t, ExitFailure, []string{"backup", "--data-dir", filepath.Join(dir, "none"), "--out", filepath.Join(backups, "x")}, "none")
	p, addr, ready = start(restored, "--features", "cafes")
	// c1, and c1 and c3 of the backup: without --load all of them.
	if !strings.Contains(ready, " objects=5 collections=cafes,default,stops") {
		t.Errorf("%s", ready)
	}
	if n := clitest.Succeed(t, at(addr, "count")...); n != "2\n" {
		t.Errorf("restored: %s", n)
	}
	p.Interrupt(t)
	_, addr, _ = clitest.Serve(t)
	clitest.Fail(t, ExitFailure, []string{"backup", "monday", "-s", addr}, "not permitted")
}

// The files of --load, and the typed flags, decide the kind of collection to fill.
func TestServeKind(t *testing.T) {
	places := clitest.File(t, "places.geojson", townJSON)
	boxes := clitest.File(t, "boxes.csv", "ID, minx,miny,maxx,maxy\n1,0,0,1,1\n")
	for args, want := range map[string]string{
		"--collection c --load " + places:              "1 features (geographic)",
		"--collection c --planar --load " + places:     "1 features (planar)",
		"--collection c --kind boxes --load " + places: "1 objects",
		"--collection c --features c --load " + places: "1 features (geographic)",
		"--collection c --features c":                  "0 features (geographic)",
		"--collection c --load " + boxes:               "1 objects",
		"--collection c --load uniform --objects 9":    "9 objects",
	} {
		p, addr, ready := clitest.Serve(t, strings.Fields(args)...)
		if list := clitest.Succeed(t, "collections", "list", "-s", addr); !strings.Contains(list, "c\t"+want) {
			t.Errorf("serve %s: %s; %s", args, list, ready)
		}
		p.Interrupt(t)
	}
	for args, says := range map[string]string{
		"--kind x":                         `--kind is "x"`,
		"--kind features --load " + places: "want --collection NAME",
		"--sync off":                       "--sync does nothing without --data-dir",
		"--data-dir d --sync often":        `--sync is "often"`,
		"--data-dir d --sync 0s":           `--sync is "0s"`,
		"--data-dir d --log-bytes -1":      "--log-bytes is -1",
		"--keep":                           "--keep does nothing without --data-dir",
		"--data-dir d --keep --collection c --load " + places:       "which are kept in any case",
		"--collection c --features c --kind boxes --load " + places: "--features lists collection c",
		"--features a,a":           "--features lists a",
		"--features default":       "--features lists default",
		"--strict --load " + boxes: "--strict does nothing",
	} {
		clitest.Fail(t, ExitUsage, append([]string{"serve"}, strings.Fields(args)...), says)
	}
}
