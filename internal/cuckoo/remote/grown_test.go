package remote

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// TestGrown: tables beyond the part of the slab that the client knows are not read, by
// a header that was read or one that it was given. Tables that it knows still
// serve.
func TestGrown(t *testing.T) {
	s := newSite(t, cuckoo.Options{Buckets: 64})
	k, hashes := &keys{found: make([]uint64, 1)}, make([]uint64, 1)
	get := func(name uint64) error {
		k.names, k.found[0], hashes[0] = []uint64{name}, 0, hashOf(name)
		return s.get(t.Context(), k, hashes)
	}
	const first = 4096 + 2*64*cuckoo.LineBytes
	s.table.Bytes = first
	n := uint64(1)
	for ; s.index.Stats().Grown == 0; n++ {
		if _, err := s.put(n, n); err != nil {
			t.Fatal(err)
		}
		if err := get(n); s.index.Stats().Grown == 0 && (err != nil || k.found[0] != n) {
			t.Fatalf("name %d: %d, %v", n, k.found[0], err)
		}
	}
	served, refused := 0, 0
	for name := uint64(1); name < n; name++ {
		err := get(name)
		switch {
		case err == nil && k.found[0] == name:
			served++
		case errors.Is(err, cuckoo.ErrGrown) && s.stats.RoundTrips == 2:
			refused++ // a bucket that has moved, then the header
		default:
			t.Errorf("name %d: %d, %v, %+v", name, k.found[0], err, s.stats)
		}
	}
	if served == 0 || refused == 0 {
		t.Errorf("%d served by the old tables, %d refused", served, refused)
	}
	h, err := cuckoo.ParseHeader(s.mem, slabBytes)
	if err != nil {
		t.Fatal(err)
	}
	// A client that knows no header at all, and is given one.
	s.table = &Table{Base: s.table.Base, Bytes: first, BootID: 7}
	s.table.Learn(h)
	if err := get(1); !errors.Is(err, cuckoo.ErrGrown) || s.stats.Reads != s.copies {
		t.Errorf("given a header that leads too far: %v, %+v", err, s.stats)
	}
	s.table = &Table{Base: s.table.Base, Bytes: slabBytes, BootID: 7}
	s.table.Learn(h)
	if err := get(1); err != nil || k.found[0] != 1 || s.stats.RoundTrips != 2 {
		t.Errorf("with all of the memory: %v, %+v", err, s.stats)
	}
}
