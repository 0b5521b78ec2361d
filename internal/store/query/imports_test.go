package query

import (
	"os/exec"
	"strings"
	"testing"
)

// A program that asks and judges features links neither CEL nor a store.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := string(out)
	if !strings.Contains(deps, "/internal/feature/filter\n") {
		t.Errorf("not the dependencies of this package: %s", deps)
	}
	for _, not := range []string{"cel.dev/", "antlr", "protobuf", "pebble", "catfish/store\n"} {
		if strings.Contains(deps, not) {
			t.Errorf("imports %q", not)
		}
	}
}
