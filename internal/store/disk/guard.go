package disk

// A guard stands between Pebble and the file system, so that a failed write costs
// neither the process nor the data.
//
// Pebble takes a write of its WAL or MANIFEST that fails for the end: it panics
// with its locks held, or calls Logger.Fatalf, from goroutines of its own, too; a
// flush that fails it tries again at once, without end (its issues 270, 3427,
// 6139). None of that can be caught from outside. So it never sees such an error:
//
//	              write fails                    closing
//	  passing ------------------> frozen ----------------------> closed
//	  to the disk                 to memory, the disk
//	                              keeps its state
//
// From the first write that fails on, the guard is frozen: nothing reaches the disk any
// more, and the guard reports success to Pebble. For the disk this is a crash of the
// process at that moment, which is what Pebble's recovery is made for. For Pebble
// nothing has happened: what it believes to have written is in its memtables, or in
// memory here, so it can be read until another instance takes its place.
//
//	in state frozen         is
//	write, sync             reported as a success, and left out; of a table that
//	                        is half written, an error: Pebble writes it again
//	create                  a file in memory. That is bounded by the memtables,
//	                        since a frozen database takes no commits
//	  of a compaction       kept waiting until the guard closes, then an error:
//	                        compactions are not bounded, and can wait. While Pebble
//	                        opens, which waits for them, an error at once
//	remove, rename          left out: files stay for their readers
//	open, stat, read        of memory if it has the file, else of the disk
//
// A write that has reached the operating system when the guard freezes is let
// through; quiesce waits for those, and after it the disk does not change.
//
// A guard begins on trial, until the state that Pebble has read is known to be whole,
// and the instance before, if there is one, is closed (keep). Until then it removes
// nothing and overwrites nothing, and notes what it creates, so that a failed attempt
// leaves the directory as it was (undo).

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

type guard struct {
	counters *counters // nil: nothing is counted

	vfs.FS               // the disk
	dir    string        // the guarded directory; names outside it are passed on
	memory *vfs.MemFS    // files created while frozen
	frozen chan struct{} // closed when frozen
	why    atomic.Pointer[error]
	writes sync.RWMutex  // held to read by each write to the disk
	ending chan struct{} // closed by end
	opened atomic.Bool   // Pebble's Open has returned
	endOne sync.Once

	mu      sync.Mutex
	holds   int                 // reasons to keep files of before; 0: the trial has ended
	held    []string            // to be removed then
	created map[string]struct{} // on the disk, during the trial
}

func newGuard(fs vfs.FS, dir string) *guard {
	return &guard{FS: fs, dir: dir, memory: vfs.NewMem(), holds: 1, created: map[string]struct{}{},
		frozen: make(chan struct{}), ending: make(chan struct{})}
}

// freeze is called with the first error; others change nothing.
func (g *guard) freeze(cause error) {
	if g.why.CompareAndSwap(nil, &cause) {
		close(g.frozen)
	}
}

// cause of the freeze, or nil.
func (g *guard) cause() error {
	if p := g.why.Load(); p != nil {
		return *p
	}
	return nil
}

// quiesce waits until no write is in flight. The guard is frozen.
func (g *guard) quiesce() {
	g.writes.Lock()
	defer g.writes.Unlock()
}

// end ends the waits for the end of Pebble.
func (g *guard) end() { g.endOne.Do(func() { close(g.ending) }) }

// write does f on the disk unless frozen. It returns whether f was done and
// succeeded; if not, the guard is frozen.
func (g *guard) write(f func() error) bool {
	g.writes.RLock()
	defer g.writes.RUnlock()
	if g.why.Load() != nil {
		return false
	}
	if err := f(); err != nil {
		g.freeze(err)
		return false
	}
	return true
}

// ours reports whether a name is guarded.
func (g *guard) ours(name string) bool {
	rest, ok := strings.CutPrefix(name, g.dir)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '\\' || strings.HasSuffix(g.dir, "/"))
}

// hold adds a reason to keep the files of before.
func (g *guard) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds++
}

// keep takes a reason away. The last one ends the trial.
func (g *guard) keep() {
	g.mu.Lock()
	if g.holds--; g.holds > 0 {
		g.mu.Unlock()
		return
	}
	held := g.held
	g.held, g.created = nil, nil
	g.mu.Unlock()
	for _, name := range held {
		_ = g.Remove(name) // A failure freezes the guard.
	}
}

// undo removes the files created in the trial. Pebble is closed.
func (g *guard) undo() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for name := range g.created {
		if err := g.FS.Remove(name); err != nil && !oserror.IsNotExist(err) {
			errs = append(errs, err)
		}
	}
	if len(g.created) > 0 {
		errs = append(errs, syncDir(g.FS, g.dir))
	}
	g.created = nil
	return errors.Join(errs...)
}

func (g *guard) onTrial() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holds > 0
}

// note records that a file is created.
func (g *guard) note(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds > 0 {
		g.created[name] = struct{}{}
	}
}

// inMemory reports whether a name was created while frozen.
func (g *guard) inMemory(name string) bool {
	if g.why.Load() == nil {
		return false
	}
	_, err := g.memory.Stat(name)
	return err == nil
}

// createInMemory makes a file in memory, with the directories above it.
func (g *guard) createInMemory(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.Contains(string(c), "compaction") {
		if g.opened.Load() {
			<-g.ending
		}
		return nil, g.cause()
	}
	if err := g.memory.MkdirAll(g.PathDir(name), 0o755); err != nil {
		return nil, err
	}
	return g.memory.Create(name, c)
}
