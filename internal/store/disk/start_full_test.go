package disk

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestStartFull: a directory on a full disk is opened and read; it is written again when
// there is room.
func TestStartFull(t *testing.T) {
	fs := &smallFS{FS: vfs.NewMem()}
	fs.room.Store(1 << 20)
	tick := make(chan time.Time)
	o := Options{After: func(time.Duration) <-chan time.Time { return tick }}
	db := open(t, fs, o)
	m := newModel()
	if err := fill(t, db, m); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
	closeDB(t, db)
	for range 3 {
		fs.room.Store(0)
		before := readFiles(t, fs, "data")
		db = open(t, fs, o)
		m.verify(t, db, "full")
		if err := db.Healthy(); !errors.Is(err, ErrReadOnly) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if err := db.Commit([]Entry{put(1, "x", "", db.Revision()+1)}); !errors.Is(err, ErrReadOnly) {
			t.Fatal(err)
		}
		tick <- time.Time{} // After an attempt.
		m.verify(t, db, "still full")
		if now := readFiles(t, fs, "data"); len(now) != len(before) {
			t.Fatal("files of failed attempts are left", now, before)
		}
		fs.room.Add(64 << 20)
		for db.Healthy() != nil {
			nudge(tick)
		}
		entries := []Entry{put(1, "x", "", db.Revision()+1)}
		commit(t, db, entries...)
		m.apply(entries)
		m.verify(t, db, "room again")
		closeDB(t, db)
	}
	if _, err := check(fs, "data"); err != nil {
		t.Fatal(err)
	}
}

// TestStartFullTmpfs is TestStartFull on a real file system, which knows how much is free: the
// error says how much is needed, and that is not more than the log holds.
func TestStartFullTmpfs(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal("needs root on Linux, to mount a tmpfs")
		}
		t.Skip("needs root on Linux, to mount a tmpfs")
	}
	top := t.TempDir()
	mountTmpfs(t, top)
	dir, ballast := filepath.Join(top, "data"), filepath.Join(top, "ballast")
	tick := make(chan time.Time)
	o := Options{After: func(time.Duration) <-chan time.Time { return tick }}
	db, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8<<20)
	if err := os.WriteFile(ballast, b[:5<<20], 0o600); err != nil {
		t.Fatal(err)
	}
	m := newModel()
	if err := fill(t, db, m); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
	closeDB(t, db)
	for n := len(b); n > 0; n /= 2 { // What is left.
		f, err := os.OpenFile(ballast, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write(b[:n]) // As much as fits.
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if db, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	m.verify(t, db, "full")
	tick <- time.Time{}
	if err := db.Healthy(); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "are needed") {
		t.Fatal(err)
	}
	// The log of 8 MiB was allocated for more.
	need, err := walBytes(vfs.Default, filepath.Join(dir, pebbleName))
	if err != nil || need == 0 || need > 8<<20 {
		t.Fatal(need, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if db.Healthy() == nil {
		t.Fatal("there was no room yet")
	}
	for db.Healthy() != nil {
		nudge(tick)
	}
	commit(t, db, put(1, "more", "", db.Revision()+1))
	closeDB(t, db)
}
