package cuckoo

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

func header() []byte {
	h := Header{
		Seed: 1, BootID: 2, Tables: firstTables + tablesBytes(3), Old: firstTables,
		Items: 4, StashLines: StashLines, Log2: 4, Generation: 2,
	}
	l := h.line()
	l[0] = 6
	var b []byte
	for _, w := range l {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func TestParseHeader(t *testing.T) {
	const bytes = 1 << 20
	if h, err := ParseHeader(header(), bytes); err != nil || h.Log2 != 4 || h.Old != firstTables {
		t.Fatal(h, err)
	}
	for _, c := range []struct {
		name  string
		lane  int
		value uint64
		want  error
	}{
		{"odd", 0, 7, ErrTorn},
		{"magic", 1, 1, ErrLayout},
		{"layout", 2, 9, ErrLayout},
		{"no items", 2, 1, ErrCorrupt},
		{"tables behind nothing", 5, firstTables + tablesBytes(4), ErrCorrupt},
		{"old behind nothing", 6, firstTables + tablesBytes(3), ErrCorrupt},
		{"tables wrap around", 5, ^uint64(63), ErrCorrupt},
		{"tables not at a line", 5, firstTables + 1, ErrCorrupt},
		{"old in the header", 6, 64, ErrCorrupt},
	} {
		b := header()
		binary.LittleEndian.PutUint64(b[8*c.lane:], c.value)
		if _, err := ParseHeader(b, bytes); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	end := uint64(firstTables) + tablesBytes(3) + tablesBytes(4)
	if _, err := ParseHeader(header(), end); err != nil {
		t.Errorf("tables to the end: %v", err)
	}
	for _, known := range []uint64{end - 1, end - tablesBytes(4), firstTables, 64, 0} {
		if _, err := ParseHeader(header(), known); !errors.Is(err, ErrGrown) {
			t.Errorf("%d bytes known of %d: %v", known, end, err)
		}
	}
	if _, err := ParseHeader(header()[:63], bytes); !errors.Is(err, ErrCorrupt) {
		t.Errorf("short: %v", err)
	}
}

// FuzzHeader: a header that is accepted names only bytes of the slab.
func FuzzHeader(f *testing.F) {
	f.Add(header(), uint64(1<<20), uint64(7))
	f.Fuzz(func(t *testing.T, b []byte, slab, hash uint64) {
		h, err := ParseHeader(b, slab)
		if err != nil {
			return
		}
		places := []uint64{h.Bucket(hash, 0), h.Bucket(hash, 1)}
		if h.Old != 0 {
			places = append(places, h.OldBucket(hash, 0), h.OldBucket(hash, 1))
		}
		offset, n := h.Stash()
		if offset+uint64(n) > slab {
			t.Errorf("stash of %d bytes at %d in %d", n, offset, slab)
		}
		for _, p := range places {
			if p%LineBytes != 0 || p > slab || slab-p < LineBytes {
				t.Errorf("line at %d in %d bytes: %+v", p, slab, h)
			}
		}
	})
}

// FuzzLine compares the search for signatures with a plain one.
func FuzzLine(f *testing.F) {
	f.Add(make([]byte, 64), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, hash uint64) {
		l, err := ParseLine(b)
		if err != nil {
			return
		}
		// Make matches likely: the hash's signature into some places.
		for i := range MaxItems {
			if hash>>i&1 != 0 {
				l.set(i, signatureOf(hash), l.ref(i))
			}
		}
		var want []uint64
		for i := range MaxItems {
			if l.ref(i) != 0 && l.signature(i) == signatureOf(hash) && !slices.Contains(want, l.ref(i)) {
				want = append(want, l.ref(i))
			}
		}
		if got := l.AppendCandidates(nil, 0, hash); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
