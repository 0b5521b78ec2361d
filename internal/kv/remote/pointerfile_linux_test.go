package remote

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/record"
)

// A test's child opens the file and does what its environment says.
const childFile, childDoes = "CATFISH_POINTERS_FILE", "CATFISH_POINTERS_DO"

var (
	fileKey = PointersKey{Addr: "a:1", BootID: 2, Collection: 3}
	begun   = time.Now()
)

func sinceBegun() time.Duration { return time.Since(begun) }

// Entries of the tests: their hashes are spread over all sets.
const fileEntries = 64

func fileHash(i int) uint64 { return uint64(i) * (^uint64(0) / fileEntries) }

func init() {
	path := os.Getenv(childFile)
	if path == "" {
		return
	}
	f, err := OpenPointerFile(path, 0, sinceBegun)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p := f.pointers(fileKey)
	switch does := os.Getenv(childDoes); does {
	case "put":
		for i := range fileEntries {
			p.Put(fileHash(i), record.Ref(i+1), sinceBegun(), sinceBegun()+record.MaxLease)
		}
	case "write for ever":
		fmt.Println("ready")
		for i := 0; ; i++ {
			p.Put(fileHash(i%fileEntries), record.Ref(i%fileEntries+1+i%3*fileEntries), sinceBegun(), sinceBegun()+record.MaxLease)
		}
	default: // the words to store, of the entry in which hash 0 is, and the end
		e := p.set(0).find(p.region)
		for _, w := range strings.Fields(does) {
			map[string]*atomic.Uint64{"ref": &e.ref, "lease": &e.lease, "tag": &e.tag}[w].Store(1 << 40)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	os.Exit(0)
}

func child(t *testing.T, path, does string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), childFile+"="+path, childDoes+"="+does)
	return c
}

func openFile(t testing.TB, path string, limit int64, clock func() time.Duration) *PointerFile {
	t.Helper()
	f, err := OpenPointerFile(path, limit, clock)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPointersOfTwoProcesses: what one process has found, another one uses, whose clock began at
// another time, for no longer. Pointers of another server, start, collection or machine are not found.
func TestPointersOfTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pointers")
	hours := func() time.Duration { return sinceBegun() + 5*time.Hour }
	f := openFile(t, path, 1<<16, hours)
	before := hours()
	if out, err := child(t, path, "put").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, now := f.pointers(fileKey), hours()
	for i := range fileEntries {
		ref, until, ok := p.Get(fileHash(i), now)
		if !ok || ref != record.Ref(i+1) || until <= before+record.MaxLease-time.Second || until > now+record.MaxLease {
			t.Errorf("entry %d: %v until %v, %t; now it is %v", i, ref, until, ok, now)
		}
	}
	others := []PointersKey{fileKey, fileKey, fileKey}
	others[0].Addr, others[1].BootID, others[2].Collection = "b:1", 4, 5
	elsewhere := *f
	elsewhere.clock.name++
	for _, p := range []*Pointers{f.pointers(others[0]), f.pointers(others[1]), f.pointers(others[2]), elsewhere.pointers(fileKey)} {
		if ref, _, ok := p.Get(fileHash(7), now); ok {
			t.Errorf("another's pointers: %v", ref)
		}
	}
}

// TestProcessKilledInAWrite: whatever a process has stored when it is killed, the others are given no
// mixture, and use the entry again.
func TestProcessKilledInAWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pointers")
	f := openFile(t, path, 0, sinceBegun)
	p := f.pointers(fileKey)
	for _, does := range []string{"", "ref", "lease", "tag", "ref lease", "ref tag", "lease tag"} {
		clear(words(f))
		now := sinceBegun()
		p.Put(0, 7, now, now+10*time.Second)
		err := child(t, path, does).Run()
		if e := (*exec.ExitError)(nil); !errors.As(err, &e) || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the child: %v", err)
		}
		if ref, _, ok := p.Get(0, now); ok != (does == "") || ok && ref != 7 {
			t.Errorf("after %q: %v, %t", does, ref, ok)
		}
		for i := range pointerWays {
			p.Put(uint64(i), record.Ref(i+10), now, now+20*time.Second)
		}
		for i := range pointerWays {
			if ref, _, ok := p.Get(uint64(i), now); !ok || ref != record.Ref(i+10) {
				t.Errorf("after %q: entry %d is %v, %t", does, i, ref, ok)
			}
		}
	}
	path += "2"
	f = openFile(t, path, 4<<10, sinceBegun)
	p = f.pointers(fileKey)
	for range 5 {
		c := child(t, path, "write for ever")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		for i, hits := 0, 0; err == nil && hits < 1000; i++ {
			hash := i % fileEntries
			if ref, _, ok := p.Get(fileHash(hash), sinceBegun()); ok {
				hits++
				if int(ref-1)%fileEntries != hash {
					t.Errorf("hash %d has %v", hash, ref)
				}
			}
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		if line != "ready\n" {
			t.Fatalf("the child says %q, %v", line, err)
		}
		for i := range fileEntries {
			now := sinceBegun()
			want := record.Ref(i + 1 + 9*fileEntries)
			p.Put(fileHash(i), want, now, now+record.MaxLease)
			if ref, _, ok := p.Get(fileHash(i), now); !ok || ref != want {
				t.Errorf("entry %d is not used again: %v, %t", i, ref, ok)
			}
		}
	}
}

// words are those of a file's sets.
func words(f *PointerFile) []atomic.Uint64 { return setWords(f.sets) }

// TestPointerFileRefused: a file of another version, one that is none of pointers, and one that others may use.
func TestPointerFileRefused(t *testing.T) {
	put := func(at int, b ...byte) func([]byte) []byte {
		return func(f []byte) []byte {
			copy(f[at:], b)
			return f
		}
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   error
	}{
		"another version":      {put(8, fileVersion+1), ErrPointerVersion},
		"other text":           {put(0, 'x'), ErrPointerFile},
		"sets of another size": {put(12, 64), ErrPointerFile},
		"no sets":              {put(16, 0, 0), ErrPointerFile},
		"more sets":            {put(16, 2), ErrPointerFile},
		"sets beyond 64 bits":  {put(16, binary.LittleEndian.AppendUint64(nil, 1<<57+1)...), ErrPointerFile},
		"cut off":              {func(f []byte) []byte { return f[:len(f)-1] }, ErrPointerFile},
		"no whole header":      {func(f []byte) []byte { return f[:20] }, ErrPointerFile},
		"empty":                {func([]byte) []byte { return nil }, ErrPointerFile},
	} {
		path := filepath.Join(t.TempDir(), "pointers")
		openFile(t, path, 0, sinceBegun)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil { // the first is still mapped
			t.Fatal(err)
		}
		changed := c.change(bytes.Clone(b))
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenPointerFile(path, 0, sinceBegun); !errors.Is(err, c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, changed) {
			t.Errorf("%s: the refused file was changed", name)
		}
	}
	path := filepath.Join(t.TempDir(), "pointers")
	openFile(t, path, 0, sinceBegun)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPointerFile(path, 0, sinceBegun); !errors.Is(err, mapped.ErrNotOurs) {
		t.Errorf("readable by others: %v", err)
	}
}

// TestPointerFileBounds: a file is as large as its first user says, and begins with the drawn header.
func TestPointerFileBounds(t *testing.T) {
	for limit, sets := range map[int64]int{-1: 1, 256: 1, 1000: 6, 1 << 20: 1<<13 - 1} {
		path := filepath.Join(t.TempDir(), "pointers")
		f := openFile(t, path, limit, sinceBegun)
		again := openFile(t, path, 1<<30, sinceBegun)
		b, err := os.ReadFile(path)
		if err != nil || len(f.sets) != sets || len(again.sets) != sets || len(b) != 128*(sets+1) || limit >= 256 && int64(len(b)) > limit {
			t.Errorf("limit %d: %d and %d sets in %d bytes, %v", limit, len(f.sets), len(again.sets), len(b), err)
		}
		want := binary.LittleEndian.AppendUint64([]byte("CFPOINT\n\x01\x00\x00\x00\x80\x00\x00\x00"), uint64(sets))
		if !bytes.Equal(b, append(want, make([]byte, len(b)-len(want))...)) {
			t.Errorf("limit %d: % x", limit, b[:32])
		}
		p := f.pointers(fileKey)
		p.Put(1<<63, 7, sinceBegun(), sinceBegun()+record.MaxLease)
		b, err = os.ReadFile(path)
		at := 128 + 128*(sets/2) + 8 // the set in the middle
		if err != nil || binary.LittleEndian.Uint64(b[at+8:]) != 7 {
			t.Errorf("limit %d: % x, %v", limit, b[at:at+24], err)
		}
	}
}

// TestPointerFileMadeOnce: of many that open a file which is not there, all get the same.
func TestPointerFileMadeOnce(t *testing.T) {
	dir := t.TempDir()
	for round := range 20 {
		path := filepath.Join(dir, fmt.Sprint(round))
		var files [8]*PointerFile
		var group sync.WaitGroup
		for i := range files {
			group.Go(func() { files[i], _ = OpenPointerFile(path, int64(1000*(i+1)), sinceBegun) })
		}
		group.Wait()
		for i, f := range files {
			if f == nil || len(f.sets) != len(files[0].sets) {
				t.Fatalf("round %d: file %d is another", round, i)
			}
			f.pointers(fileKey).Put(uint64(i), record.Ref(i+1), sinceBegun(), sinceBegun()+record.MaxLease)
			if _, _, ok := files[0].pointers(fileKey).Get(uint64(i), sinceBegun()); !ok {
				t.Errorf("round %d: file %d is another", round, i)
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 20 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// TestPointerFileIsUnmapped: when nothing can reach it, and not before.
func TestPointerFileIsUnmapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pointers")
	isMapped := func() bool {
		b, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(b, []byte(path))
	}
	func() {
		p := openFile(t, path, 0, sinceBegun).pointers(fileKey)
		for range 3 {
			runtime.GC()
		}
		p.Put(1, 1, sinceBegun(), sinceBegun()+time.Second)
		if !isMapped() {
			t.Fatal("it is unmapped while Pointers use it")
		}
	}()
	for end := time.Now().Add(time.Minute); isMapped(); runtime.Gosched() {
		if runtime.GC(); time.Now().After(end) {
			t.Fatal("it stays mapped")
		}
	}
}
