package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// A value from a file is read back unchanged, whatever its length.
func TestKVFile(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--records", defaultRecords)
	for _, n := range []int{0, 10, 3 << 20} {
		value := strings.Repeat("\x00 any\nbytes\xff", n/11+1)[:n]
		path := clitest.File(t, "value", value)
		clitest.Succeed(t, "kv", "put", "key", "--file", path, "--addr", addr)
		if out := clitest.Succeed(t, "kv", "get", "key", "--raw", "--addr", addr); out != value {
			t.Errorf("%d bytes, want %d", len(out), n)
		}
	}
	clitest.Fail(t, ExitFailure, []string{"kv", "append", "log", "a", "--if-present", "--addr", addr}, "no such key")
	clitest.Fail(t, ExitFailure, []string{"kv", "put", "log", "a", "--if-present", "--addr", addr}, "no such key")
	for _, word := range []string{"a", "b"} {
		if out := clitest.Succeed(t, "kv", "append", "log", word, "--addr", addr); !strings.HasPrefix(out, "appended log, revision ") {
			t.Errorf("append: %s", out)
		}
	}
	if out := clitest.Succeed(t, "kv", "get", "log", "--raw", "--addr", addr); out != "ab" {
		t.Errorf("appended: %s", out)
	}
	if out := clitest.Succeed(t, "kv", "wait", "log", "ab", "--addr", addr); !strings.HasPrefix(out, "found log, revision ") {
		t.Errorf("wait: %s", out)
	}
	clitest.Fail(t, ExitFailure, []string{"kv", "wait", "log", "c", "--timeout", "1ms", "--addr", addr}, "deadline")
	clitest.Fail(t, ExitUsage, []string{"kv", "put", "key"}, "--file")
	clitest.Fail(t, ExitUsage, []string{"kv", "put", "key", "value", "--file", "x"}, "--file")
	clitest.Fail(t, ExitUsage, []string{"kv", "get", "a", "b", "--raw"}, "--raw")
	if code, _, says := clitest.Program(t, "kv", "put", "key", "--file", os.DevNull+"/none", "--addr", addr); code == ExitOK {
		t.Errorf("a file that is not there: %s", says)
	}
}

// A cache is created by both commands, holds its limit, and says so; what it cannot be is
// refused.
func TestKVCache(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--records", defaultRecords, "--record-max-bytes", "1MiB", "--slab-bytes", "16MiB")
	clitest.Succeed(t, "collections", "create", "mine", "--records", "--max-bytes", "64KiB", "--addr", addr)
	value := strings.Repeat("v", 30_000)
	for _, key := range []string{"a", "b", "c"} {
		clitest.Succeed(t, "kv", "put", key, value, "--collection", "mine", "--addr", addr)
	}
	clitest.Succeed(t, "kv", "put", "a", value, "--addr", addr)
	clitest.Succeed(t, "kv", "get", "a", "--addr", addr)
	out := clitest.Succeed(t, "status", "--addr", addr)
	if !strings.Contains(out, "of 64.0 KiB, 1 evicted, 0 gets found") || !strings.Contains(out, "of 1.0 MiB, 0 evicted, ") {
		t.Errorf("status: %s", out)
	}
	clitest.Fail(t, ExitUsage, []string{"serve", "--record-max-bytes", "1MiB", "--listen", "127.0.0.1:0"}, "--record-max-bytes does nothing without --records")
	clitest.Fail(t, ExitUsage, []string{"collections", "create", "x", "--max-bytes", "1MiB", "--addr", addr}, "--max-bytes")
	for _, args := range [][]string{
		{"kv", "put", "a", value + value + value, "--collection", "mine", "--addr", addr},
		{"collections", "create", "mine", "--records", "--max-bytes", "65KiB", "--addr", addr},
		{"collections", "create", "x", "--records", "--max-bytes", "9MiB", "--addr", addr},
		{"serve", "--records", "x", "--record-max-bytes", "9MiB", "--slab-bytes", "16MiB", "--listen", "127.0.0.1:0"},
		{"serve", "--records", "x", "--record-max-bytes", "1KiB", "--listen", "127.0.0.1:0"},
	} {
		if code, _, says := clitest.Program(t, args...); code == ExitOK || !strings.Contains(says, "limit") && !strings.Contains(says, "a cache of") {
			t.Errorf("%.80q: %d, %s", args, code, says)
		}
	}
}

// The commands print a key's shard, and the contents of shards.
func TestKVShards(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--records", defaultRecords, "--record-shards", "2")
	if out := clitest.Succeed(t, "kv", "put", "a", "1", "--addr", addr); !strings.Contains(out, ", shard ") || !strings.Contains(out, " of 2") {
		t.Errorf("put: %s", out)
	}
	if out := clitest.Succeed(t, "kv", "get", "a", "--explain", "--addr", addr); !strings.Contains(out, "shard ") || !strings.Contains(out, " of 2") {
		t.Errorf("get: %s", out)
	}
	if out := clitest.Succeed(t, "kv", "delete", "a", "--json", "--addr", addr); !strings.Contains(out, `"of":2`) {
		t.Errorf("delete: %s", out)
	}
	clitest.Succeed(t, "collections", "create", "mine", "--records", "--shards", "3", "--addr", addr)
	if out := clitest.Succeed(t, "collections", "list", "--addr", addr); !strings.Contains(out, "mine\t0 records in 3 shards") {
		t.Errorf("list: %s", out)
	}
	if out := clitest.Succeed(t, "status", "--addr", addr); strings.Count(out, "requests by its owner") != 5 {
		t.Errorf("status: %s", out)
	}
	clitest.Fail(t, ExitUsage, []string{"collections", "create", "x", "--shards", "3", "--addr", addr}, "--shards")
	for _, args := range [][]string{
		{"collections", "create", "x", "--records", "--shards", "65", "--addr", addr},
		{"serve", "--records", "x", "--record-shards", "65", "--listen", "127.0.0.1:0"},
	} {
		if code, _, says := clitest.Program(t, args...); code == ExitOK || !strings.Contains(says, "65 shards, want 0 to 64") {
			t.Errorf("%v: %d, %s", args, code, says)
		}
	}
}
