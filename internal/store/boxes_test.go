package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// multiset is what a collection of boxes must hold.
type multiset map[rstar.Item]int

func (m multiset) add(items ...rstar.Item) {
	for _, it := range items {
		m[it]++
	}
}

func (m multiset) remove(it rstar.Item) bool {
	if m[it] == 0 {
		return false
	}
	if m[it]--; m[it] == 0 {
		delete(m, it)
	}
	return true
}

var allBoxes = rstar.Rect{MinX: -math.MaxFloat64, MinY: -math.MaxFloat64, MaxX: math.MaxFloat64, MaxY: math.MaxFloat64}

func boxesIn(c *Boxes) multiset {
	m := multiset{}
	m.add(c.Tree().SearchAppend(nil, allBoxes, math.MaxInt)...)
	return m
}

func (m multiset) verify(t *testing.T, c *Boxes, what string) {
	t.Helper()
	if got := boxesIn(c); !maps.Equal(got, m) {
		t.Fatalf("%s: %d boxes, want %d:\n%v\n%v", what, c.Tree().Len(), len(m), got, m)
	}
	if err := c.Tree().Check(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func boxes(t testing.TB, st *Store) *Boxes {
	t.Helper()
	c, err := createBoxes(st, "boxes")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// createBoxes creates kept ones.
func createBoxes(st *Store, name string) (*Boxes, error) {
	e, err := st.Create(name, Spec{Kind: KindBoxes, Keep: true})
	if err != nil {
		return nil, err
	}
	return e.Boxes, nil
}

func keptBoxes(st *Store) (all []*Boxes) {
	for _, e := range st.All() {
		if e.Boxes != nil {
			all = append(all, e.Boxes)
		}
	}
	return all
}

// someBox is one of few, so that there are equal ones, some of them by 0 and -0.
func someBox(r *rand.Rand) rstar.Item {
	x, y := float64(r.IntN(5)), []float64{0, math.Copysign(0, -1), 1}[r.IntN(3)]
	return rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + float64(r.IntN(2)), MaxY: y}, ID: uint64(r.IntN(4)) << 60}
}

// boxStep makes a write, and notes it if it was acknowledged.
func boxStep(t *testing.T, c *Boxes, m multiset, r *rand.Rand) error {
	t.Helper()
	a, b := someBox(r), someBox(r)
	switch r.IntN(5) {
	case 0:
		ok, err := c.Delete(a.Rect, a.ID)
		if err != nil {
			return err
		}
		if had := m.remove(a); ok != had {
			t.Errorf("delete %v: %t, want %t", a, ok, had)
		}
	case 1:
		ok, err := c.Update(a.Rect, b.Rect, a.ID)
		if err != nil {
			return err
		}
		had := m.remove(a)
		if had {
			m.add(rstar.Item{Rect: b.Rect, ID: a.ID})
		}
		if ok != had {
			t.Errorf("update %v: %t, want %t", a, ok, had)
		}
	case 2:
		items := []rstar.Item{a, b, a}
		n, err := c.InsertMany(items)
		if err != nil {
			if n != 0 {
				t.Errorf("insert many: %d, %v", n, err)
			}
			return err
		}
		m.add(items...)
	default:
		if err := c.Insert(a.Rect, a.ID); err != nil {
			return err
		}
		m.add(a)
	}
	return nil
}

// TestBoxes: random writes, with equal boxes, survive each restart.
func TestBoxes(t *testing.T) {
	for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
		t.Run(fmt.Sprint("sync=", s), func(t *testing.T) {
			o := Options{Dir: t.TempDir(), Sync: s, SlabBytes: 64 << 20}
			m, r := multiset{}, rand.New(rand.NewPCG(18, 4))
			revision := uint64(0)
			for life := range 4 {
				st, err := Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				c := boxes(t, st)
				m.verify(t, c, fmt.Sprint("life ", life))
				if st.revision < revision {
					t.Errorf("revision %d after %d", st.revision, revision)
				}
				for range 200 {
					if err := boxStep(t, c, m, r); err != nil {
						t.Fatal(err)
					}
				}
				m.verify(t, c, fmt.Sprint("end of life ", life))
				revision = st.revision
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
				if err := c.Insert(rstar.Rect{}, 1); !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			}
			if rep, err := disk.Check(o.Dir); err != nil || rep.Keys != uint64(len(m)) {
				t.Errorf("%d keys, %v, want %d", rep.Keys, err, len(m))
			}
		})
	}
}

// TestBoxesTogether: several goroutines write at the same time, also equal boxes,
// beside features and a watcher of those.
func TestBoxesTogether(t *testing.T) {
	var says bytes.Buffer
	o := Options{
		Dir: t.TempDir(), SlabBytes: 64 << 20,
		Logger: slog.New(slog.NewTextHandler(&says, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	st := open(t, o)
	c, f := boxes(t, st), create(t, st, CollectionOptions{})
	w, err := f.Watch(t.Context(), WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Add("all", Query{Area: query.Box(-180, -90, 180, 90)}); err != nil {
		t.Fatal(err)
	}
	alike := rstar.Item{Rect: rstar.Rect{MaxX: 1}, ID: 7}
	want := multiset{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			own := multiset{}
			for range 40 {
				it := someBox(r)
				it.ID += uint64(i) + 100 // its own
				if _, err := c.InsertMany([]rstar.Item{it, alike}); err != nil {
					t.Error(err)
				}
				own.add(it)
				if r.IntN(3) == 0 {
					if ok, err := c.Delete(alike.Rect, alike.ID); !ok || err != nil {
						t.Error(ok, err) // This goroutine has added one.
					}
					own[alike]--
				}
				own[alike]++
			}
			mu.Lock()
			defer mu.Unlock()
			for it, n := range own {
				want[it] += n
			}
		})
	}
	all.Go(func() {
		for i := range 20 {
			put(t, f, Feature{ID: fmt.Sprint("place ", i), Geometry: orb.Point{1, 2}})
		}
	})
	all.Wait()
	want.verify(t, c, "written")
	for range 20 {
		if e, err := w.Next(t.Context()); err != nil || e.Kind != query.Enter {
			t.Fatal(e, err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if says.Len() > 0 { // such as that changes of boxes cannot be collected for watchers
		t.Error(says.String())
	}
	again := open(t, o)
	want.verify(t, boxes(t, again), "restarted")
}

// TestBoxesBatch: a batch does not need room for all its writes at once.
func TestBoxesBatch(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 4 << 20})
	c := boxes(t, st)
	const n, together = 16, 256
	if c.tree.RoomFor(n*together) == nil || c.tree.RoomFor(maxBatch) != nil {
		t.Fatal("the slab is too large, or too small, to say anything")
	}
	errs := make(chan error, n)
	if err := st.runAlone(func() error {
		for range n {
			c.InsertLater(make([]rstar.Item, together), func(_ int, err error) { errs <- err })
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	multiset{{}: n * together}.verify(t, c, "inserted")
}

// TestBoxesLoad: a bulk load survives a restart, with equal boxes, and
// does nothing to a collection that has some.
func TestBoxesLoad(t *testing.T) {
	o := Options{Dir: t.TempDir(), SlabBytes: 64 << 20}
	st := open(t, o)
	c := boxes(t, st)
	r := rand.New(rand.NewPCG(3, 3))
	items, want := make([]rstar.Item, loadAtOnce+5000), multiset{}
	for i := range items {
		x := float64(r.IntN(1000))
		items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MaxX: x + 1, MinY: x, MaxY: x}, ID: uint64(r.IntN(100))}
	}
	want.add(items...)
	before := slices.Clone(items)
	bad := append(slices.Clone(items[:10]), rstar.Item{Rect: rstar.Rect{MinX: math.NaN()}})
	if err := c.Load(bad); !errors.Is(err, rstar.ErrBadRect) {
		t.Fatal(err)
	}
	if err := c.Load(nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Load(make([]rstar.Item, c.Tree().LoadRoom()+1)); !errors.Is(err, rstar.ErrSlabFull) {
		t.Fatal(err)
	}
	multiset{}.verify(t, c, "nothing loaded")
	if err := c.Load(items); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(items, before) {
		t.Error("the items were changed")
	}
	want.verify(t, c, "loaded")
	if err := c.Load(items); !errors.Is(err, rstar.ErrNotEmpty) {
		t.Fatal(err)
	}
	for it, n := range want {
		if n < 2 {
			continue // Boxes with several copies are counted.
		}
		if ok, err := c.Delete(it.Rect, it.ID); !ok || err != nil || !want.remove(it) {
			t.Fatal(ok, err)
		}
		break
	}
	if err := c.Insert(rstar.Rect{}, 1000); err != nil {
		t.Fatal(err)
	}
	want.add(rstar.Item{ID: 1000})
	want.verify(t, c, "written after")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if rep, err := disk.Check(o.Dir); err != nil || len(rep.Collections) != 1 || rep.Keys != uint64(len(want)) || rep.Format != boxesFormat {
		t.Fatal(rep, err)
	}
	st = open(t, o)
	want.verify(t, boxes(t, st), "restarted")
	if s := boxes(t, st).Tree().Stats(); s.Nodes[0] > len(items)/20 {
		t.Errorf("%d leaves: not packed", s.Nodes[0])
	}
}

// TestBoxesUnfinishedLoad: a load that did not end is dropped at a restart, and one
// that meets a write gives way.
func TestBoxesUnfinishedLoad(t *testing.T) {
	o := Options{Dir: t.TempDir(), SlabBytes: 64 << 20}
	st := open(t, o)
	c := boxes(t, st)
	items := []rstar.Item{{ID: 1}, {ID: 2}, {ID: 2}}
	num := st.newNumber()
	if err := c.beginLoad(num); err != nil {
		t.Fatal(err)
	}
	more, err := c.writeAll(num, items)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Insert(rstar.Rect{}, 5); err != nil {
		t.Fatal(err)
	}
	if err := st.runAlone(func() error { return c.become(num, items, more) }); !errors.Is(err, rstar.ErrNotEmpty) {
		t.Fatal(err)
	}
	want := multiset{{ID: 5}: 1}
	want.verify(t, c, "not loaded")
	if err := st.Close(); err != nil { // so that it is left on disk
		t.Fatal(err)
	}
	st = open(t, o)
	want.verify(t, boxes(t, st), "restarted")
	if all, err := st.db.Collections(); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
}

// TestBoxesNames: a name is of one kind, is free again after a drop, and no boxes are
// kept without a data directory.
func TestBoxesNames(t *testing.T) {
	o := Options{Dir: t.TempDir(), SlabBytes: 64 << 20}
	st := open(t, o)
	c := boxes(t, st)
	if again := boxes(t, st); again != c {
		t.Error("made twice")
	}
	if _, err := st.CreateFeatures("boxes", CollectionOptions{}); !errors.Is(err, fault.ErrKind) {
		t.Error(err)
	}
	create(t, st, CollectionOptions{})
	if _, err := createBoxes(st, "places"); !errors.Is(err, fault.ErrKind) {
		t.Error(err)
	}
	if _, err := createBoxes(st, ""); !errors.Is(err, ErrName) {
		t.Error(err)
	}
	if err := c.Insert(rstar.Rect{}, 1); err != nil {
		t.Fatal(err)
	}
	if ok, err := st.Drop("boxes"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if ok, err := st.Drop("boxes"); ok || err != nil {
		t.Fatal("dropped twice", err)
	}
	for what, err := range map[string]error{"insert": c.Insert(rstar.Rect{}, 1), "load": c.Load([]rstar.Item{{}})} {
		if !errors.Is(err, ErrUnknownCollection) {
			t.Errorf("%s after the drop: %v", what, err)
		}
	}
	multiset{}.verify(t, boxes(t, st), "made again")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, o)
	if len(keptBoxes(st)) != 1 || len(st.Collections()) != 1 {
		t.Error(len(keptBoxes(st)), len(st.Collections()))
	}
	multiset{}.verify(t, boxes(t, st), "made again, restarted")
	if _, err := createBoxes(open(t, Options{}), "boxes"); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
}

// TestBoxesFull: a write without room is refused whole, and deletes make room.
func TestBoxesFull(t *testing.T) {
	o := Options{Dir: t.TempDir(), SlabBytes: 1 << 20, Sync: disk.SyncOff}
	st := open(t, o)
	c := boxes(t, st)
	m := multiset{}
	var err error
	for i := uint64(0); err == nil; i += 8 {
		var items []rstar.Item
		for j := range uint64(8) {
			x := float64((i + j) * 7919 % 1000)
			items = append(items, rstar.Item{Rect: rstar.Rect{MinX: x, MaxX: x, MinY: float64(i), MaxY: float64(i)}, ID: i + j})
		}
		var n int
		if n, err = c.InsertMany(items); err == nil {
			m.add(items...)
		} else if n != 0 {
			t.Fatal(n, err)
		}
	}
	if !errors.Is(err, rstar.ErrSlabFull) || len(m) < 1000 {
		t.Fatal(len(m), err)
	}
	m.verify(t, c, "full")
	some := slices.SortedFunc(maps.Keys(m), func(a, b rstar.Item) int { return cmp.Compare(a.ID, b.ID) })
	for _, it := range some[:len(some)/2] {
		if ok, err := c.Delete(it.Rect, it.ID); !ok || err != nil || !m.remove(it) {
			t.Fatal(ok, err)
		}
	}
	if err := c.Insert(rstar.Rect{}, 1<<40); err != nil {
		t.Fatal(err)
	}
	m.add(rstar.Item{ID: 1 << 40})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	m.verify(t, boxes(t, open(t, o)), "restarted")
}

// TestParseBox: no other bytes than those that are written are accepted.
func TestParseBox(t *testing.T) {
	it := rstar.Item{Rect: rstar.Rect{MinX: -1, MinY: 2, MaxX: 3, MaxY: 4}, ID: 1 << 63}
	key, value := appendBoxKey(nil, it), []byte{2, 0, 0, 0, 0, 0, 0, 0}
	if got, n, err := parseBox(key, value); got != it || n != 2 || err != nil {
		t.Fatal(got, n, err)
	}
	nan := appendBoxKey(nil, rstar.Item{Rect: rstar.Rect{MinX: math.NaN()}})
	for _, c := range [][2][]byte{{key[1:], value}, {key, value[1:]}, {key, make([]byte, 8)}, {nan, value}, {append(key, 0), value}} {
		if _, _, err := parseBox(c[0], c[1]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x, %x: %v", c[0], c[1], err)
		}
	}
}

// TestBoxesCorrupt: a false count takes no memory.
func TestBoxesCorrupt(t *testing.T) {
	for what, c := range map[string]struct {
		n    uint64
		meta string
		want error
	}{
		"count": {1 << 62, `{"kind":"boxes"}`, rstar.ErrSlabFull}, "zero": {0, `{"kind":"boxes"}`, ErrCorrupt},
		"kind": {1, `{"kind":"spheres"}`, ErrCorrupt}, "metadata": {1, `[]`, ErrCorrupt},
	} {
		dir := t.TempDir()
		db, err := disk.Open(dir, disk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		entries := []disk.Entry{{Collection: 1, Kind: disk.Create, Key: []byte("boxes"), Value: []byte(c.meta), Revision: 1}}
		entries = appendBoxEntries(entries, 1, []boxCount{{rstar.Item{ID: 1}, 1}, {rstar.Item{ID: 2}, 1}}, 2, false)
		for i := range entries[1].Value {
			entries[1].Value[i] = byte(c.n >> (8 * i))
		}
		if err := errors.Join(db.Commit(entries), db.Close()); err != nil {
			t.Fatal(err)
		}
		if st, err := Open(t.Context(), Options{Dir: dir, SlabBytes: 64 << 20}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				st.Close()
			}
		}
	}
}
