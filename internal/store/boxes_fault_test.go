package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// TestBoxesEachWriteFails: whichever write to the disk fails, once or for a while,
// each write to boxes has a definite answer, and memory and disk agree.
func TestBoxesEachWriteFails(t *testing.T) {
	for _, once := range []bool{true, false} {
		for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
			t.Run(fmt.Sprint("once=", once, "/sync=", s), func(t *testing.T) {
				t.Parallel()
				hits, step := 0, int64(3)
				if s != disk.SyncAlways {
					step = 1 // It writes less often.
				}
				for i := int64(1); boxFault(t, once, s, i); i += step {
					hits++
				}
				t.Log(hits, "writes failed")
				if hits < 3 {
					t.Error("too few writes")
				}
			})
		}
	}
}

// boxFault makes write i of the disk fail, counted from before the collection is made,
// and reports whether there were that many writes.
func boxFault(t *testing.T, once bool, s disk.Sync, i int64) (hit bool) {
	d := &badDisk{MemFS: vfs.NewCrashableMem(), once: once}
	st, err := Open(t.Context(), d.options(s))
	if err != nil {
		t.Fatal(err)
	}
	d.breakAt(i)
	do := func(f func() error) error { return d.until(t, once, f) }
	recover := func() {
		if d.since.Load() > 0 {
			d.repair()
			waitHealthy(st)
		}
	}
	var c *Boxes
	for c == nil {
		if err := do(func() (err error) { c, err = createBoxes(st, "boxes"); return err }); err != nil {
			recover()
		}
	}
	m, r := multiset{}, rand.New(rand.NewPCG(1, 2))
	bulk := []rstar.Item{{ID: 1}, {ID: 1}, {ID: 2}}
	if err := do(func() error { return c.Load(bulk) }); err == nil {
		m.add(bulk...)
	}
	m.verify(t, c, fmt.Sprintf("fault at %d, loaded", i))
	recover()
	for n := range 24 {
		what := fmt.Sprintf("fault at %d, write %d", i, n)
		_ = do(func() error { return boxStep(t, c, m, r) })
		m.verify(t, c, what)
		recover()
		if st.revision != st.db.Revision() {
			t.Fatalf("%s: revision %d in memory, %d in the log", what, st.revision, st.db.Revision())
		}
	}
	hit = d.since.Load() > 0
	if s == disk.SyncAlways {
		m.reopened(t, d.CrashClone(vfs.CrashCloneCfg{}), fmt.Sprintf("fault at %d, after a crash", i))
	}
	if err := st.Close(); err != nil {
		if s == disk.SyncAlways || !errors.Is(err, disk.ErrReadOnly) {
			t.Fatal(err)
		}
		return hit // Close has reported a loss.
	}
	m.reopened(t, d.MemFS, fmt.Sprintf("fault at %d, opened again", i))
	return hit
}

// until calls f, and repairs a disk that f may wait for. It returns a definite refusal.
func (d *badDisk) until(t *testing.T, once bool, f func() error) error {
	t.Helper()
	verdict := make(chan error, 1)
	go func() { verdict <- f() }()
	for {
		select {
		case err := <-verdict:
			if err != nil && !errors.Is(err, disk.ErrReadOnly) {
				t.Fatalf("fault at %d: %v", d.from.Load(), err)
			}
			return err
		default:
			if !once && d.since.Load() > 40 {
				d.repair()
			}
			runtime.Gosched()
		}
	}
}

// breakAt makes writes fail from write i from now on.
func (d *badDisk) breakAt(i int64) { d.from.Store(d.n.Load() + i) }

// reopened compares what another store finds on a disk.
func (m multiset) reopened(t *testing.T, fs *vfs.MemFS, what string) {
	t.Helper()
	st, err := Open(t.Context(), (&badDisk{MemFS: fs}).options(disk.SyncAlways))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if all := keptBoxes(st); len(all) != 1 {
		t.Fatalf("%s: %d collections", what, len(all))
	}
	m.verify(t, keptBoxes(st)[0], what)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBoxesUndo: a write that is in the log and cannot be published is taken back
// there, whatever writes follow it in the batch.
func TestBoxesUndo(t *testing.T) {
	d := &badDisk{MemFS: vfs.NewMem()}
	st, err := Open(t.Context(), d.options(disk.SyncAlways))
	if err != nil {
		t.Fatal(err)
	}
	c := boxes(t, st)
	m := multiset{}
	at := func(id uint64) rstar.Item { return rstar.Item{ID: id} }
	for _, id := range []uint64{1, 2, 2, 3} {
		if err := c.Insert(rstar.Rect{}, id); err != nil {
			t.Fatal(err)
		}
		m.add(at(id))
	}
	// The test takes boxes out of the tree without the store, after they were
	// counted: as if the tree had refused.
	var first, second boxWrite
	errs := map[string]error{}
	if err := st.runAlone(func() error {
		first = boxWrite{c: c, out: []rstar.Item{at(3)}}
		second = boxWrite{c: c, in: []rstar.Item{at(3), at(2)}}
		st.numbered = st.revision
		var ws []*write
		var entries []disk.Entry
		clear(st.queue.pendingBoxes)
		for _, b := range []*boxWrite{&first, &second} {
			w := &write{box: b}
			if err := st.prepare(w, true); err != nil {
				return err
			}
			entries = w.appendEntries(entries)
			ws = append(ws, w)
		}
		if err := st.commit(entries); err != nil {
			return err
		}
		if _, err := c.tree.Delete(rstar.Rect{}, 3); err != nil {
			return err
		}
		for i, w := range ws {
			w.err = st.publish(w)
			errs[fmt.Sprint(i)] = w.err
		}
		return errors.Join(nilIf(st.undo(ws[0]), ErrCorrupt))
	}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(errs["0"], ErrCorrupt) || errs["1"] != nil {
		t.Fatal(errs)
	}
	m.add(at(2)) // 3 was taken out, and put in again.
	m.verify(t, c, "undone")
	if want := (map[rstar.Item]uint64{at(2): 2}); !maps.Equal(c.more, want) {
		t.Errorf("more %v, want %v", c.more, want)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	m.reopened(t, d.MemFS, "opened again")
}

func nilIf(err, is error) error {
	if errors.Is(err, is) {
		return nil
	}
	return err
}
