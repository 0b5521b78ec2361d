package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestDamagedDataDir: after a kill, one bit of the write-ahead log is flipped. The server
// does not start, unless the user accepts the loss, and then says how much it is.
func TestDamagedDataDir(t *testing.T) {
	var csv strings.Builder
	csv.WriteString("id,lon,lat,name\n")
	for i := range 5000 {
		fmt.Fprintf(&csv, "p%d,%g,%g,%s\n", i, float64(i%360)-180, float64(i%170)-85, strings.Repeat("x", 40))
	}
	places := clitest.File(t, "places.csv", csv.String())
	data := filepath.Join(t.TempDir(), "data")
	p, addr, _ := clitest.Serve(t, "--data-dir", data)
	clitest.Succeed(t, "load", places, "-c", "places", "--id", "id", "-s", addr)
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Cmd.Wait() // It was killed.

	log := largestLog(t, data)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	b[len(bytes.TrimRight(b, "\x00"))*3/10] ^= 1
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Fail(t, ExitFailure, []string{"check", "--data-dir", data}, "damaged", "--accept-loss")
	for range 2 { // The first attempt has removed nothing that the second needs.
		clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--data-dir", data}, "damaged", "restore", "--accept-loss")
	}
	if now, err := os.ReadFile(log); err != nil || !bytes.Equal(now, b) {
		t.Fatalf("the log was changed: %v", err)
	}
	p, _, ready := clitest.Serve(t, "--data-dir", data, "--accept-loss")
	p.AwaitError(t, "acknowledged writes are lost")
	if strings.Contains(ready, "objects=5000") {
		t.Errorf("%s", ready)
	}
	p.Interrupt(t)
	clitest.Succeed(t, "check", "--data-dir", data)
	if _, err := os.Stat(filepath.Join(data, "damaged-1", "pebble", filepath.Base(log))); err != nil {
		t.Error(err)
	}
}

func largestLog(t *testing.T, data string) (name string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(data, "pebble", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	most := int64(0)
	for _, n := range names {
		info, err := os.Stat(n)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			name, most = n, info.Size()
		}
	}
	return name
}
