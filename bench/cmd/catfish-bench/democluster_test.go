package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/bench/cluster"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// withCoordinator lets this program find catfish-coordinator, and returns the directory in
// which demos make theirs.
func withCoordinator(t *testing.T) string {
	t.Helper()
	dir, tmp := t.TempDir(), t.TempDir()
	c := exec.Command("go", "build", "-C", "../../../coordinator", "-o", filepath.Join(dir, "catfish-coordinator"), "./cmd/catfish-coordinator")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("TMPDIR", tmp)
	return tmp
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

const demoMap = "../../../" + andorraFile

// The demo of a group loses its primary and nothing else, and leaves nothing.
func TestDemoCluster(t *testing.T) {
	tmp := withCoordinator(t)
	var other sync.WaitGroup // at the same time, to take no longer
	other.Go(func() { demoGroups(t) })
	code, out, errOut := clitest.Program(t, "demo", "cluster", "--duration", "6s", "--json", "--places", demoMap)
	other.Wait()
	if code != cli.ExitOK {
		t.Fatalf("exit %d\n%s", code, errOut)
	}
	s := clitest.Decode[cluster.Summary](t, out)
	if !s.Good() || s.Acknowledged == 0 || s.WithoutWrites <= 0 || s.Killed == s.Next || s.Next == "" || s.InSync != 3 || s.Features == 0 {
		t.Errorf("%+v", s)
	}
	for _, path := range cluster.Paths {
		if s.Reads[path] == 0 {
			t.Errorf("no reads by %s: %+v", path, s)
		}
	}
	empty(t, tmp)
	if text := s.String(); !strings.Contains(text, "0 lost, 0 doubled") {
		t.Errorf("says %s", text)
	}
	clitest.Fail(t, cli.ExitUsage, []string{"demo", "cluster", "--duration", "1s"}, "--duration is 1s")
	clitest.Fail(t, cli.ExitUsage, []string{"demo", "cluster", "--groups", "9"}, "--groups is 9, want 1 to 8")
	clitest.Fail(t, cli.ExitFailure, []string{"demo", "cluster", "--places", "/no/such/file"}, "--places", "/no/such/file")
}

// demoGroups is the demo of two groups: it loses the primary of one, and no write of either; both
// have a part.
func demoGroups(t *testing.T) {
	code, out, errOut := clitest.Program(t, "demo", "cluster", "--groups", "2", "--duration", "6s", "--json", "--places", demoMap)
	if code != cli.ExitOK {
		t.Errorf("exit %d\n%s", code, errOut)
		return
	}
	var s cluster.Summary
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Error(err)
		return
	}
	if !s.Good() || s.Acknowledged == 0 || s.WithoutWrites <= 0 || s.Killed == s.Next || s.Next == "" || s.InSync != 4 || s.Transport == "" {
		t.Errorf("%+v", s)
	}
	if s.Spread["g1"] == 0 || s.Spread["g2"] == 0 || s.WritesInGap == 0 || s.Reads[cluster.OneSided] == 0 || s.Reads[cluster.Message] == 0 {
		t.Errorf("%+v", s)
	}
	if text := s.String(); !strings.Contains(text, "n1 of g1 was killed") || !strings.Contains(text, "0 lost, 0 doubled") {
		t.Errorf("says %s", text)
	}
}

// Ctrl-C ends all processes of the demo, and removes their directories.
func TestDemoClusterInterrupted(t *testing.T) {
	tmp := withCoordinator(t)
	p := clitest.Start(t, "demo", "cluster", "--places", demoMap)
	for line := ""; !strings.Contains(line, "writes/s"); {
		line = p.Line(t)
	}
	if rest, code := p.Interrupt(t); code != cli.ExitOK || !strings.Contains(rest, cluster.ErrInterrupted.Error()) || p.ErrOut.String() != "" {
		t.Errorf("exit %d, printed %q, said %q", code, rest, p.ErrOut.String())
	}
	empty(t, tmp)
}
