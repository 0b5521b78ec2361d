package cli

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// Profiles are served at their own address, and at no other.
func TestPprof(t *testing.T) {
	p, _, ready := clitest.Serve(t, "--transport", "tcp", "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--pprof", ":0")
	addr := readyField(t, ready, "pprof")
	if host, _, err := net.SplitHostPort(addr); err != nil || host != "127.0.0.1" {
		t.Errorf("profiles at %q", addr)
	}
	if s := get(t, "http://"+addr+"/debug/pprof/goroutine?debug=1"); !strings.Contains(s, "goroutine profile") {
		t.Errorf("%.200s", s)
	}
	for _, name := range []string{"heap", "profile?seconds=1", "cmdline", "symbol"} {
		if get(t, "http://"+addr+"/debug/pprof/"+name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	for _, other := range []string{"http", "metrics"} {
		if status, body := clitest.Ask(t, "http://"+readyField(t, ready, other)+"/debug/pprof/", ""); status != http.StatusNotFound {
			t.Errorf("--%s answers with %d: %.200s", other, status, body)
		}
	}
	if status, _ := clitest.Ask(t, "http://"+addr+"/collections", ""); status != http.StatusNotFound {
		t.Errorf("--pprof has collections: %d", status)
	}
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--transport", "tcp", "--pprof", addr}, "--pprof")
	http.DefaultClient.CloseIdleConnections()
	if _, code := p.Interrupt(t); code != ExitOK {
		t.Errorf("exit %d", code)
	}
	if log := p.ErrOut.String(); strings.Contains(log, "open to other machines") {
		t.Errorf("a warning: %s", log)
	}
	p, _, ready = clitest.Serve(t, "--transport", "tcp", "--pprof", "0.0.0.0:0")
	if _, code := p.Interrupt(t); code != ExitOK {
		t.Errorf("exit %d", code)
	}
	if log := p.ErrOut.String(); !strings.Contains(log, "open to other machines") || !strings.Contains(log, readyField(t, ready, "pprof")) {
		t.Errorf("no warning: %s", log)
	}
	clitest.Fail(t, ExitUsage, []string{"serve", "--listen", "127.0.0.1:0", "--transport", "tcp", "--pprof", "6060"}, "--pprof")
}
