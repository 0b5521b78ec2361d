package client

import (
	"os/exec"
	"strings"
	"testing"
)

// TestClientLinksNoStore: a program that only connects to servers has neither the store
// and its disk nor a server in it.
func TestClientLinksNoStore(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		for _, not := range []string{"github.com/cockroachdb/pebble", "catfish/store/disk", "catfish/catfish/server", "google.golang.org/grpc", "cel.dev/cel-go"} {
			if strings.Contains(p, not) {
				t.Errorf("the client links %s", p)
			}
		}
	}
}
