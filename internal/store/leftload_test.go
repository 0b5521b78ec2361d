package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// deposing is a group in which this member is the primary for some batches.
type deposing struct {
	*recorder
	left int
}

func (g *deposing) Propose(entries []disk.Entry) error {
	if g.left--; g.left < 0 {
		return fault.ErrNotPrimary
	}
	return g.recorder.Propose(entries)
}

// loadsOf returns how many collections the log has that are being loaded.
func loadsOf(t *testing.T, st *Store) (n int) {
	t.Helper()
	all, err := st.db.Collections()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if string(m.Metadata) == string(metadata{Kind: boxesKind, Loading: true}.encode()) {
			n++
		}
	}
	if n != len(st.loads) {
		t.Errorf("%d loads in the log, %v in memory", n, st.loads)
	}
	return n
}

func numberedBoxes(n int) []rstar.Item {
	items := make([]rstar.Item, n)
	for i := range items {
		items[i] = rstar.Item{ID: uint64(i), Rect: rstar.Rect{MaxX: 1, MaxY: 1}}
	}
	return items
}

// A bulk load whose member is deposed in the middle, at any batch, fails, and the next
// primary drops what it has left: also one that was restarted, or has copied the store.
func TestLeftLoadIsDropped(t *testing.T) {
	const batches = 3
	items := numberedBoxes((batches-1)*loadAtOnce + 5)
	for at := range batches + 1 { // the creation, and then the boxes
		dir := t.TempDir()
		log := leading()
		old, next := member(t, t.TempDir()), member(t, dir)
		old.Replicate(log)
		c := boxes(t, old)
		old.Replicate(&deposing{log, at})
		if err := c.Load(items); !errors.Is(err, fault.ErrNotPrimary) {
			t.Fatalf("deposed at %d: %v", at, err)
		}
		if c.Tree().Len() != 0 {
			t.Errorf("deposed at %d: %d boxes", at, c.Tree().Len())
		}
		if err := next.Apply(log.all); err != nil {
			t.Fatal(err)
		}
		want := min(at, 1)
		if n := loadsOf(t, next); n != want {
			t.Errorf("deposed at %d: %d loads at the next primary, want %d", at, n, want)
		}
		if at%2 == 0 {
			if err := next.Close(); err != nil {
				t.Fatal(err)
			}
			next = member(t, dir)
		}
		if err := next.DropLeftLoads(); want > 0 && !errors.Is(err, fault.ErrNotPrimary) {
			t.Errorf("a member that is not the primary has dropped: %v", err)
		}
		log.all = nil
		next.Replicate(log)
		for range 2 {
			if err := next.DropLeftLoads(); err != nil {
				t.Fatal(err)
			}
		}
		if len(log.all) != want || loadsOf(t, next) != 0 {
			t.Errorf("deposed at %d: %d entries, want %d, %d loads are left", at, len(log.all), want, loadsOf(t, next))
		}
		// The old primary follows, and may load as the primary once more.
		if err := old.Apply(log.all); err != nil {
			t.Fatal(err)
		}
		old.Replicate(log)
		if err := old.DropLeftLoads(); err != nil || loadsOf(t, old) != 0 {
			t.Error(err)
		}
		if err := c.Load(items[:10]); err != nil {
			t.Fatal(err)
		}
		if err := next.Apply(log.all); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(contents(t, old), contents(t, next)) || next.All()[0].Tree.Len() != 10 || loadsOf(t, next) != 0 {
			t.Errorf("deposed at %d: %d boxes", at, next.All()[0].Tree.Len())
		}
	}
}

// A load that another primary has dropped writes nothing more when its member is the
// primary again, and a load in progress is not dropped by its own member.
func TestDroppedLoadWritesNothing(t *testing.T) {
	for _, atEnd := range []bool{false, true} {
		log := leading()
		st := member(t, t.TempDir())
		st.Replicate(log)
		c := boxes(t, st)
		items, num := numberedBoxes(10), st.newNumber()
		if err := c.beginLoad(num); err != nil {
			t.Fatal(err)
		}
		if err := st.DropLeftLoads(); err != nil || loadsOf(t, st) != 1 {
			t.Fatalf("a load in progress: %v, %d", err, loadsOf(t, st))
		}
		if atEnd {
			if _, err := c.writeAll(num, items); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Apply([]disk.Entry{{Kind: disk.Drop, Collection: num, Revision: st.Revision() + 1}}); err != nil {
			t.Fatal(err)
		}
		log.all = nil
		var err error
		if atEnd {
			err = st.runAlone(func() error { return c.become(num, items, nil) })
		} else {
			_, err = c.writeAll(num, items)
		}
		if !errors.Is(err, fault.ErrNotPrimary) || len(log.all) != 0 {
			t.Errorf("%v, %d entries", err, len(log.all))
		}
		if err := st.dropLoad(num); err != nil || len(log.all) != 0 {
			t.Errorf("%v, %d entries", err, len(log.all))
		}
		m, r := multiset{}, rand.New(rand.NewPCG(1, 1))
		for range 20 {
			if err := boxStep(t, c, m, r); err != nil {
				t.Fatal(err)
			}
		}
		m.verify(t, c, "afterwards")
	}
}
