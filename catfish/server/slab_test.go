package server

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"github.com/catfish-index/catfish/rstar"
)

// startPinning starts a server whose device of a transport pins memory.
func startPinning(t *testing.T, of string, transports ...string) (*Server, *catfishtest.Pinning) {
	p := catfishtest.NewPinning(nil)
	s := startServer(t, WithServerHooks(Options{Transports: transports, SlabBytes: 64 << 20}, p.Hooks(of)))
	return s, p
}

// TestSlabGrows: where memory is pinned a tree's slab is registered as it is used, and
// clients that offload find the new regions.
func TestSlabGrows(t *testing.T) {
	cases := [][]string{{model.TransportSoft}, {model.TransportSoft, model.TransportSHM}}
	if slices.Contains(offered, model.TransportOFI) {
		cases = append(cases, []string{model.TransportOFI, model.TransportSoft})
	}
	for _, transports := range cases {
		of := transports[0]
		s, p := startPinning(t, of, transports...)
		if !slices.Equal(p.Sizes(), []int{1 << 20}) {
			t.Fatalf("registered at first: %d", p.Sizes())
		}
		writer := dial(t, s, client.Options{Transport: of, Fabric: testFabric, Policy: "fast"})
		reader := dial(t, s, client.Options{Transport: of, Fabric: testFabric, Policy: "offload-cached"})
		local := dial(t, s, client.Options{Fabric: testFabric, Policy: "offload"})
		inserted := 0
		insert := func() {
			t.Helper()
			var items []rstar.Item
			for range 1000 {
				x, y := float64(inserted%317), float64(inserted/317)
				items = append(items, rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, ID: uint64(inserted)})
				inserted++
			}
			if _, err := writer.InsertMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			insert()
			if i%catfishtest.RaceFactor > 0 {
				continue
			}
			for _, c := range []*client.Client{reader, local} {
				n, err := c.Count(t.Context(), plane)
				if err != nil || n != inserted {
					t.Fatalf("%d objects, %v, want %d", n, err, inserted)
				}
			}
		}
		sizes := p.Sizes()
		for i, n := range sizes {
			if n != 1<<20<<i {
				t.Fatalf("registered %d", sizes)
			}
		}
		used := tree(t, s).Stats().UsedBytes
		if last := int64(sizes[len(sizes)-1]); len(sizes) < 3 || used > last || last > 4*used {
			t.Errorf("%d bytes are used, registered were %d", used, sizes)
		}
		// Each growth costs a client one search that it cannot offload.
		if got := reader.Counters(); got.OffloadedSearches < 90/catfishtest.RaceFactor || got.FellBack < 2 || got.FellBack > uint64(len(sizes)) || got.Reconnects > 0 {
			t.Errorf("%d searches offloaded, %d fell back, %d reconnects", got.OffloadedSearches, got.FellBack, got.Reconnects)
		}
	}
}

// TestSlabCannotGrow: when no more can be registered, writes fail with an error and change
// nothing; searches and deletes continue, and so do writes when there is room again.
func TestSlabCannotGrow(t *testing.T) {
	s, p := startPinning(t, model.TransportSoft, model.TransportSoft)
	p.May(1 << 20)
	c := dial(t, s, client.Options{Transport: model.TransportSoft, Policy: "fast"})
	n := 0
	insert := func() error {
		x, y := float64(n%317), float64(n/317)
		err := c.Insert(t.Context(), rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, uint64(n))
		if err == nil {
			n++
		}
		return err
	}
	var err error
	for err == nil && n < 100_000 {
		err = insert()
	}
	if !errors.Is(err, rstar.ErrSlabFull) || !strings.Contains(err.Error(), catfishtest.ErrPinned.Error()) {
		t.Fatalf("after %d inserts: %v", n, err)
	}
	tree := tree(t, s)
	if used := tree.Stats().UsedBytes; used < 1<<20*3/4 {
		t.Errorf("%d bytes are used of %d", used, 1<<20)
	}
	if got, err := c.Count(t.Context(), plane); err != nil || got != n {
		t.Fatalf("%d objects, %v, want %d", got, err, n)
	}
	for id := range 100 {
		x, y := float64(id%317), float64(id/317)
		if ok, err := c.Delete(t.Context(), rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, uint64(id)); err != nil || !ok {
			t.Fatalf("delete %d: %t, %v", id, ok, err)
		}
	}
	p.May(1 << 30)
	for range 10_000 {
		if err := insert(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Check(); err != nil {
		t.Error(err)
	}
}

// TestSlabPinsAheadOnce: consecutive writes start making the next region once, and
// none after close.
func TestSlabPinsAheadOnce(t *testing.T) {
	dev, err := soft.Open(soft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for range 20 { // the pinning goroutine may be quick
		p := catfishtest.NewPinning(dev)
		var s slabMemory
		if err := s.make([]*fabric{{name: model.TransportSoft, dev: p}}, "default", 64<<20, 1<<20); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := s.grow(1 << 20); err != nil {
				t.Fatal(err)
			}
		}
		s.ahead.Wait()
		if !slices.Equal(p.Sizes(), []int{1 << 20, 2 << 20}) {
			t.Errorf("registered %d", p.Sizes())
		}
		if _, err := s.grow(2 << 20); err != nil { // starts another region, perhaps too late
			t.Fatal(err)
		}
		s.close()
		n := len(p.Sizes())
		if usable, err := s.grow(2 << 20); usable < 2<<20 || err != nil {
			t.Errorf("after close: %d, %v", usable, err)
		}
		s.ahead.Wait()
		if len(p.Sizes()) != n {
			t.Errorf("registered after close: %d", p.Sizes())
		}
	}
}

// plane is a rectangle that contains all objects.
var plane = rstar.Rect{MinX: -1e9, MinY: -1e9, MaxX: 1e9, MaxY: 1e9}
