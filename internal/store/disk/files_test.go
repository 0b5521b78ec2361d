package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func writeFile(t testing.TB, fs vfs.FS, name, text string) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOtherDirectories are refused, and left as they are.
func TestOtherDirectories(t *testing.T) {
	id := newIdentity()
	id.ready = true
	for _, c := range []struct {
		name, file, text string
		want             error
		says             string
	}{
		{"foreign", "photo.jpg", "x", ErrForeign, "data"},
		{"other identity", identityName, "something else\n", ErrForeign, identityName},
		{"newer format", identityName, strings.Replace(id.String(), "format 1\n", "format 8\nnew: all\n", 1), ErrFormat, "is format 8, this version reads formats 1 to 7"},
		{"no format", identityName, identityHead + "\n", ErrCorrupt, "format"},
		{"no store", identityName, identityHead + "\nformat 1\n", ErrCorrupt, "store"},
		{"half a store", identityName, identityHead + "\nformat 1\nstore 01\nstate ready\n", ErrCorrupt, "store"},
		{"lost files", identityName, id.String(), pebble.ErrDBDoesNotExist, "data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			if err := fs.MkdirAll("data", 0o755); err != nil {
				t.Fatal(err)
			}
			writeFile(t, fs, "data/"+c.file, c.text)
			for range 2 {
				_, err := Open("data", Options{FS: fs})
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
					t.Fatal(err)
				}
				if _, err := check(fs, "data"); !errors.Is(err, c.want) {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{LogBytes: -1}, {CacheBytes: -1}} {
		if _, err := Open("data", o); !errors.Is(err, ErrOptions) {
			t.Fatal(err)
		}
	}
}

// TestLocked: by this process, under another name, and by another one, whose
// number the error has.
func TestLocked(t *testing.T) {
	if dir := os.Getenv("CATFISH_DISK_LOCKED"); dir != "" {
		_, err := Open(dir, Options{})
		fmt.Println(err)
		return
	}
	dir := t.TempDir()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, link} {
		if _, err := Open(name, Options{}); !errors.Is(err, ErrLocked) {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLocked$")
	cmd.Env = append(os.Environ(), "CATFISH_DISK_LOCKED="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	if want := fmt.Sprintf("in use by process %d: %s", os.Getpid(), dir); !strings.Contains(string(out), want) {
		t.Fatalf("%s, not %s", out, want)
	}
	closeDB(t, db)
}

// TestCloseReportsLoss: without SyncAlways, writes that the disk refuses are lost.
func TestCloseReportsLoss(t *testing.T) {
	var failing atomic.Bool
	fs := inject(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	db := open(t, fs, Options{Sync: SyncOff})
	commit(t, db, create(db, 1, "c"))
	failing.Store(true)
	if err := db.Close(); !errors.Is(err, ErrReadOnly) || !errors.Is(err, errorfs.ErrInjected) || !strings.Contains(err.Error(), "after revision 0") {
		t.Fatal(err)
	}
	failing.Store(false)
	closeDB(t, open(t, fs, Options{}))
}

// TestBackup: while commits continue; the copy is checked, and is a store of its own
// when it is restored. A backup that fails does not touch the database.
func TestBackup(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{Sync: SyncOff})
	m := newModel()
	step := func(entries ...Entry) {
		commit(t, db, entries...)
		m.apply(entries)
	}
	step(create(db, 1, "c"), put(1, "a", "1", 2), put(1, "b", "1", 3))
	if err := db.engine.Flush(); err != nil {
		t.Fatal(err)
	}
	step(put(1, "a", "2", 4))
	r, err := db.Checkpoint("backup")
	if err != nil || r.Last != 4 || r.Keys != 2 || r.Store != db.Store() {
		t.Fatal(r, err)
	}
	if _, err := db.Checkpoint("backup"); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	if _, err := db.Checkpoint("data/backup"); !errors.Is(err, ErrOptions) {
		t.Fatal(err)
	}
	commit(t, db, put(1, "a", "later", 5))
	if _, err := restore(fs, "backup", "data"); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	if _, err := restore(fs, "nothing", "restored"); !errors.Is(err, ErrForeign) {
		t.Fatal(err)
	}
	if r, err = restore(fs, "backup", "deep/restored"); err != nil || r.Store == db.Store() {
		t.Fatal(r, err)
	}
	again, err := Open("deep/restored", Options{FS: fs})
	if err != nil || again.Store() != r.Store {
		t.Fatal(err)
	}
	m.verify(t, again, "restored")
	closeDB(t, again)
	closeDB(t, db)
}

func TestBackupThatFails(t *testing.T) {
	fs := inject(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasPrefix(op.Path, "backup/pebble") && op.Kind == errorfs.OpFileWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	db := open(t, fs, Options{})
	commit(t, db, create(db, 1, "c"))
	if _, err := db.Checkpoint("backup"); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatal(err)
	}
	commit(t, db, put(1, "a", "1", 2))
	closeDB(t, db)
}

// TestCheckFinds the faults of a database that was tampered with.
func TestCheckFinds(t *testing.T) {
	state := func(revision uint64, value string) []byte {
		b := make([]byte, stateHeader)
		putStateHeader(b, revision, int64(revision), uint16(revision))
		return append(b, value...)
	}
	for name, tamper := range map[string]func(b *pebble.Batch) error{
		"nothing":       nil,
		"missing":       func(b *pebble.Batch) error { return b.Delete(stateKey(1, []byte("a")), nil) },
		"extra":         func(b *pebble.Batch) error { return b.Set(stateKey(1, []byte("z")), state(3, ""), nil) },
		"other value":   func(b *pebble.Batch) error { return b.Set(stateKey(1, []byte("a")), state(3, "2"), nil) },
		"other state":   func(b *pebble.Batch) error { return b.Set(stateKey(1, []byte("a")), state(2, "1"), nil) },
		"future":        func(b *pebble.Batch) error { return b.Set(stateKey(1, []byte("a")), state(99, "1"), nil) },
		"deleted":       func(b *pebble.Batch) error { return b.Set(stateKey(1, []byte("b")), state(4, "1"), nil) },
		"dropped":       func(b *pebble.Batch) error { return b.Set(stateKey(2, []byte("b")), state(4, "1"), nil) },
		"short":         func(b *pebble.Batch) error { return b.Set(stateKey(1, []byte("a")), []byte{1}, nil) },
		"short key":     func(b *pebble.Batch) error { return b.Set([]byte{statePrefix, 1}, state(3, "1"), nil) },
		"empty key":     func(b *pebble.Batch) error { return b.Set(stateKey(1, nil), state(3, "1"), nil) },
		"gap":           func(b *pebble.Batch) error { return b.Delete(logKey(4), nil) },
		"log beyond":    func(b *pebble.Batch) error { return b.Set(logKey(99), []byte{1}, nil) },
		"log entry":     func(b *pebble.Batch) error { return b.Set(logKey(4), []byte{1}, nil) },
		"log key":       func(b *pebble.Batch) error { return b.Set([]byte{logPrefix, 1}, []byte{1}, nil) },
		"no collection": func(b *pebble.Batch) error { return b.Delete(collectionKey(metaPrefix, 1), nil) },
		"collection": func(b *pebble.Batch) error {
			return b.Set(collectionKey(metaPrefix, 1), Meta{Name: "x", Created: 1, Changed: 1}.encode(), nil)
		},
		"collection's name": func(b *pebble.Batch) error {
			return b.Set(collectionKey(metaPrefix, 1), bytes.Repeat([]byte{255}, 20), nil)
		},
		"stranger before": func(b *pebble.Batch) error { return b.Set([]byte{0}, nil, nil) },
		"stranger after":  func(b *pebble.Batch) error { return b.Set([]byte{endPrefix, 1}, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			db := open(t, fs, Options{})
			commit(t, db, create(db, 1, "c"), Entry{Kind: Create, Collection: 2, Key: []byte("d"), Revision: 2}, put(1, "a", "1", 3), put(1, "b", "1", 4), put(2, "b", "1", 5))
			commit(t, db, Entry{Kind: Delete, Collection: 1, Key: []byte("b"), Revision: 6}, Entry{Kind: Drop, Collection: 2, Revision: 7},
				Entry{Kind: Alter, Collection: 1, Key: []byte("e"), Value: []byte("new"), Revision: 8})
			if tamper != nil {
				b := db.engine.NewBatch()
				if err := errors.Join(tamper(b), b.Commit(pebble.Sync)); err != nil {
					t.Fatal(err)
				}
			}
			closeDB(t, db)
			r, err := check(fs, "data")
			if tamper == nil {
				if err != nil || r.Keys != 1 || r.First != 1 || r.Last != 8 || len(r.Collections) != 1 || r.Collections[0].Name != "e" || r.Collections[0].Created != 1 {
					t.Fatal(r, err)
				}
			} else if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
		})
	}
}

// TestCheckFindsChangedBytes: whichever byte of a table is changed; every seventh
// is tried.
func TestCheckFindsChangedBytes(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{})
	commit(t, db, create(db, 1, "c"))
	for i := range 50 {
		commit(t, db, put(1, fmt.Sprint("k", i), strings.Repeat("v", 40), db.Revision()+1))
	}
	if err := db.engine.Flush(); err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	names, err := fs.List("data/pebble")
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		tables++
		file, err := fs.UnsafeGetFileDataBuffer("data/pebble/" + name)
		if err != nil {
			t.Fatal(err)
		}
		last := &file[len(file)-1] // of the mark at the end of a table
		*last ^= 0x10
		plainly := func(err error) {
			t.Helper()
			if text := err.Error(); strings.ContainsAny(text, "<\n") || !strings.Contains(text, name) {
				t.Errorf("the error names no file, or has a text for machines: %s", text)
			}
		}
		if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: another mark: %v", name, err)
		} else {
			plainly(err)
		}
		*last ^= 0x10
		for i := 0; i < len(file); i += 7 {
			file[i] ^= 0x10
			if _, err := check(fs, "data"); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: byte %d of %d was changed, and is not noticed", name, i, len(file))
			} else {
				plainly(err)
			}
			file[i] ^= 0x10
		}
	}
	if tables == 0 {
		t.Fatal("no tables")
	}
}

// TestRequire: a directory has the oldest format that older programs must know,
// and so do its copies.
func TestRequire(t *testing.T) {
	fs := vfs.NewMem()
	db, err := Open("data", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	is := func(dir string, want uint32) {
		t.Helper()
		if id, _, err := readIdentity(fs, dir); err != nil || id.format != want {
			t.Fatal(id, err)
		}
	}
	is("data", 1)
	if err := db.Commit([]Entry{{Kind: Create, Collection: 1, Key: []byte("c"), Revision: 1}}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []uint32{1, 2, 2, 1} { // never lowered
		if err := db.Require(f); err != nil {
			t.Fatal(err)
		}
	}
	is("data", 2)
	if r, err := db.Checkpoint("copy"); err != nil || r.Format != 2 {
		t.Fatal(r, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Require(2); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if r, err := restore(fs, "copy", "again"); err != nil || r.Format != 2 {
		t.Fatal(r, err)
	}
	is("again", 2)
	if db, err = Open("again", Options{FS: fs}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	is("again", 2)
}
