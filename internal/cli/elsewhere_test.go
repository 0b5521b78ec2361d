package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// catfish-bench gets the arguments as they are, the streams, the signals and the exit
// status.
func TestElsewhere(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ntrap 'exit 9' INT\necho \"$@\"\n[ \"$2\" != fail ] || exit 7\nwhile [ \"$2\" = wait ]; do sleep 0.01; done\n"
	if err := os.WriteFile(filepath.Join(dir, "catfish-bench"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for args, want := range map[string]int{
		"bench run --scheme fast -v": 0, "demo --help": 0, "bench fail": 7, "help bench run": 0, "__complete bench run --sch": 0,
		"-v bench run": 0, "replay": 0,
	} {
		p := clitest.Start(t, strings.Fields(args)...)
		if out, code := p.Wait(t); out != args+"\n" || code != want {
			t.Errorf("catfish %s: exit %d, want %d; printed %q, %q", args, code, want, out, p.ErrOut.String())
		}
	}
	p := clitest.Start(t, "bench", "wait")
	p.Line(t)
	if _, code := p.Interrupt(t); code != 9 {
		t.Errorf("interrupted: exit %d, want 9", code)
	}
	if err := os.Rename(filepath.Join(dir, "catfish-bench"), filepath.Join(dir, "catfish-coordinator")); err != nil {
		t.Fatal(err)
	}
	if out, code := clitest.Start(t, "coordinator", "--data-dir", "d").Wait(t); out != "coordinator --data-dir d\n" || code != 0 {
		t.Errorf("coordinator: exit %d, printed %q", code, out)
	}
	t.Setenv("PATH", "/nowhere")
	clitest.Fail(t, ExitFailure, []string{"bench", "run"}, "catfish bench", "catfish-bench", "make build")
	if out := clitest.Succeed(t, "help", "demo"); !strings.Contains(out, "make build") {
		t.Errorf("help demo: %s", out)
	}
	if out := clitest.Succeed(t, "--help"); !strings.Contains(out, "  bench ") || !strings.Contains(out, "  demo ") || !strings.Contains(out, "  replay ") {
		t.Errorf("--help: %s", out)
	}
}
