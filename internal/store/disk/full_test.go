package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A smallFS has room for a number of bytes in files. As on a real disk, a write takes
// what fits and then fails, and removing files makes room.
type smallFS struct {
	vfs.FS
	room atomic.Int64
}

func (s *smallFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return &smallFile{File: f, s: s}, nil
}

// ReuseForWrite takes a new file, so that sizes are easy to count.
func (s *smallFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := s.Remove(from); err != nil {
		return nil, err
	}
	return s.Create(to, c)
}

func (s *smallFS) Remove(name string) error {
	info, err := s.Stat(name)
	if err != nil {
		return err
	}
	s.room.Add(info.Size())
	return s.FS.Remove(name)
}

type smallFile struct {
	vfs.File
	s *smallFS
}

func (f *smallFile) Write(p []byte) (int, error) {
	for {
		room := f.s.room.Load()
		n := min(int64(len(p)), max(room, 0))
		if !f.s.room.CompareAndSwap(room, room-n) {
			continue
		}
		if written, err := f.File.Write(p[:n]); err != nil {
			return written, err
		}
		if n < int64(len(p)) {
			return int(n), syscall.ENOSPC
		}
		return int(n), nil
	}
}

// nudge ends a wait, if there is one.
func nudge(tick chan<- time.Time) {
	select {
	case tick <- time.Time{}:
	default:
		runtime.Gosched()
	}
}

// fill commits until the disk is full.
func fill(t *testing.T, db *DB, m *model) error {
	value := strings.Repeat("v", 3000)
	for i := range 100_000 {
		entries := []Entry{put(1, fmt.Sprint("k", i%7), fmt.Sprint(i, value), db.Revision()+1)}
		if db.Revision() == 0 {
			entries = []Entry{create(db, 1, "c")}
		}
		if err := db.Commit(entries); err != nil {
			return err
		}
		m.apply(entries)
	}
	t.Fatal("the disk is never full")
	return nil
}

// TestFullDisk: commits are refused with the cause, readers continue, and so do writers
// when there is room again.
func TestFullDisk(t *testing.T) {
	for _, s := range []Sync{SyncAlways, SyncOff} {
		t.Run(s.String(), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			fs := &smallFS{FS: mem}
			fs.room.Store(1 << 20)
			tick := make(chan time.Time)
			db := open(t, fs, Options{Sync: s, After: func(time.Duration) <-chan time.Time { return tick }})
			m := newModel()
			for range 3 {
				fs.room.Store(1 << 20)
				if err := fill(t, db, m); !errors.Is(err, ErrReadOnly) || !errors.Is(err, syscall.ENOSPC) {
					t.Fatal(err)
				}
				m.verify(t, db, "full")
				// Pebble continues working meanwhile, in memory.
				if _, err := db.engine.AsyncFlush(); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					// Tables are smaller than the WAL, so it may have recovered.
					fs.room.Store(0)
					nudge(tick)
					entries := []Entry{put(1, "x", "", db.Revision()+1)}
					if err := db.Commit(entries); err == nil && !s.always() {
						m.apply(entries)
					} else if !errors.Is(err, ErrReadOnly) {
						t.Fatal(err)
					}
					m.verify(t, db, "still full")
				}
				fs.room.Add(64 << 20) // Pebble needs some for compactions, too.
				for db.Healthy() != nil {
					nudge(tick)
				}
				m.verify(t, db, "room again")
				crashed := open(t, mem.CrashClone(vfs.CrashCloneCfg{}), Options{})
				m.verify(t, crashed, "crashed after there was room again")
				closeDB(t, crashed)
			}
			closeDB(t, db)
		})
	}
}

// TestFullTmpfs is TestFullDisk on a real file system of 8 MiB.
func TestFullTmpfs(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal("needs root on Linux, to mount a tmpfs")
		}
		t.Skip("needs root on Linux, to mount a tmpfs")
	}
	dir := t.TempDir()
	mountTmpfs(t, dir)
	tick := make(chan time.Time)
	db, err := Open(filepath.Join(dir, "data"), Options{After: func(time.Duration) <-chan time.Time { return tick }})
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 6<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newModel()
	if err := fill(t, db, m); !errors.Is(err, ErrReadOnly) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if len(m.log) < 150 {
		t.Error("full after", len(m.log), "writes of 3000 bytes, with 2 MiB free")
	}
	m.verify(t, db, "full")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for db.Healthy() != nil {
		nudge(tick)
	}
	m.verify(t, db, "room again")
	commit(t, db, put(1, "more", "", db.Revision()+1))
	closeDB(t, db)
	if _, err := Check(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
}

// TestCommitInDoubt: the batch is in the file, but its sync has failed.
func TestCommitInDoubt(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		// The second engine makes it durable, so the commit has succeeded.
		var failing atomic.Bool
		mem := vfs.NewCrashableMem()
		fs := inject(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if isLog(op) && isSync(op) && failing.CompareAndSwap(true, false) {
				return errorfs.ErrInjected
			}
			return nil
		}))
		db := open(t, fs, Options{After: soon})
		commit(t, db, create(db, 1, "c"))
		failing.Store(true)
		commit(t, db, put(1, "a", "1", 2))
		if failing.Load() {
			t.Fatal("no sync has failed")
		}
		m := newModel()
		m.apply([]Entry{{Kind: Create, Value: []byte("meta"), Revision: 1}, put(1, "a", "1", 2)})
		verifyCrashed(t, mem.CrashClone(vfs.CrashCloneCfg{}), m, "crashed")
		commit(t, db, put(1, "a", "1", 3))
		closeDB(t, db)
	})
	for _, end := range []string{"recovers", "closed"} {
		t.Run(end, func(t *testing.T) {
			// Nothing can be written, and the batch can be read: it is in doubt.
			var failing atomic.Bool
			tick := make(chan time.Time)
			fs := inject(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if failing.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && (!isLog(op) || isSync(op)) {
					return errorfs.ErrInjected
				}
				return nil
			}))
			db := open(t, fs, Options{After: func(time.Duration) <-chan time.Time { return tick }})
			first := []Entry{create(db, 1, "c"), put(1, "a", "1", 2)}
			commit(t, db, first...)
			m := newModel()
			m.apply(first)
			failing.Store(true)
			second := []Entry{put(1, "a", "2", 3)}
			done := make(chan error, 1)
			go func() { done <- db.Commit(second) }()
			for range 3 {
				tick <- time.Time{} // After an attempt.
				m.verify(t, db, "in doubt")
				if err := db.Commit(second); !errors.Is(err, ErrReadOnly) {
					t.Fatal(err)
				}
			}
			select {
			case err := <-done:
				t.Fatal("an answer, but nobody knows", err)
			default:
			}
			if end == "closed" {
				closeDB(t, db)
				if err := <-done; !errors.Is(err, ErrInDoubt) {
					t.Fatal(err)
				}
				return
			}
			failing.Store(false)
			for db.Healthy() != nil {
				nudge(tick)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			m.apply(second)
			m.verify(t, db, "recovered")
			closeDB(t, db)
		})
	}
}

// TestIteratorsSurviveRecovery: an iterator that began before a failure reads on after
// the recovery, also from tables that the new engine has removed.
func TestIteratorsSurviveRecovery(t *testing.T) {
	mem := vfs.NewMem()
	var failing atomic.Bool
	fs := inject(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	db := open(t, fs, Options{After: soon})
	commit(t, db, create(db, 1, "c"))
	for i := range 300 {
		commit(t, db, put(1, fmt.Sprintf("k%03d", i), strings.Repeat("v", 100), db.Revision()+1))
		if i%100 == 99 {
			if err := db.engine.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	it, err := db.Keys(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if err := db.Commit([]Entry{put(1, "k000", "", db.Revision()+1)}); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
	failing.Store(false)
	waitHealthy(db)
	commit(t, db, Entry{Kind: Drop, Collection: 1, Revision: db.Revision() + 1})
	if err := db.engine.Compact(t.Context(), []byte{0}, []byte{255}, false); err != nil {
		t.Fatal(err)
	}
	n := 0
	for it.Next() {
		n++
	}
	if err := it.Err(); err != nil || n != 300 {
		t.Fatal(n, err)
	}
	if db.engine.g.heldNames() == 0 {
		t.Fatal("nothing is held for the reader")
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if n := db.engine.g.heldNames(); n != 0 {
		t.Fatal(n, "removals are held without a reader")
	}
	closeDB(t, db)
}

func (g *guard) heldNames() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.held)
}
