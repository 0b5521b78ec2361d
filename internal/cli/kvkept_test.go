package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// Kept records survive a restart, with and without shards, and are backed up, checked and
// restored. Those in memory alone do not.
func TestKeptRecords(t *testing.T) {
	dir := t.TempDir()
	data, restored := filepath.Join(dir, "data"), filepath.Join(dir, "restored")
	args := []string{"--data-dir", data, "--backup-dir", filepath.Join(dir, "backups"), "--records", "sessions", "--keep-records"}
	p, addr, _ := clitest.Serve(t, args...)
	clitest.Succeed(t, "collections", "create", "--records", "--keep", "--shards", "2", "accounts", "-s", addr)
	clitest.Succeed(t, "collections", "create", "--records", "memory", "-s", addr)
	for _, c := range []string{"sessions", "accounts", "memory"} {
		clitest.Succeed(t, "kv", "put", "7", "of "+c, "-c", c, "-s", addr, "--ttl", "1h", "--flags", "3")
	}
	clitest.Succeed(t, "kv", "put", "8", "deleted", "-c", "sessions", "-s", addr)
	clitest.Succeed(t, "kv", "delete", "8", "-c", "sessions", "-s", addr)
	clitest.Fail(t, ExitFailure, []string{"kv", "put", "7", "again", "-c", "sessions", "-s", addr, "--if-absent"}, "exists")
	if out := clitest.Succeed(t, "backup", "monday", "-s", addr); !strings.Contains(out, "0 features and 2 records of 2 collections") {
		t.Errorf("%s", out)
	}
	p.Interrupt(t)
	if out := clitest.Succeed(t, "check", "--data-dir", data); !strings.Contains(out, "2 records of 2 collections") {
		t.Errorf("%s", out)
	}
	clitest.Succeed(t, "restore", "--from", filepath.Join(dir, "backups", "monday"), "--data-dir", restored)
	for _, args := range [][]string{args, {"--data-dir", restored}} {
		p, addr, _ = clitest.Serve(t, args...)
		list := clitest.Succeed(t, "collections", "list", "-s", addr)
		for _, want := range []string{"accounts\t1 records in 2 shards", "sessions\t1 records", "used, kept\n"} {
			if !strings.Contains(list, want) {
				t.Errorf("%s, want %q", list, want)
			}
		}
		if strings.Contains(list, "memory") {
			t.Errorf("%s", list)
		}
		for _, c := range []string{"sessions", "accounts"} {
			out := clitest.Succeed(t, "kv", "get", "7", "-c", c, "-s", addr, "--json", "--policy", "offload")
			for _, want := range []string{"of " + c, `"expires"`, `"flags":3`} {
				if !strings.Contains(out, want) {
					t.Errorf("%s, want %q", out, want)
				}
			}
		}
		p.Interrupt(t)
	}
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--records", "sessions"}, "--keep-records", `"sessions" is kept`)
	for args, says := range map[string]string{
		"--keep-records --records r":  "--keep-records does nothing without --data-dir",
		"--keep-records --data-dir d": "there are none",
	} {
		clitest.Fail(t, ExitUsage, append([]string{"serve"}, strings.Fields(args)...), says)
	}
}
