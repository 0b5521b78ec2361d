package cuckoo

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// aligned returns n bytes of zeros that begin at a line.
func aligned(n int) []byte {
	b := make([]byte, n+LineBytes)
	off := -int(uintptr(unsafe.Pointer(&b[0]))) & (LineBytes - 1)
	return b[off : off+n : off+n]
}

// toSide and key make hashes: the two buckets by their low bits, and a number that
// distinguishes items.
func key(p1, p2, n uint64) uint64 { return p1 | n<<16 | p2<<32 | n<<48 }

type layout struct {
	kind  Kind
	items int
}

var layouts = []layout{
	{GCuckoo, 1}, {GCuckoo, 2}, {GCuckoo, 4}, {GCuckoo, 5},
	{Conventional, 1}, {Conventional, 4}, {Compact, 0},
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }
