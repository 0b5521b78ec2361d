package watched

import (
	"os"
	"path/filepath"
	"testing"
)

func TestChanged(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write := func(name, text string) {
		t.Helper()
		next := filepath.Join(dir, "next")
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, name); err != nil {
			t.Fatal(err)
		}
	}
	write(a, "1")
	write(b, "1")
	f := New(a, "", b)
	want := func(what string, changed, bad bool) {
		t.Helper()
		if got, err := f.Changed(); got != changed || (err != nil) != bad {
			t.Errorf("%s: changed %v, %v", what, got, err)
		}
	}
	want("nothing", false, false)
	write(b, "2") // The same size, and perhaps the same time: another inode.
	want("replaced", true, false)
	want("nothing more", false, false)
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	want("removed", true, true)
	want("still removed", false, true)
	write(a, "1")
	want("there again", true, false)
}
