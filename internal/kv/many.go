package kv

import (
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// Many keys at once
//
// A Get waits for memory twice: for the buckets, and for the record that they
// lead to. Those of different keys do not depend on each other. So all buckets
// are asked for, then looked into, and all records are asked for, then read:
//
//	prefetch buckets   k0 k1 k2 ...
//	lookup, prefetch   k0 k1 k2 ...
//	read               k0 k1 k2 ...

// manyKeys is the number of keys that are looked up together.
const manyKeys = 64

// ManyBuffer is what GetMany needs besides the Map, for one goroutine at a time.
// The zero value is ready.
type ManyBuffer struct {
	// LongestValue is as for Buffer.
	LongestValue int

	hashes [manyKeys]uint64
	counts [manyKeys]int // of each key's references
	refs   []uint64
	one    Buffer
}

// GetMany makes a Get of each key, and calls f with the results, in the order of the
// keys, until it returns false. It is faster than one Get for each. Each result keeps
// the promises of Get; together they are no snapshot. The View is good until f returns.
// f may read and write the Map, with other buffers, and may not close it.
func (m *Map) GetMany(keys [][]byte, b *ManyBuffer, f func(i int, v record.View, ref record.Ref, err error) (more bool)) {
	if err := m.gate.enter(&b.one.of, &b.one.stripe); err != nil {
		for i := range keys {
			if !f(i, record.View{}, 0, err) {
				break
			}
		}
		return
	}
	defer b.one.stripe.leave()
	b.one.LongestValue = b.LongestValue
	for first, more := 0, true; more && first < len(keys); first += manyKeys {
		more = m.together(keys[first:min(first+manyKeys, len(keys))], first, b, f)
	}
}

// PrefetchKeys asks for the buckets and records of keys, which the next Gets and
// writes of them then find in the processor's cache. It does not wait for the
// records.
func (m *Map) PrefetchKeys(keys [][]byte, b *ManyBuffer) {
	if m.gate.enter(&b.one.of, &b.one.stripe) != nil {
		return
	}
	defer b.one.stripe.leave()
	for len(keys) > 0 {
		n := min(len(keys), manyKeys)
		m.ask(keys[:n], b)
		keys = keys[n:]
	}
}

// ask looks up the references of up to manyKeys keys, and prefetches their records.
func (m *Map) ask(keys [][]byte, b *ManyBuffer) {
	for i, key := range keys {
		b.hashes[i] = cuckoo.Hash(m.seed, key)
		m.index.Prefetch(b.hashes[i])
	}
	b.refs = b.refs[:0]
	for i := range keys {
		n := len(b.refs)
		b.refs = m.index.Lookup(b.refs, b.hashes[i])
		if b.counts[i] = len(b.refs) - n; b.counts[i] > 0 {
			m.heap.Prefetch(record.Ref(b.refs[n])) // further ones match by chance
		}
	}
}

func (m *Map) together(keys [][]byte, first int, b *ManyBuffer, f func(int, record.View, record.Ref, error) bool) (more bool) {
	m.ask(keys, b)
	at := 0
	for i, key := range keys {
		n := b.counts[i]
		b.one.refs = append(b.one.refs[:0], b.refs[at:at+n]...)
		at += n
		v, ref, ok, err := m.read(key, b.hashes[i], &b.one, n)
		if ok {
			m.got(&b.one, ref, err)
		} else {
			v, ref, err = m.get(key, b.hashes[i], &b.one)
		}
		if !f(first+i, v, ref, err) {
			return false
		}
	}
	return true
}
