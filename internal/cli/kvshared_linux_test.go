package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestKVSharedPointers: a call of kv get reads at once where one before it has found the record, once
// that is older than a second; without the file each looks it up.
func TestKVSharedPointers(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--records", "records")
	clitest.Succeed(t, "kv", "put", "7", "seven", "-s", addr)
	file := filepath.Join(t.TempDir(), "pointers")
	get := []string{"kv", "get", "7", "-s", addr, "--policy", "offload-cached", "--transport", "shm", "--explain", "--json"}
	catfishtest.Eventually(t, "no call reads by a reference of another", func() bool {
		return strings.Contains(clitest.Succeed(t, append(get, "--shared-pointers", file)...), `"pointer_hits":1`)
	})
	for range 3 {
		if out := clitest.Succeed(t, get...); strings.Contains(out, `"pointer_hits":1`) {
			t.Errorf("without the file: %s", out)
		}
	}
	if out := clitest.Succeed(t, "kv", "get", "7", "-s", addr, "--policy", "offload-cached", "--shared-pointers", file); out != "seven\n" {
		t.Errorf("%q", out)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	clitest.Fail(t, ExitUsage, append(get, "--shared-pointers", file), "others may use "+file)
}
