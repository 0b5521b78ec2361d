package main

import (
	"net"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// A demo stays with its page, if asked to, until Ctrl-C. A requested address that is
// taken is an error.
func TestDemoStays(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := clitest.Start(t, "demo", "--duration", "400ms", "--dataset", "uniform", "--places", "none", "--http", "127.0.0.1:0", "--stay")
	url := ""
	for line := ""; !strings.Contains(line, "until Ctrl-C"); {
		if line = p.Line(t); strings.HasPrefix(line, "page:") {
			url = strings.Fields(line)[1]
		}
	}
	if status, body := clitest.Ask(t, url+"engine", ""); status != 200 || !strings.Contains(body, "no RDMA hardware") {
		t.Errorf("engine: %d %.200s", status, body)
	}
	if rest, code := p.Interrupt(t); code != cli.ExitOK || rest != "" || p.ErrOut.String() != "" {
		t.Errorf("exit %d, printed %q, said %q", code, rest, p.ErrOut.String())
	}
	code, _, errOut := clitest.Program(t, "demo", "--duration", "400ms", "--dataset", "uniform", "--http", taken.Addr().String(), "--places", "none")
	if code != cli.ExitFailure || !strings.Contains(errOut, "address already in use") {
		t.Errorf("a taken address: exit %d, says %q", code, errOut)
	}
	for says, args := range map[string]string{
		"--places": "--http off --places x", "--stay": "--http off --stay", "--http": "--http x",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"demo"}, strings.Fields(args)...), says)
	}
	clitest.Fail(t, cli.ExitFailure, []string{"demo", "--places", "/no/such/file"}, "--places", "/no/such/file")
}
