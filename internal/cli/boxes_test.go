package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// Persistent boxes are loaded once, survive a restart together with later writes, and
// are backed up, checked and restored.
func TestKeptBoxes(t *testing.T) {
	dir := t.TempDir()
	data, backups, restored := filepath.Join(dir, "data"), filepath.Join(dir, "backups"), filepath.Join(dir, "restored")
	csv := clitest.File(t, "boxes.csv", "id,minx,miny,maxx,maxy\n1,0,0,1,1\n1,0,0,1,1\n2,0,0,1,1\n")
	start := func(data string, more ...string) (*clitest.Process, string, string) {
		return clitest.Serve(t, append([]string{"--data-dir", data, "--backup-dir", backups}, more...)...)
	}
	roads := []string{"--keep", "--collection", "roads", "--load", csv}
	p, addr, ready := start(data, roads...)
	if !strings.Contains(ready, " objects=3 collections=default,roads") {
		t.Errorf("%s", ready)
	}
	clitest.Succeed(t, "insert", "--rect", "5,5,6,6", "--id", "3", "-s", addr, "-c", "roads")
	clitest.Succeed(t, "delete", "--rect", "0,0,1,1", "--id", "1", "-s", addr, "-c", "roads")
	clitest.Succeed(t, "collections", "create", "rivers", "--keep", "-s", addr)
	clitest.Succeed(t, "load", csv, "-c", "rivers", "-s", addr)
	clitest.Fail(t, ExitUsage, []string{"collections", "create", "x", "--keep", "--features", "-s", addr}, "--keep is for boxes and records")
	if out := clitest.Succeed(t, "collections", "list", "-s", addr); !strings.Contains(out, "used, kept\n") {
		t.Errorf("%s", out)
	}
	if out := clitest.Succeed(t, "backup", "monday", "-s", addr); !strings.Contains(out, "0 features and 5 different boxes of 2 collections") {
		t.Errorf("%s", out)
	}
	p.Interrupt(t)
	if out := clitest.Succeed(t, "check", "--data-dir", data); !strings.Contains(out, "5 different boxes of 2 collections") {
		t.Errorf("%s", out)
	}
	// One load is enough.
	p, addr, ready = start(data, roads...)
	if !strings.Contains(ready, " objects=3 collections=default,rivers,roads") {
		t.Errorf("%s", ready)
	}
	p.AwaitError(t, "3 objects from before")
	if out := clitest.Succeed(t, "count", "--rect", "0,0,9,9", "-s", addr, "-c", "roads"); out != "3\n" {
		t.Errorf("%s", out)
	}
	p.Interrupt(t)
	// A persistent collection is not served empty, beside its stored data.
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--collection", "roads"}, "--keep", `"roads" is kept`)

	clitest.Succeed(t, "restore", "--from", filepath.Join(backups, "monday"), "--data-dir", restored)
	p, addr, _ = start(restored)
	for _, c := range []string{"roads", "rivers"} {
		if out := clitest.Succeed(t, "count", "--rect", "0,0,9,9", "-s", addr, "-c", c); out != "3\n" {
			t.Errorf("%s: %s", c, out)
		}
	}
	p.Interrupt(t)
	p, _, _ = start(restored, "--load", csv)
	p.AwaitError(t, "default is in memory alone: --keep keeps it")
	p.Interrupt(t)
}
