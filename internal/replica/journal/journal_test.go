package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
)

func put(revision uint64) disk.Entry {
	return disk.Entry{Collection: 1, Kind: disk.Put, Key: fmt.Appendf(nil, "k%d", revision), Value: []byte("v"), Revision: revision, Client: 7, Number: revision}
}

func open(t *testing.T, dir string, last uint64) (*Journal, *State) {
	t.Helper()
	j, s, err := Open(dir, last, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.closeFiles)
	return j, s
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A journal that is opened again has all entries, whether it was closed or not.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	j, s := open(t, dir, 4)
	if s.First != 5 || len(s.Entries) != 0 || s.Clean {
		t.Fatalf("new: %+v", s)
	}
	must(t, j.Append([]disk.Entry{disk.TermEntry(5, 2), put(6)}), j.Append([]disk.Entry{put(7)}), j.Sync())
	_, s = open(t, dir, 4)
	if s.First != 5 || s.End() != 7 || s.Clean || len(s.History) != 1 || s.History[0] != (replica.Span{Term: 2, First: 5}) {
		t.Fatalf("killed: %+v", s)
	}
	if e := s.Entries[2]; e.Client != 7 || e.Number != 7 {
		t.Fatalf("the name of a write: %+v", e)
	}
	j, _ = open(t, dir, 4)
	must(t, j.Append([]disk.Entry{put(8)}), j.Close(false))
	if _, s = open(t, dir, 6); !s.Clean || s.End() != 8 {
		t.Fatalf("closed: %+v", s)
	}
	j, _ = open(t, dir, 6)
	must(t, j.Close(true))
	if _, s = open(t, dir, 6); s.Clean {
		t.Fatal("still clean after it was opened, and not closed")
	}
}

// Truncate takes entries back, also those in an earlier file, and others follow.
func TestTruncate(t *testing.T) {
	dir := t.TempDir()
	j, _ := open(t, dir, 0)
	must(t, j.Append([]disk.Entry{disk.TermEntry(1, 1), put(2), put(3)}), j.Rotate(replica.History{{Term: 1, First: 1}}),
		j.Append([]disk.Entry{put(4), put(5)}), j.Sync(), j.Truncate(2))
	if j.End() != 2 {
		t.Fatal(j.End())
	}
	must(t, j.Append([]disk.Entry{disk.TermEntry(3, 2)}), j.Sync())
	_, s := open(t, dir, 0)
	if s.End() != 3 || s.Entries[2].Term() != 2 || len(s.History) != 2 {
		t.Fatalf("%+v", s)
	}
}

// Files are forgotten when the store has their entries; the history stays.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	j, _ := open(t, dir, 0)
	h := replica.History{{Term: 1, First: 1}}
	must(t, j.Append([]disk.Entry{disk.TermEntry(1, 1), put(2)}), j.Rotate(h),
		j.Append([]disk.Entry{put(3)}), j.Sync(), j.Forget(1))
	if len(j.files) != 2 {
		t.Fatal("forgot revision 2")
	}
	must(t, j.Forget(2))
	_, s := open(t, dir, 2)
	if s.First != 3 || s.End() != 3 || len(s.History) != 1 {
		t.Fatalf("%+v", s)
	}
	must(t, j.Restart(10, h))
	if _, s = open(t, dir, 10); s.First != 11 || len(s.Entries) != 0 || len(s.History) != 1 {
		t.Fatalf("restarted: %+v", s)
	}
}

// A crash cuts the last record off anywhere. A flipped bit anywhere else is an error.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	j, _ := open(t, dir, 0)
	must(t, j.Append([]disk.Entry{put(1), put(2), put(3)}), j.Sync())
	at, size := j.files[0].at, j.files[0].size
	path := filepath.Join(dir, "00000001")
	whole, err := os.ReadFile(path)
	must(t, err)
	for n := at[2]; n < size; n++ {
		must(t, os.WriteFile(path, whole[:n], 0o600))
		if _, s := open(t, dir, 0); s.End() != 2 {
			t.Fatalf("cut off at %d: %d entries", n, s.End())
		}
	}
	for i := range at[2] {
		b := append([]byte(nil), whole...)
		b[i] ^= 4
		must(t, os.WriteFile(path, b, 0o600))
		if _, _, err := Open(dir, 0, nil); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	b := appendHead(nil, 1, nil)
	e := put(1)
	f.Add(appendRecord(b, &e))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "00000001"), b, 0o600))
		if j, _, err := Open(dir, 0, nil); err == nil {
			j.closeFiles()
		} else if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
