package main

import (
	"net"
	"strings"
	"testing"
)

// A demo stays with its page, if asked to, until Ctrl-C. A requested address that is
// taken is an error.
func TestDemoStays(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := start(t, "demo", "--duration", "400ms", "--dataset", "uniform", "--places", "none", "--http", "127.0.0.1:0", "--stay")
	url := ""
	for line := ""; !strings.Contains(line, "until Ctrl-C"); {
		if line = p.line(t); strings.HasPrefix(line, "page:") {
			url = strings.Fields(line)[1]
		}
	}
	if status, body := ask(t, url+"engine", ""); status != 200 || !strings.Contains(body, "no RDMA hardware") {
		t.Errorf("engine: %d %.200s", status, body)
	}
	if rest, code := p.interrupt(t); code != exitOK || rest != "" || p.errOut.String() != "" {
		t.Errorf("exit %d, printed %q, said %q", code, rest, p.errOut.String())
	}
	code, _, errOut := program(t, "demo", "--duration", "400ms", "--dataset", "uniform", "--http", taken.Addr().String(), "--places", "none")
	if code != exitFailure || !strings.Contains(errOut, "address already in use") {
		t.Errorf("a taken address: exit %d, says %q", code, errOut)
	}
	for says, args := range map[string]string{
		"--places": "--http off --places x", "--stay": "--http off --stay", "--http": "--http x",
	} {
		fail(t, exitUsage, append([]string{"demo"}, strings.Fields(args)...), says)
	}
	fail(t, exitFailure, []string{"demo", "--places", "/no/such/file"}, "--places", "/no/such/file")
}
