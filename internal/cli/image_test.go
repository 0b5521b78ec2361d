package cli

import (
	"encoding/json"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The image serves HTTP, gRPC, metrics and Catfish's own clients, exposes their ports,
// and serve knows the flags of its command.
func TestImage(t *testing.T) {
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	line := func(what string) string {
		m := regexp.MustCompile(`(?m)^` + what + ` (.*)$`).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("there is no %s", what)
		}
		return m[1]
	}
	exposed := strings.Fields(line("EXPOSE"))
	var args []string
	if err := json.Unmarshal([]byte(line("CMD")), &args); err != nil {
		t.Fatal(err)
	}
	serve, rest, err := newRoot(&App{}).Find(args)
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.ParseFlags(rest); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"listen", "grpc", "http", "metrics"} {
		_, port, err := net.SplitHostPort(serve.Flag(name).Value.String())
		if err != nil || !slices.Contains(exposed, port) {
			t.Errorf("--%s %s, and %q are exposed: %v", name, serve.Flag(name).Value, exposed, err)
		}
	}
}
