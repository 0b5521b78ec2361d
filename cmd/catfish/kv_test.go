package main

import (
	"os"
	"strings"
	"testing"
)

// A value from a file comes back as it is, however long.
func TestKVFile(t *testing.T) {
	_, addr, _ := serve(t, "--records", defaultRecords)
	for _, n := range []int{0, 10, 3 << 20} {
		value := strings.Repeat("\x00 any\nbytes\xff", n/11+1)[:n]
		path := file(t, "value", value)
		succeed(t, "kv", "put", "key", "--file", path, "--addr", addr)
		if out := succeed(t, "kv", "get", "key", "--raw", "--addr", addr); out != value {
			t.Errorf("%d bytes, want %d", len(out), n)
		}
	}
	fail(t, exitUsage, []string{"kv", "put", "key"}, "--file")
	fail(t, exitUsage, []string{"kv", "put", "key", "value", "--file", "x"}, "--file")
	fail(t, exitUsage, []string{"kv", "get", "a", "b", "--raw"}, "--raw")
	if code, _, says := program(t, "kv", "put", "key", "--file", os.DevNull+"/none", "--addr", addr); code == exitOK {
		t.Errorf("a file that is not there: %s", says)
	}
}
