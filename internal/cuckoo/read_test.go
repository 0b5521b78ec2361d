package cuckoo

import "testing"

// TestMatches: the bits are those of equal signatures, whatever is beside them.
func TestMatches(t *testing.T) {
	r := newRand(9)
	near := []uint16{0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF}
	for range 100_000 {
		sig := near[r.IntN(len(near))]
		var l [2]Line
		want := map[[2]int]bool{}
		for side := range 2 {
			l[side][laneMeta] = r.Uint64() << 16
			for place := range MaxItems {
				s := near[r.IntN(len(near))]
				l[side].set(place, s, 0)
				if s == sig {
					want[[2]int{side, place}] = true
				}
			}
		}
		a := glimpse{sigs: l[0][laneSigs], meta: l[0][laneMeta]}
		b := glimpse{sigs: l[1][laneSigs], meta: l[1][laneMeta]}
		for m := matches(&a, &b, sig); m != 0; m &= m - 1 {
			side, place := match(m)
			if !want[[2]int{side, place}] {
				t.Fatalf("%#x: side %d, place %d of %x", sig, side, place, l)
			}
			delete(want, [2]int{side, place})
		}
		if len(want) > 0 {
			t.Fatalf("%#x: %v missing in %x", sig, want, l)
		}
	}
}
