package disk

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The methods of vfs.FS that write, by the table in guard.go. Those that read and
// do not look at memory are the disk's.

func (g *guard) Create(name string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	if !g.ours(name) {
		return g.FS.Create(name, c)
	}
	if g.write(func() error { g.note(name); f, err = g.FS.Create(name, c); return err }) {
		return g.file(name, f), nil
	}
	return g.createInMemory(name, c)
}

func (g *guard) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	if g.onTrial() {
		_ = g.Remove(from) // Later.
		return g.Create(to, c)
	}
	if g.write(func() error { f, err = g.FS.ReuseForWrite(from, to, c); return err }) {
		return g.file(to, f), nil
	}
	return g.createInMemory(to, c)
}

func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (f vfs.File, err error) {
	if !g.ours(name) {
		return g.FS.OpenReadWrite(name, c, o...)
	}
	if g.write(func() error { f, err = g.FS.OpenReadWrite(name, c, o...); return err }) {
		return g.file(name, f), nil
	}
	return g.createInMemory(name, c)
}

func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil || !g.ours(name) {
		return f, err
	}
	return g.file(name, f), nil
}

func (g *guard) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if g.inMemory(name) {
		return g.memory.Open(name, o...)
	}
	return g.FS.Open(name, o...)
}

func (g *guard) Stat(name string) (vfs.FileInfo, error) {
	if g.inMemory(name) {
		return g.memory.Stat(name)
	}
	return g.FS.Stat(name)
}

func (g *guard) Remove(name string) error {
	if !g.ours(name) {
		return g.FS.Remove(name)
	}
	g.mu.Lock()
	if g.holds > 0 {
		g.held = append(g.held, name)
		g.mu.Unlock()
		return nil
	}
	g.mu.Unlock()
	g.write(func() error {
		// A file that does not exist need not be removed; Pebble asks so, too.
		if err := g.FS.Remove(name); err != nil && !oserror.IsNotExist(err) {
			return err
		}
		return nil
	})
	return nil
}

func (g *guard) RemoveAll(name string) error {
	if !g.ours(name) {
		return g.FS.RemoveAll(name)
	}
	g.write(func() error { return g.FS.RemoveAll(name) })
	return nil
}

func (g *guard) Rename(from, to string) error {
	if !g.ours(to) {
		return g.FS.Rename(from, to)
	}
	if g.write(func() error { g.note(to); return g.FS.Rename(from, to) }) || !g.inMemory(from) {
		return nil
	}
	return g.memory.Rename(from, to)
}

func (g *guard) Link(from, to string) error {
	if !g.ours(to) {
		return g.FS.Link(from, to)
	}
	// Pebble links only files that it ingests, which is not used here.
	if g.write(func() error { return g.FS.Link(from, to) }) {
		return nil
	}
	return g.cause()
}

func (g *guard) MkdirAll(dir string, perm os.FileMode) error {
	if !g.ours(dir) {
		return g.FS.MkdirAll(dir, perm)
	}
	g.write(func() error { return g.FS.MkdirAll(dir, perm) })
	return nil
}

// Lock does nothing: the data directory is locked already, above Pebble's, and
// two instances share it for a moment.
func (g *guard) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

func (g *guard) Unwrap() vfs.FS { return g.FS }

// file guards a file of the disk.
func (g *guard) file(name string, f vfs.File) vfs.File {
	return &guardedFile{File: f, g: g, table: isTable(name), log: filepath.Ext(name) == ".log"}
}

type guardedFile struct {
	vfs.File
	g     *guard
	table bool
	log   bool
}

// done is the result of a write that was tried.
func (f *guardedFile) done(ok bool) error {
	if ok || !f.table {
		return nil
	}
	return f.g.cause()
}

func (f *guardedFile) Write(p []byte) (int, error) {
	n := len(p)
	return n, f.done(f.g.write(func() error { _, err := f.File.Write(p); return err }))
}

func (f *guardedFile) WriteAt(p []byte, at int64) (int, error) {
	return len(p), f.done(f.g.write(func() error { _, err := f.File.WriteAt(p, at); return err }))
}

func (f *guardedFile) Sync() error { return f.done(f.g.write(f.timed(f.File.Sync))) }

func (f *guardedFile) SyncData() error { return f.done(f.g.write(f.timed(f.File.SyncData))) }

// timed is a sync that is counted, if it is of the log and succeeds.
func (f *guardedFile) timed(sync func() error) func() error {
	if !f.log || f.g.counters == nil {
		return sync
	}
	return func() error {
		began := time.Now()
		err := sync()
		if err == nil {
			f.g.counters.syncs.Observe(uint64(time.Since(began).Microseconds()))
		}
		return err
	}
}

func (f *guardedFile) SyncTo(length int64) (full bool, err error) {
	ok := f.g.write(func() error { full, err = f.File.SyncTo(length); return err })
	return full, f.done(ok)
}

// Preallocate asks for room before it is needed, for a log of 70 MiB. Where there is
// less, that may be enough: a write that finds no room will fail.
func (f *guardedFile) Preallocate(at, length int64) error {
	f.g.write(func() error { _ = f.File.Preallocate(at, length); return nil })
	return nil
}

func (f *guardedFile) Close() error {
	// Some file systems report a failed write only here.
	if err := f.File.Close(); err != nil {
		f.g.freeze(err)
	}
	return nil
}
