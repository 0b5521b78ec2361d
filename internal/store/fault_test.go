package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// The disk fails below a store. Each write must have a definite answer, memory and
// log must agree, and reads must continue.

// badDisk is a disk in memory, whose writes fail: from a certain write on, until
// the disk is repaired, or only that one.
type badDisk struct {
	*vfs.MemFS
	once  bool
	only  func(errorfs.Op) bool // nil: any write
	from  atomic.Int64          // 0: none
	n     atomic.Int64
	since atomic.Int64                         // the number that have failed
	after func(time.Duration) <-chan time.Time // nil: soon
}

func (d *badDisk) String() string { return "bad disk" }

func (d *badDisk) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || d.only != nil && !d.only(op) {
		return nil
	}
	n, from := d.n.Add(1), d.from.Load()
	if from == 0 || n < from || d.once && n > from {
		return nil
	}
	d.since.Add(1)
	return errorfs.ErrInjected
}

func (d *badDisk) repair() { d.from.Store(0) }

// breaks from now on.
func (d *badDisk) breaks() { d.from.Store(d.n.Load() + 1) }

// renewing creates files that Pebble would recycle, so that this fails, too.
type renewing struct{ vfs.FS }

func (fs renewing) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.Remove(from); err != nil {
		return nil, err
	}
	return fs.Create(to, c)
}

// options of a store on the disk.
func (d *badDisk) options(s disk.Sync) Options {
	return Options{
		Dir: "data", Sync: s, SlabBytes: 64 << 20,
		disk: func(dir string, o disk.Options) (*disk.DB, error) {
			o.FS, o.After = renewing{errorfs.Wrap(d.MemFS, d)}, soon
			if d.after != nil {
				o.After = d.after
			}
			return disk.Open(dir, o)
		},
	}
}

// soon is a clock on which every wait ends at once.
func soon(time.Duration) <-chan time.Time {
	runtime.Gosched()
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

func waitHealthy(st *Store) {
	for st.db.Healthy() != nil {
		runtime.Gosched()
	}
}

// holding is what a collection must hold.
type holding map[string]Feature

func (h holding) verify(t *testing.T, c *Collection, what string) {
	t.Helper()
	ctx := t.Context()
	ids, boxed := []string{}, 0
	for id, want := range h {
		ids = append(ids, id)
		if want.Geometry != nil {
			boxed++
		}
		got, err := c.Get(ctx, id)
		if err != nil || !sameFeature(got, want) {
			t.Fatalf("%s: %+v, %v, want %+v", what, got, err, want)
		}
	}
	slices.Sort(ids)
	var found []string
	if err := c.Search(ctx, Query{Order: query.ByID}, func(f *Found) (bool, error) {
		found = append(found, string(f.ID))
		return true, nil
	}); err != nil || !slices.Equal(found, ids) {
		t.Fatalf("%s: by id %q, %v, want %q", what, found, err, ids)
	}
	n := 0
	if err := c.Search(ctx, Query{Area: query.Box(-180, -90, 180, 90)}, func(f *Found) (bool, error) {
		if want := h[string(f.ID)]; !sameFeature(f.Feature(), want) {
			t.Errorf("%s: %+v, want %+v", what, f.Feature(), want)
		}
		n++
		return true, nil
	}); err != nil || n != boxed || c.Len() != len(h) {
		t.Fatalf("%s: %d by area, %d in all, %v, want %d of %d", what, n, c.Len(), err, boxed, len(h))
	}
}

func sameFeature(a, b Feature) bool {
	return a.ID == b.ID && a.Revision == b.Revision && string(a.Properties) == string(b.Properties) &&
		(a.Geometry == nil) == (b.Geometry == nil) && (a.Geometry == nil || orb.Equal(a.Geometry, b.Geometry))
}

// faultWrite does one of the writes, and notes it if it was acknowledged.
func faultWrite(ctx context.Context, c *Collection, h holding, r *rand.Rand, id string) (err error) {
	old, had := h[id]
	properties := fmt.Appendf(nil, `{"n":%d,"pad":%q}`, r.IntN(1000), strings.Repeat("x", 3000)) // so that blocks of the log fill up
	switch n := r.IntN(6); {
	case had && n == 0:
		if _, err = c.Delete(ctx, id, kv.Condition{IfRevision: old.Revision}); err == nil {
			delete(h, id)
		}
	case had && n == 1:
		f := old
		f.Properties = properties
		if f.Revision, err = c.Patch(ctx, id, f.Properties, kv.Condition{}); err == nil {
			h[id] = f
		}
	default:
		f := Feature{ID: id, Properties: properties}
		if n > 2 {
			f.Geometry = orb.Point{r.Float64()*360 - 180, r.Float64()*180 - 90}
		}
		if _, f.Revision, err = c.Put(ctx, f, kv.Condition{IfAbsent: !had}); err == nil {
			h[id] = f
		}
	}
	return err
}

// reopened compares what another store finds on the disk.
func (d *badDisk) reopened(t *testing.T, fs *vfs.MemFS, h holding, what string) {
	t.Helper()
	st, err := Open(t.Context(), (&badDisk{MemFS: fs}).options(disk.SyncAlways))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	c, err := st.Collection("places")
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	h.verify(t, c, what)
	if err := c.Tree().Check(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStoreEachWriteFails: whichever write to the disk fails, once or for a while.
func TestStoreEachWriteFails(t *testing.T) {
	for _, once := range []bool{true, false} {
		for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
			t.Run(fmt.Sprint("once=", once, "/sync=", s), func(t *testing.T) {
				t.Parallel()
				// That each may fail is shown in package disk.
				hits, step := 0, int64(4)
				if s != disk.SyncAlways {
					step = 1 // It writes less often.
				}
				for i := int64(1); ; i += step {
					hit := oneFault(t, once, s, i)
					if !hit {
						break
					}
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

// oneFault makes write i after the collection was made fail, and reports whether there
// were that many writes.
func oneFault(t *testing.T, once bool, s disk.Sync, i int64) (hit bool) {
	d := &badDisk{MemFS: vfs.NewCrashableMem(), once: once}
	st, err := Open(t.Context(), d.options(s))
	if err != nil {
		t.Fatal(err)
	}
	c := create(t, st, CollectionOptions{})
	d.from.Store(d.n.Load() + i)
	h, r := holding{}, rand.New(rand.NewPCG(1, 2))
	for n := range 24 {
		what := fmt.Sprintf("fault at %d, write %d", i, n)
		verdict, done := make(chan error, 1), false
		go func() { verdict <- faultWrite(t.Context(), c, h, r, fmt.Sprint("place ", r.IntN(8))) }()
		for !done {
			select {
			case err = <-verdict:
				done = true
			default:
				// The write may wait for the end of a fault that lasts.
				if !once && d.since.Load() > 40 {
					d.repair()
				}
				runtime.Gosched()
			}
		}
		if err != nil && !errors.Is(err, disk.ErrReadOnly) {
			t.Fatalf("%s: %v", what, err)
		}
		h.verify(t, c, what)
		if d.since.Load() > 0 {
			d.repair()
			waitHealthy(st)
			h.verify(t, c, what+", recovered")
			if st.revision != st.db.Revision() {
				t.Fatalf("%s: revision %d in memory, %d in the log", what, st.revision, st.db.Revision())
			}
		}
	}
	hit = d.since.Load() > 0
	if s == disk.SyncAlways {
		d.reopened(t, d.CrashClone(vfs.CrashCloneCfg{}), h, fmt.Sprintf("fault at %d, after a crash", i))
	}
	if err := st.Close(); err != nil {
		if s == disk.SyncAlways || !errors.Is(err, disk.ErrReadOnly) {
			t.Fatal(err)
		}
		return hit // Close has reported a loss.
	}
	d.reopened(t, d.MemFS, h, fmt.Sprintf("fault at %d, opened again", i))
	return hit
}

// TestStoreFaultsUnderLoad: several goroutines write and read while the disk fails and
// recovers, over and over.
func TestStoreFaultsUnderLoad(t *testing.T) {
	tick := make(chan time.Time)
	d := &badDisk{MemFS: vfs.NewCrashableMem(), after: func(time.Duration) <-chan time.Time { return tick }}
	st, err := Open(t.Context(), d.options(disk.SyncAlways))
	if err != nil {
		t.Fatal(err)
	}
	c := create(t, st, CollectionOptions{})
	const writers, faults = 6, 6
	var over atomic.Bool
	var done, refused [writers]atomic.Int64
	var all sync.WaitGroup
	own := make([]holding, writers)
	for w := range writers {
		own[w] = holding{}
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 9))
			for !over.Load() {
				id := fmt.Sprintf("%d of %d", r.IntN(5), w)
				switch err := faultWrite(t.Context(), c, own[w], r, id); {
				case err == nil:
					done[w].Add(1)
				case errors.Is(err, disk.ErrReadOnly):
					refused[w].Add(1)
				default:
					t.Errorf("%q: %v", id, err)
					return
				}
				want, has := own[w][id]
				got, err := c.Get(t.Context(), id)
				if has && (err != nil || !sameFeature(got, want)) || !has && !errors.Is(err, kv.ErrNotFound) {
					t.Errorf("%q: %+v, %v, want %+v", id, got, err, want)
					return
				}
			}
		})
	}
	// each waits until every writer has counted n more, or one has failed.
	each := func(counts *[writers]atomic.Int64, n int64) {
		for w := range counts {
			for to := counts[w].Load() + n; counts[w].Load() < to && !t.Failed(); {
				runtime.Gosched()
			}
		}
	}
	for range faults {
		each(&done, 5)
		d.breaks()
		before := refused[0].Load()
		for refused[0].Load() == before && st.db.Healthy() == nil && !t.Failed() {
			runtime.Gosched()
		}
		d.repair()
		for st.db.Healthy() != nil {
			select {
			case tick <- time.Time{}: // Another attempt.
			default:
				runtime.Gosched()
			}
		}
	}
	each(&done, 5)
	over.Store(true)
	all.Wait()
	h := holding{}
	n := int64(0)
	for w := range own {
		for id, f := range own[w] {
			h[id] = f
		}
		n += refused[w].Load()
	}
	h.verify(t, c, "in the end")
	d.reopened(t, d.CrashClone(vfs.CrashCloneCfg{}), h, "after a crash")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	d.reopened(t, d.MemFS, h, "opened again")
	t.Log(n, "writes refused")
	if n < faults {
		t.Error("too few writes were refused")
	}
}

// TestStoreInDoubt: a log file takes a write, and its sync fails, so that the write may
// or may not be on disk. That write waits, others are refused, reads continue.
func TestStoreInDoubt(t *testing.T) {
	d := &badDisk{MemFS: vfs.NewMem(), only: func(op errorfs.Op) bool {
		isLog := strings.HasSuffix(op.Path, ".log")
		return !isLog || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	}}
	st, err := Open(t.Context(), d.options(disk.SyncAlways))
	if err != nil {
		t.Fatal(err)
	}
	c := create(t, st, CollectionOptions{})
	put := func(id string) (Feature, error) {
		f := Feature{ID: id, Geometry: orb.Point{1, 2}}
		_, rev, err := c.Put(t.Context(), f, kv.Condition{})
		f.Revision = rev
		return f, err
	}
	a, err := put("a")
	if err != nil {
		t.Fatal(err)
	}
	h := holding{"a": a}
	d.breaks()
	type result struct {
		f   Feature
		err error
	}
	first := make(chan result, 1)
	go func() {
		f, err := put("b")
		first <- result{f, err}
	}()
	for st.db.Healthy() == nil {
		runtime.Gosched()
	}
	for range 5 {
		if _, err := put("c"); !errors.Is(err, disk.ErrReadOnly) {
			t.Fatalf("beside a write in doubt: %v", err)
		}
		h.verify(t, c, "in doubt")
	}
	select {
	case r := <-first:
		t.Fatalf("an answer, but nobody knows: %+v", r)
	default:
	}
	if s := st.Stats(); s.Writes["read_only"] != 5 || s.Writes["put"] != 1 || s.Disk.ReadOnly == "" || s.Disk.Recoveries != 0 {
		t.Errorf("in doubt: %+v, %+v", s, s.Disk)
	}
	d.repair()
	r := <-first
	if r.err != nil {
		t.Fatal(r.err)
	}
	h["b"] = r.f
	waitHealthy(st)
	if s := st.Stats(); s.Writes["put"] != 2 || s.Disk.ReadOnly != "" || s.Disk.Recoveries != 1 {
		t.Errorf("recovered: %+v, %+v", s, s.Disk)
	}
	f, err := put("c")
	if err != nil {
		t.Fatal(err)
	}
	h["c"] = f
	h.verify(t, c, "recovered")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	d.reopened(t, d.MemFS, h, "opened again")
}
