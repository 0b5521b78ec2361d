package cuckoo

import (
	"testing"

	"github.com/cespare/xxhash/v2"
)

// TestHash: clients of any language can compute it: XXH64. The seed matters.
func TestHash(t *testing.T) {
	k := []byte("a key of more than thirty-two bytes, all of which count")
	if got, want := Hash(0, k), xxhash.Sum64(k); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
	if Hash(1, k) == Hash(0, k) {
		t.Error("the seed makes no difference")
	}
}

// TestSignatureSpreads: items of one pair of buckets have all signatures.
func TestSignatureSpreads(t *testing.T) {
	var seen [1 << 10]int
	for n := range uint64(1 << 16) {
		h := n<<20 | n*0x9E3779B1<<52 // the low 20 bits are equal
		seen[signatureOf(h)>>6]++
	}
	for s, n := range seen {
		if n > 4*(1<<16)/len(seen) {
			t.Errorf("signature %#x: %d of %d", s<<6, n, 1<<16)
		}
	}
}
