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

// gridPoint is the object of an id.
func gridPoint(id int) rstar.Item {
	x, y := float64(id%317), float64(id/317)
	return rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, ID: uint64(id)}
}

// insertPoints inserts the objects of n ids.
func insertPoints(t *testing.T, c *client.Client, first, n int) {
	t.Helper()
	var items []rstar.Item
	for id := range n {
		items = append(items, gridPoint(first+id))
	}
	if got, err := c.InsertMany(t.Context(), items); got != n || err != nil {
		t.Fatalf("%d of %d inserted, %v", got, n, err)
	}
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
		inserted, searches := 0, 0
		insert := func() {
			t.Helper()
			insertPoints(t, writer, inserted, 1000)
			inserted += 1000
		}
		const every = min(4*catfishtest.RaceFactor, 16) // Each region is learnt by a search of its own.
		for i := range 100 {
			insert()
			if i%every > 0 {
				continue
			}
			searches++
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
		if got := reader.Counters(); got.OffloadedSearches < uint64(searches-len(sizes)) || got.FellBack < 2 || got.FellBack > uint64(len(sizes)) || got.Reconnects > 0 {
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
	n := 5000
	insertPoints(t, c, 0, n)
	var err error
	for n < 100_000 {
		if err = c.Insert(t.Context(), gridPoint(n).Rect, uint64(n)); err != nil {
			break
		}
		n++
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
		if ok, err := c.Delete(t.Context(), gridPoint(id).Rect, uint64(id)); err != nil || !ok {
			t.Fatalf("delete %d: %t, %v", id, ok, err)
		}
	}
	p.May(1 << 30)
	insertPoints(t, c, n, 10_000)
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
