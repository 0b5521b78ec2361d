package cli

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// A collection is described, a search prints some parts of features, and a collection
// that was loaded beside it takes its place.
func TestFeaturesDescribeAndSwap(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	csv := clitest.File(t, "cafes.csv", cafesCSV)
	clitest.Succeed(t, at(addr, "load", csv, "--id", "ref")...)
	d := clitest.Decode[catfish.FeaturesInfo](t, clitest.Succeed(t, at(addr, "features", "describe", "--json")...))
	if d.Name != "cafes" || d.Features != 3 || d.Extent == nil || *d.Extent != [4]float64{1.5, 42.5, 1.6, 42.55} ||
		len(d.Properties) != 3 || d.Properties[2].Name != "seats" || d.Properties[2].Types["number"] != 3 || d.Created.IsZero() {
		t.Errorf("%+v", d)
	}
	text := clitest.Succeed(t, at(addr, "features", "describe")...)
	for _, s := range []string{"extent      1.5,42.5,1.6,42.55\n", "geometry    Point  3\n", "property    name              3  string 3\n"} {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in\n%s", s, text)
		}
	}
	for _, way := range [][]string{{}, {"--policy", "offload"}, {"--transport", "tcp"}} {
		for args, want := range map[string]string{
			"search --bbox 1,42,1.505,43 --format geojsonseq --fields seats":        `{"type":"Feature","id":"c1","geometry":{"type":"Point","coordinates":[1.5,42.5]},"properties":{"seats":20}}`,
			"search --filter properties.seats>30 --format geojsonseq --no-geometry": `{"type":"Feature","id":"c5","geometry":null,"properties":{"ref":"c5","name":"Far","seats":40}}`,
			"get c3 --fields name,none --no-geometry":                               `{"type":"Feature","id":"c3","geometry":null,"properties":{"name":"Cafe; Luna"}}`,
		} {
			if got := clitest.Succeed(t, at(addr, append(strings.Fields(args), way...)...)...); got != want+"\n" {
				t.Errorf("%s %v: %s, want %s", args, way, got, want)
			}
		}
		near := clitest.Succeed(t, at(addr, append([]string{"nearest", "--point", "1.5,42.5", "-k", "1", "--json", "--fields", "seats", "--no-geometry"}, way...)...)...)
		if got := clitest.Decode[itemsJSON](t, near); len(got.Items) != 1 || !strings.Contains(string(got.Items[0].Feature), `"geometry":null,"properties":{"seats":20}`) {
			t.Errorf("%v: %s", way, near)
		}
	}
	clitest.Fail(t, ExitUsage, []string{"search", "-s", addr, "--no-geometry"}, "--no-geometry does nothing in a collection of boxes")

	// By plain sockets: a swap waits until clients that read memory have noticed it.
	_, addr, _ = clitest.Serve(t)
	clitest.Succeed(t, at(addr, "load", csv, "--id", "ref", "--transport", "tcp")...)
	clitest.Succeed(t, "collections", "create", "next", "--features", "-s", addr)
	if out := clitest.Succeed(t, "features", "swap", "cafes", "next", "-s", addr, "--json"); !strings.Contains(out, `"next"`) {
		t.Error(out)
	}
	for name, want := range map[string]string{"cafes": "0\n", "next": "3\n"} {
		if got := clitest.Succeed(t, "count", "-s", addr, "-c", name, "--transport", "tcp"); got != want {
			t.Errorf("%s has %s", name, got)
		}
	}
	clitest.Succeed(t, "collections", "drop", "cafes", "-s", addr)
	clitest.Fail(t, ExitUsage, []string{"features", "swap", "next", "next", "-s", addr}, "want two collections")
	clitest.Fail(t, ExitFailure, []string{"features", "swap", "next", "cafes", "-s", addr}, "cafes")
}
