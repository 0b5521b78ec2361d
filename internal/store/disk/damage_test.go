package disk

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var damages = flag.Int("damages", 200, "how many directories TestDamage damages")

// files are those of a directory and below it, by their names.
type files map[string][]byte

// readFiles reads them all, but the lock files.
func readFiles(t testing.TB, fs vfs.FS, dir string) files {
	t.Helper()
	all := files{}
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			maps.Copy(all, readFiles(t, fs, path))
			continue
		}
		if name == lockName {
			continue
		}
		f, err := fs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, info.Size())
		if n, err := f.ReadAt(b, 0); n < len(b) {
			t.Fatal(path, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		all[path] = b
	}
	return all
}

// write makes a file system that holds them.
func (all files) write(t testing.TB) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	for name, b := range all {
		if err := fs.MkdirAll(fs.PathDir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, fs, name, string(b))
	}
	return fs
}

// A kept directory has the files that a killed process has left, and the state that
// it had acknowledged.
type kept struct {
	files files
	model *model
}

// keepDirectory writes a log that is spread over several tables and the WAL, in batches of
// one entry to more than Pebble's blocks of 32 KiB.
func keepDirectory(t testing.TB, rng *rand.Rand) kept {
	t.Helper()
	fs := vfs.FS(vfs.NewMem())
	m := newModel()
	for range 4 {
		db := open(t, fs, Options{lagBytes: 64 << 10})
		if db.Revision() == 0 {
			entries := []Entry{create(db, 1, "c")}
			commit(t, db, entries...)
			m.apply(entries)
		}
		for range 12 {
			var entries []Entry
			for range 1 + rng.IntN(20)*rng.IntN(20) {
				n := put(1, fmt.Sprint("k", rng.IntN(800)), strings.Repeat(fmt.Sprint(rng.Uint32()), 1+rng.IntN(40)),
					db.Revision()+1+uint64(len(entries)))
				if !slices.ContainsFunc(entries, func(e Entry) bool { return string(e.Key) == string(n.Key) }) {
					n.OldRevision = m.rows[string(n.Key)].revision
					entries = append(entries, n)
				}
			}
			commit(t, db, entries...)
			m.apply(entries)
		}
		// As after a kill: all writes are in the files, and nothing is closed.
		left := readFiles(t, fs, "data")
		closeDB(t, db)
		fs = left.write(t)
	}
	return kept{readFiles(t, fs, "data"), m}
}

// A damage changes a file, or removes it.
type damage struct {
	kind string
	do   func(rng *rand.Rand, b []byte) []byte // nil: remove the file
}

var kindsOfDamage = []damage{
	{"a bit flipped", func(rng *rand.Rand, b []byte) []byte {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		return b
	}},
	{"zeroes", func(rng *rand.Rand, b []byte) []byte {
		clear(b[place(rng, len(b)):])
		return b
	}},
	{"a block of zeroes", func(rng *rand.Rand, b []byte) []byte {
		at := place(rng, len(b))
		clear(b[at:min(len(b), at+512)])
		return b
	}},
	{"other bytes", func(rng *rand.Rand, b []byte) []byte {
		at := place(rng, len(b))
		for i := range b[at:min(len(b), at+1+rng.IntN(4096))] {
			b[at+i] = byte(rng.Uint32())
		}
		return b
	}},
	{"cut", func(rng *rand.Rand, b []byte) []byte { return b[:place(rng, len(b))] }},
	{"removed", func(*rand.Rand, []byte) []byte { return nil }},
}

func place(rng *rand.Rand, n int) int { return rng.IntN(n) }

// TestDamage: no damage to any file lets a start serve less than was acknowledged. A
// start that is refused changes no file. The database that AcceptLoss serves is
// consistent, and all files of before are kept.
func TestDamage(t *testing.T) {
	var outcomes = map[string]int{}
	var k kept
	for seed := range *damages {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		if seed%50 == 0 {
			k = keepDirectory(t, rng)
		}
		// Files alternate, whatever their size; and among bytes those that are used.
		names := slices.Sorted(maps.Keys(k.files))
		name := names[seed%len(names)]
		d := kindsOfDamage[(seed+seed/len(names))%len(kindsOfDamage)]
		all := maps.Clone(k.files)
		used := len(bytes.TrimRight(all[name], "\x00"))
		if used == 0 {
			continue
		}
		changed := d.do(rng, slices.Clone(all[name][:used]))
		if changed == nil {
			delete(all, name)
		} else {
			all[name] = append(changed, all[name][used:]...)
			if d.kind == "cut" {
				all[name] = changed
			}
		}
		what := fmt.Sprintf("seed %d, %s, %s", seed, name, d.kind)
		outcomes[k.start(t, all, what)]++
	}
	t.Log(outcomes)
	if outcomes["refused"] == 0 || outcomes["whole"] == 0 {
		t.Errorf("one of the outcomes is missing: %v", outcomes)
	}
}

// start opens a damaged directory, and describes the result.
func (k kept) start(t *testing.T, all files, what string) string {
	t.Helper()
	fs := all.write(t)
	_, checked := check(fs, "data")
	db, err := Open("data", Options{FS: fs})
	if err == nil {
		if err = load(db); err == nil {
			k.model.verify(t, db, what)
			closeDB(t, db)
			return "whole"
		}
		_ = db.Close()
		if now := readFiles(t, fs, "data"); !all.within(now) {
			t.Fatalf("%s: a start that was not finished (%v) has removed files: %v are left of %v", what, err,
				slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(all)))
		}
		if checked == nil {
			t.Fatalf("%s: not loaded (%v), but Check has found nothing", what, err)
		}
		oneLine(t, what, err)
		return "not loaded"
	}
	oneLine(t, what, err)
	if now := readFiles(t, fs, "data"); !maps.EqualFunc(now, all, bytes.Equal) {
		t.Fatalf("%s: a start that was refused (%v) has changed files: %v, not %v", what, err,
			slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(all)))
	}
	if checked == nil {
		t.Fatalf("%s: refused (%v), but Check has found nothing", what, err)
	}
	db, err = Open("data", Options{FS: fs, AcceptLoss: true})
	if err != nil {
		if now := readFiles(t, fs, "data/pebble"); !maps.EqualFunc(now, all.below("data/pebble/"), bytes.Equal) {
			t.Fatalf("%s: AcceptLoss was of no use (%v) and has changed files", what, err)
		}
		return "refused, and AcceptLoss too"
	}
	for key, r := range state(t, db, 1) {
		if r.revision > uint64(len(k.model.log)) || string(k.model.log[r.revision-1].Value) != r.value ||
			string(k.model.log[r.revision-1].Key) != key {
			t.Fatalf("%s: %q has a value that it never had", what, key)
		}
	}
	if aside := readFiles(t, fs, "data/damaged-1"); len(aside) != len(all) {
		t.Fatalf("%s: %d files kept aside, not %d", what, len(aside), len(all))
	}
	commit(t, db, put(1, "new", "x", db.Revision()+1))
	closeDB(t, db)
	if _, err := check(fs, "data"); err != nil {
		t.Fatalf("%s: after AcceptLoss: %v", what, err)
	}
	closeDB(t, open(t, fs, Options{}))
	return "refused"
}

// load reads all states, as a store does before it serves.
func load(db *DB) error {
	return db.Load(context.Background(), 1, 1, func(int, []byte, []byte, uint64, int64, uint16) error { return nil })
}

// within: all files of before exist, except for the seal, which changes.
func (all files) within(now files) bool {
	for name, b := range all {
		if name != "data/"+sealName && !bytes.Equal(now[name], b) {
			return false
		}
	}
	return true
}

// below returns the files whose names begin with dir.
func (all files) below(dir string) files {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(name string, _ []byte) bool { return !strings.HasPrefix(name, dir) })
	return some
}

func oneLine(t *testing.T, what string, err error) {
	t.Helper()
	if text := err.Error(); strings.Contains(text, "detail carrier") || strings.Contains(text, "\n") {
		t.Fatalf("%s: the error is not a clear line: %s", what, text)
	}
}

// TestDamagedBatch is the case in which Pebble takes damage for a write that was
// cut: a bit within a batch of more than 32 KiB, whose synced offset lags.
func TestDamagedBatch(t *testing.T) {
	k := keepDirectory(t, rand.New(rand.NewPCG(1, 1)))
	for name, b := range k.files {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		for share := range 5 {
			all := maps.Clone(k.files)
			all[name] = slices.Clone(b)
			used := len(bytes.TrimRight(b, "\x00"))
			all[name][used*share/5] ^= 1
			if got := k.start(t, all, fmt.Sprintf("%s at %d %%", name, 20*share)); got == "whole" && used > 1<<10 {
				t.Errorf("a bit at %d %% of %s was not noticed", 20*share, name)
			}
		}
	}
}

// TestLostSeal: without the file SEAL a start is refused, with a reason. A seal that was not
// written to the end does not matter.
func TestLostSeal(t *testing.T) {
	k := keepDirectory(t, rand.New(rand.NewPCG(2, 2)))
	all := maps.Clone(k.files)
	delete(all, "data/"+sealName)
	if _, err := Open("data", Options{FS: all.write(t)}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "SEAL is missing") {
		t.Fatal(err)
	}
	all["data/"+sealName] = slices.Clone(k.files["data/"+sealName])
	clear(all["data/"+sealName][:sealBytes])
	if got := k.start(t, all, "half a seal"); got != "whole" {
		t.Fatal(got)
	}
	// Another history has the revision, too.
	id := mustIdentity(t, k)
	page := make([]byte, sealFileSize)
	copy(page, appendSeal(nil, id.store, mark{uint64(len(k.model.log)), 1}))
	all["data/"+sealName] = page
	if _, err := Open("data", Options{FS: all.write(t)}); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "is not the write") {
		t.Fatal(err)
	}
}

// TestDamagedIdentity: no bit of the file CATFISH makes another identity.
func TestDamagedIdentity(t *testing.T) {
	id := newIdentity()
	id.ready, id.sealed = true, true
	for i := range 8 * len(id.String()) {
		b := []byte(id.String())
		b[i/8] ^= 1 << (i % 8)
		if got, err := parseIdentity(string(b)); err == nil && got != id {
			t.Errorf("bit %d: %q is %+v, not %+v", i, b, got, id)
		}
	}
}

// TestSealInLogs: after a power loss SEAL may be old. Then the batches after the damage
// show which revision was durable.
func TestSealInLogs(t *testing.T) {
	k := keepDirectory(t, rand.New(rand.NewPCG(3, 3)))
	s, err := readSeal(k.files.write(t), "data", mustIdentity(t, k).store)
	if err != nil || s.revision != uint64(len(k.model.log)) {
		t.Fatal(s, err)
	}
	old := appendSeal(nil, mustIdentity(t, k).store, mark{})
	page := make([]byte, sealFileSize)
	copy(page, old)
	found := 0
	for name, b := range k.files {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		all := maps.Clone(k.files)
		all["data/"+sealName] = page
		all[name] = slices.Clone(b)
		all[name][len(bytes.TrimRight(b, "\x00"))/2] ^= 1
		if _, err := Open("data", Options{FS: all.write(t)}); errors.Is(err, ErrCorrupt) {
			found++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no damage was noticed")
	}
}

func mustIdentity(t *testing.T, k kept) identity {
	t.Helper()
	id, err := parseIdentity(string(k.files["data/"+identityName]))
	if err != nil || !id.sealed {
		t.Fatal(id, err)
	}
	return id
}
