package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// After Fill a collection equals one that was not filled: whatever was put, put again,
// patched and deleted meanwhile, while records were moved; and it stays so, here and
// after a restart.
func TestFill(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			clock := &clock{}
			clock.now.Store(1)
			o := Options{Dir: dir, Sync: disk.SyncOff, NodeBytes: 704, Now: clock.Now}
			st, err := Open(t.Context(), withSlab(o))
			if err != nil {
				t.Fatal(err)
			}
			m := &model{t: t, c: create(t, st, CollectionOptions{}), m: map[string]Feature{}, r: rand.New(rand.NewPCG(3, 1))}
			var tidy sync.WaitGroup
			stop := make(chan struct{})
			tidy.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						m.c.Tidy(1000)
					}
				}
			})
			own := errors.New("mine")
			err = m.c.Fill(func() error {
				if err := m.c.Fill(func() error { t.Error("filled twice"); return nil }); !errors.Is(err, rstar.ErrNotEmpty) {
					t.Error(err)
				}
				for range 3000 {
					m.step()
					clock.advance(1e7) // Records that are dead give way after a second.
				}
				if n := m.c.Tree().Len(); n != 0 {
					t.Errorf("the tree has %d entries already", n)
				}
				return own
			})
			if !errors.Is(err, own) {
				t.Fatal(err)
			}
			m.agree()
			for range 300 {
				m.step()
			}
			m.agree()
			close(stop)
			tidy.Wait()
			if err := m.c.Tree().Check(); err != nil {
				t.Error(err)
			}
			if err := m.c.Fill(func() error { return nil }); !errors.Is(err, rstar.ErrNotEmpty) {
				t.Error(err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			if err := m.c.Fill(func() error { return nil }); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			if dir != "" {
				if m.c, err = open(t, o).Collection("places"); err != nil {
					t.Fatal(err)
				}
				m.agree()
			}
		})
	}
}

func withSlab(o Options) Options { o.SlabBytes = 64 << 20; return o }

// A write that would make more entries than the tree can be built of is refused, and
// then it can be built. Writes that replace others need no more room.
func TestFillNoRoom(t *testing.T) {
	small := func(name string, p Part, bytes int64) (Memory, error) {
		if p == TreePart {
			bytes = 1 << 19
		}
		return ownMemory(name, p, bytes)
	}
	c := create(t, open(t, Options{SlabBytes: 16 << 20, Memory: small}), CollectionOptions{})
	room := c.Tree().LoadRoom()
	put := func(i int) error {
		// Three entries each, in one record of 1 KiB.
		var all orb.MultiPolygon
		for j := range 3 {
			x, y := float64(j*60), float64(i%100)/10
			all = append(all, orb.Polygon{{{x, y}, {x + 1, y}, {x, y + 1}, {x, y}}})
		}
		_, _, err := c.Put(t.Context(), Feature{ID: fmt.Sprint(i), Geometry: all}, kv.Condition{})
		return err
	}
	full := 0
	err := c.Fill(func() error {
		for i := 0; full == 0; i++ {
			if err := put(i); err != nil {
				if !errors.Is(err, rstar.ErrSlabFull) {
					return err
				}
				full = i
			}
		}
		_, err := c.Delete(t.Context(), "0", kv.Condition{})
		if err == nil {
			err = put(full)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Tree().Len(); n != 3*full || n+3 <= room {
		t.Errorf("the tree has %d entries of %d features, and there was room for %d", n, full, room)
	}
	if n, err := c.Count(t.Context(), Query{Area: query.Box(-180, -90, 180, 90)}); err != nil || n != full {
		t.Errorf("%d features are found of %d, %v", n, full, err)
	}
}
