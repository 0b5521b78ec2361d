package cuckoo

import "github.com/cespare/xxhash/v2"

// Hash is the hash of a key in a table with this seed (Header.Seed). Clients compute
// it, too.
func Hash(seed uint64, key []byte) uint64 {
	var d xxhash.Digest // on the stack
	d.ResetWithSeed(seed)
	_, _ = d.Write(key) // cannot fail
	return d.Sum64()
}

// The bucket in the first table comes from the low 32 bits of the hash, the
// one in the second from the high 32 bits: disjoint, and enough for 2^32
// buckets a table. The low bits of each half count, so that the bucket i of n
// becomes i or i+n of 2n when a table grows.

func bucketOf(hash uint64, side, log2 uint) uint64 {
	return hash >> (32 * side) & (1<<log2 - 1)
}

// signatureOf returns the top 16 bits of a product to which all bits of the
// hash contribute, those most that choose no bucket: items of one bucket have
// equal low bits, and carries only run upwards. The factor is 2^64 divided by
// the golden ratio, odd (Knuth, The Art of Computer Programming, 6.4).
func signatureOf(hash uint64) uint16 {
	return uint16(hash * 0x9E3779B97F4A7C15 >> 48)
}
