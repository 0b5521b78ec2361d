package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// threeLevels is enough objects for three levels of the smallest nodes.
const threeLevels = 3000

func scattered(seed uint64, n int) []rstar.Item {
	r := rand.New(rand.NewPCG(seed, 9))
	items := make([]rstar.Item, n)
	for i := range items {
		x, y := r.Float64(), r.Float64()
		items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + 1e-3, MaxY: y + 1e-3}, ID: uint64(i)}
	}
	return items
}

const cacheBytes = 4 << 20 // of caches under test

func someQuery(r *rand.Rand) rstar.Rect {
	x, y, e := r.Float64(), r.Float64(), 0.1*r.Float64()
	return rstar.Rect{MinX: x, MinY: y, MaxX: x + e*e, MaxY: y + e*e}
}

// TestWalkOfCyclicNodesEnds: a walk over memory whose nodes name each other ends.
func TestWalkOfCyclicNodesEnds(t *testing.T) {
	const chunks = 50
	w := walk{tree: &Tree{NodeBytes: 704}, h: rstar.Header{Chunks: chunks, Height: 16, Root: 1}}
	for i := range 2 * chunks {
		_, err := w.ref(1, 5, 1)
		if want := i == 2*chunks-1; errors.Is(err, ErrProtocol) != want {
			t.Fatalf("reference %d: %v", i, err)
		}
	}
}

// TestCachedHostileMemory: however a server's memory changes while copies of it are
// cached, a walk ends, and it harms no later walk of another collection.
func TestCachedHostileMemory(t *testing.T) {
	tr, err := rstar.New(rstar.Options{NodeBytes: 704, SlabBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, it := range scattered(1, threeLevels) {
		if err := tr.Insert(it.Rect, it.ID); err != nil {
			t.Fatal(err)
		}
	}
	h, err := rstar.ParseHeader(tr.Memory())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(10, 2))
	ends := map[string]int{}
	for round := range 200 {
		mem := slices.Clone(tr.Memory())
		s := &Tree{Bytes: uint64(len(mem)), NodeBytes: 704, BootID: h.BootID, Cache: NewCache(cacheBytes, 704)}
		var w searchWalk
		for range 30 {
			w.q, w.items = someQuery(r), nil
			err := offload.ErrRestart
			for try := 0; try <= MaxRestarts && errors.Is(err, offload.ErrRestart); try++ {
				w.restart(s, try)
				err = walkBy(t, &w, mem, nil)
			}
			switch {
			case err == nil:
				ends["fine"]++
			case errors.Is(err, offload.ErrRestart), errors.Is(err, offload.ErrTorn),
				errors.Is(err, rstar.ErrCorrupt), errors.Is(err, rstar.ErrLayout),
				errors.Is(err, ErrProtocol), errors.Is(err, ErrServerChanged), errors.Is(err, ErrGrown):
				ends[errors.Unwrap(err).Error()]++
			default:
				t.Fatalf("round %d: %v", round, err)
			}
			for range 1 + r.IntN(100) { // words of the nodes in use
				at := 8 * r.IntN(threeLevels/4*704/8)
				binary.LittleEndian.PutUint64(mem[at:], r.Uint64()>>r.IntN(64))
			}
		}
	}
	if ends["fine"] < 200 || len(ends) < 4 {
		t.Errorf("walks ended so: %v; the test shows little", ends)
	}
}

// walkBy carries a walk over bytes that do not change meanwhile. With r, up to eight
// reads are in flight and arrive in any order.
func walkBy(t *testing.T, w offload.Traversal, mem []byte, r *rand.Rand) error {
	t.Helper()
	var under []offload.Ref
	for n := 0; ; n++ {
		if n > len(mem)/64 {
			t.Fatalf("%d reads in %d bytes", n, len(mem))
		}
		for len(under) == 0 || r != nil && len(under) < 8 {
			ref, ok, err := w.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if ref.Offset+uint64(ref.Len) > uint64(len(mem)) {
				t.Fatalf("read of %d bytes at %d, the slab has %d", ref.Len, ref.Offset, len(mem))
			}
			under = append(under, ref)
		}
		if len(under) == 0 {
			return nil
		}
		i := 0
		if r != nil {
			i = r.IntN(len(under))
		}
		ref := under[i]
		under = slices.Delete(under, i, i+1)
		switch v, err := w.Visit(ref, slices.Clone(mem[ref.Offset:][:ref.Len])); {
		case err != nil:
			return err
		case v == offload.Retry:
			return fmt.Errorf("walk: %w", offload.ErrTorn)
		case v == offload.Restart:
			return fmt.Errorf("walk: %w", offload.ErrRestart)
		}
	}
}

// FuzzHeader: a client takes any header from a server without panic.
func FuzzHeader(f *testing.F) {
	f.Add(make([]byte, rstar.HeaderBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		var w walk
		w.begin(&Tree{Base: rdma.Remote{Key: 1}, Bytes: 1 << 20, NodeBytes: 704,
			BootID: binary.LittleEndian.Uint64(append(slices.Clone(b), make([]byte, 8)...))}, 0)
		if len(b) >= rstar.HeaderBytes {
			_, _ = w.visitHeader(b[:rstar.HeaderBytes])
		}
	})
}
