package main

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// Profiles are served at their own address, and at no other.
func TestPprof(t *testing.T) {
	p, _, ready := serve(t, "--transport", "tcp", "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--pprof", ":0")
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
		if status, body := ask(t, "http://"+readyField(t, ready, other)+"/debug/pprof/", ""); status != http.StatusNotFound {
			t.Errorf("--%s answers with %d: %.200s", other, status, body)
		}
	}
	if status, _ := ask(t, "http://"+addr+"/collections", ""); status != http.StatusNotFound {
		t.Errorf("--pprof has collections: %d", status)
	}
	fail(t, exitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--transport", "tcp", "--pprof", addr}, "--pprof")
	http.DefaultClient.CloseIdleConnections()
	if _, code := p.interrupt(t); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if log := p.errOut.String(); strings.Contains(log, "open to other machines") {
		t.Errorf("a warning: %s", log)
	}
	p, _, ready = serve(t, "--transport", "tcp", "--pprof", "0.0.0.0:0")
	if _, code := p.interrupt(t); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if log := p.errOut.String(); !strings.Contains(log, "open to other machines") || !strings.Contains(log, readyField(t, ready, "pprof")) {
		t.Errorf("no warning: %s", log)
	}
	fail(t, exitUsage, []string{"serve", "--listen", "127.0.0.1:0", "--transport", "tcp", "--pprof", "6060"}, "--pprof")
}
