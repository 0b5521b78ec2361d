package store

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// doubtful is a disk whose log files take writes, and fail to sync them: a write may or
// may not be on disk.
func doubtful() *badDisk {
	return &badDisk{MemFS: vfs.NewCrashableMem(), only: func(op errorfs.Op) bool {
		isLog := strings.HasSuffix(op.Path, ".log")
		return !isLog || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	}}
}

// TestNamesInDoubt: while a create, drop or swap waits for a failed disk, names lead
// where they did, others that would change them are refused, and Close does not wait:
// when the store is opened again, the collections are as before or as was asked for.
func TestNamesInDoubt(t *testing.T) {
	changes := map[string]func(st *Store) error{
		"create":       func(st *Store) error { _, err := st.CreateFeatures("new", CollectionOptions{}); return err },
		"create boxes": func(st *Store) error { _, err := createBoxes(st, "new"); return err },
		"drop":         func(st *Store) error { _, err := st.Drop("b"); return err },
		"drop boxes":   func(st *Store) error { _, err := st.Drop("boxes"); return err },
		"swap":         func(st *Store) error { return st.Swap(t.Context(), "a", "b") },
		"put": func(st *Store) error {
			c, err := st.Collection("a")
			if err == nil {
				_, _, err = c.Put(t.Context(), Feature{ID: "x"}, kv.Condition{})
			}
			return err
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			d := doubtful()
			st, err := Open(t.Context(), d.options(disk.SyncAlways))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b"} {
				if _, err := st.CreateFeatures(name, CollectionOptions{Title: name}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := createBoxes(st, "boxes"); err != nil {
				t.Fatal(err)
			}
			d.breaks()
			made := make(chan error, 1)
			go func() { made <- change(st) }()
			for st.db.Healthy() == nil {
				runtime.Gosched()
			}
			for _, name := range []string{"a", "b"} {
				c, err := st.Collection(name)
				if err != nil || c.Name() != name || c.Options().Title != name {
					t.Errorf("in doubt, %q: %v", name, err)
				}
				if _, err := st.CreateFeatures(name, CollectionOptions{Title: name}); err != nil {
					t.Errorf("in doubt, created as it is: %v", err)
				}
			}
			if n, m := len(st.Collections()), len(keptBoxes(st)); n != 2 || m != 1 {
				t.Errorf("in doubt: %d collections, and %d of boxes", n, m)
			}
			for name, change := range changes {
				if err := change(st); !errors.Is(err, disk.ErrReadOnly) {
					t.Errorf("%s in doubt: %v", name, err)
				}
			}
			select {
			case err := <-made:
				t.Fatalf("an answer, but nobody knows: %v", err)
			default:
			}
			if name == "put" {
				st.GiveUp()
				made <- <-made
				if err := change(st); !errors.Is(err, disk.ErrClosed) {
					t.Errorf("after the disk was given up: %v", err)
				}
			}
			_ = st.Close()
			if err := <-made; !errors.Is(err, disk.ErrInDoubt) || errors.Is(err, ErrClosed) {
				t.Errorf("closed in doubt: %v", err)
			}
			d.repair()
			st, err = Open(t.Context(), d.options(disk.SyncAlways))
			if err != nil {
				t.Fatal(err)
			}
			if n, m := len(st.Collections()), len(keptBoxes(st)); n < 1 || n > 3 || m > 2 {
				t.Errorf("opened again: %d collections, and %d of boxes", n, m)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			if err := st.Swap(t.Context(), "a", "b"); !errors.Is(err, ErrClosed) {
				t.Errorf("closed: %v", err)
			}
		})
	}
}

// TestDropBesideSwap drops the collection that has the name at that moment, whichever
// it is while two names are swapped all the time.
func TestDropBesideSwap(t *testing.T) {
	st := open(t, Options{SlabBytes: 1 << 20})
	for range 200 {
		var both [2]*Collection
		for i, name := range []string{"c", "other"} {
			var err error
			if both[i], err = st.CreateFeatures(name, CollectionOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		swapped := make(chan error)
		go func() {
			var err error
			for err == nil {
				err = st.Swap(t.Context(), "c", "other")
			}
			swapped <- err
		}()
		for range 20 {
			runtime.Gosched()
		}
		if ok, err := st.Drop("c"); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := <-swapped; !errors.Is(err, ErrUnknownCollection) {
			t.Fatal(err)
		}
		left, err := st.Collection("other")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range both {
			if c.dropped.Load() != (c != left) || c.dropped.Load() != (c.Name() == "c") {
				t.Fatalf("%q was dropped: %v, and %q is left", c.Name(), c.dropped.Load(), left.Name())
			}
		}
		if _, err := st.Drop("other"); err != nil {
			t.Fatal(err)
		}
	}
}
