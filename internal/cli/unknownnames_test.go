package cli

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestUnknownProperties: each command with a filter names a property that no feature
// has, and a similar property that exists.
func TestUnknownProperties(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "x.csv", "id,lon,lat,amenity,seats\na,1,2,cafe,3\nb,1,2,bar,\n"))...)
	const wrong = `properties.amenty == "cafe"`
	want := `property "amenty" is unknown (did you mean "amenity"?): no feature of cafes has it`
	for _, args := range [][]string{
		{"search"}, {"search", "--explain"}, {"nearest", "--point", "1,2"}, {"count"}, {"export"}, {"features", "delete"},
	} {
		code, out, says := clitest.Program(t, at(addr, append(args, "--filter", wrong)...)...)
		if code != ExitOK || !strings.Contains(says, want) || strings.Contains(out, "unknown") {
			t.Errorf("%v: exit %d, %s\n%s", args, code, out, says)
		}
	}
	lines, end := watchLines(t, addr, "--progress", "--filter", wrong)
	<-lines
	if code, says := end(); code != ExitOK || !strings.Contains(says, want) {
		t.Errorf("watch: %d, %s", code, says)
	}
	for filter, says := range map[string]string{
		`properties.amenity == "cafe"`:                       "",
		`has(properties.amenty) && properties.amenty == "x"`: "",
		`properties.seats > 2`:                               "",
		`properties.zzz == 1`:                                `property "zzz" is unknown: no feature`,
		`properties.Amenity == "cafe"`:                       `did you mean "amenity"?`,
		`properties["seat"] > 1`:                             `did you mean "seats"?`,
	} {
		if _, _, got := clitest.Program(t, at(addr, "count", "--filter", filter)...); !strings.Contains(got, says) || says == "" && strings.Contains(got, "unknown") {
			t.Errorf("%s: says %q, want %q", filter, got, says)
		}
	}
	// An empty collection knows no properties, and one with very many knows only some.
	clitest.Succeed(t, "collections", "create", "empty", "--features", "-s", addr)
	var many strings.Builder
	many.WriteString(`{"type":"Feature","id":"m","geometry":null,"properties":{"a":1`)
	for i := range 1100 {
		many.WriteString(`,"p` + strings.Repeat("x", i%9) + strings.Repeat("y", i/9) + `":1`)
	}
	many.WriteString("}}")
	clitest.Succeed(t, "load", clitest.File(t, "many.geojson", many.String()), "-s", addr, "-c", "many")
	for _, name := range []string{"empty", "many"} {
		if _, _, says := clitest.Program(t, "count", "-s", addr, "-c", name, "--filter", wrong); strings.Contains(says, "unknown") {
			t.Errorf("%s: says %s", name, says)
		}
	}
}

// TestEdits compares with distances counted by hand.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"amenty", "amenity", 1}, {"flaw", "lawn", 2}, {"é", "e", 1}, {"ab", "ba", 2}} {
		if n := edits(c.a, c.b); n != c.n || edits(c.b, c.a) != n {
			t.Errorf("%q, %q: %d and %d, want %d", c.a, c.b, n, edits(c.b, c.a), c.n)
		}
	}
}
