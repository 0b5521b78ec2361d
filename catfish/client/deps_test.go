package client

import (
	"os/exec"
	"strings"
	"testing"
)

// maxPackages bounds what a program that imports the client links, the standard library
// included: 193 packages with Go 1.26, and some room for another Go.
const maxPackages = 200

// TestClientLinksLittle: a program that only connects to servers has neither the store
// and its disk nor a server in it, and no HTTP, gRPC or TLS.
func TestClientLinksLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if len(all) > maxPackages {
		t.Errorf("the client links %d packages, at most %d", len(all), maxPackages)
	}
	for _, p := range all {
		for _, not := range []string{
			"github.com/cockroachdb/pebble", "catfish/internal/store/disk", "catfish/catfish/server",
			"google.golang.org/grpc", "google/cel-go", "cel.dev", "net/http", "crypto/tls",
		} {
			if strings.Contains(p, not) {
				t.Errorf("the client links %s", p)
			}
		}
	}
}
