package tailword

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestTornWord: from a word of which only the first bytes have arrived, or
// only the last, the reader takes the old tail, the new one or none.
func TestTornWord(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	none := 0
	for range 10_000 {
		from := rng.Uint64N(1 << 40)
		to := from + rng.Uint64N(1<<30)
		var was, is [Bytes]byte
		Put(was[:], from)
		Put(is[:], to)
		for n := range Bytes + 1 {
			for _, w := range [][Bytes]byte{
				[Bytes]byte(append(is[:n:n], was[n:]...)),
				[Bytes]byte(append(was[:n:n], is[n:]...)),
			} {
				got, ok := Units(binary.NativeEndian.Uint64(w[:]))
				if !ok {
					none++
				} else if got != uint32(from/UnitBytes) && got != uint32(to/UnitBytes) {
					t.Fatalf("of %d and %d, %d bytes: %d units", from, to, n, got)
				}
			}
		}
	}
	if none == 0 {
		t.Error("no word was torn")
	}
	if _, ok := Units(0); ok {
		t.Error("zeroed memory announces something")
	}
}
