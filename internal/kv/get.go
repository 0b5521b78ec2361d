package kv

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// Buffer is what Get needs besides the Map, for one goroutine at a time. The zero
// value is ready.
type Buffer struct {
	// LongestValue bounds the values that are copied, 0: all are. The View of a longer
	// value lacks it, but has its ValueBytes.
	LongestValue int

	refs   []uint64
	record []byte
	of     *gate
	stripe stripe
	inside bool // between Enter and Leave
}

// Enter admits calls of ReadSince with a buffer until Leave, for which Close waits:
// many calls in a row then share one entry of the gate.
func (m *Map) Enter(b *Buffer) error {
	err := m.gate.enter(&b.of, &b.stripe)
	b.inside = err == nil
	return err
}

// Leave ends what Enter began.
func (m *Map) Leave(b *Buffer) {
	b.inside = false
	b.stripe.leave()
}

// Get returns the key's record and its reference, without a lock. The View is good
// until the buffer is used again. If the key has no record the error is ErrNotFound,
// not wrapped, since a miss is no failure.
//
// It reads the record between two lookups. If the index leads to the same references in
// both, it led to the record while that was read: so the place was not used again, and
// the bytes are the state of the key then (internal/record/readers.go). Otherwise it begins
// again. That needs no clock, of which a reading costs as much as a third lookup, and
// no grace: a Get may be stopped anywhere for any time.
func (m *Map) Get(key []byte, b *Buffer) (record.View, record.Ref, error) {
	if err := m.gate.enter(&b.of, &b.stripe); err != nil {
		return record.View{}, 0, err
	}
	defer b.stripe.leave()
	return m.get(key, cuckoo.Hash(m.seed, key), b)
}

func (m *Map) get(key []byte, hash uint64, b *Buffer) (record.View, record.Ref, error) {
	for {
		b.refs = m.index.Lookup(b.refs[:0], hash)
		v, ref, ok, err := m.read(key, hash, b, len(b.refs))
		if ok {
			m.got(b, ref, err)
			return v, ref, err
		}
		runtime.Gosched()
	}
}

// read finds the key's record among the last n references of the buffer, which a lookup
// gave. ok is false if the index leads to other references now.
func (m *Map) read(key []byte, hash uint64, b *Buffer, n int) (v record.View, ref record.Ref, ok bool, err error) {
	if n == 0 {
		return v, 0, true, ErrNotFound
	}
	refs := b.refs[len(b.refs)-n:]
	for _, r := range refs {
		ref = record.Ref(r)
		v, err = m.copyTo(b, ref, key)
		if !errors.Is(err, record.ErrOtherKey) {
			break
		}
	}
	all := m.index.Lookup(b.refs, hash)
	switch b.refs = all[:len(b.refs)]; {
	case !slices.Equal(refs, all[len(b.refs):]):
		return record.View{}, 0, false, nil
	case errors.Is(err, record.ErrOtherKey), err == nil && v.Expiry != 0 && expired(v.Expiry, m.now()):
		return record.View{}, 0, true, ErrNotFound
	case err != nil: // of a record that the index leads to
		return record.View{}, 0, true, fmt.Errorf("kv: %q: %w", key, err)
	}
	return v, ref, true, nil
}

// got notes the result of a Get, for a cache.
func (m *Map) got(b *Buffer, ref record.Ref, err error) {
	switch {
	case m.cache == nil:
	case err == nil:
		m.cache.marks.set(ref)
		b.stripe.hits.Add(1)
	case errors.Is(err, ErrNotFound):
		b.stripe.misses.Add(1)
	}
}

// Read reads the record of a reference that Options.Follow was called with: less than
// the grace ago, or under the Map's lock. The View is the state of its key at a moment
// since, also with record.ErrDead, and good until the buffer is used again. With
// record.ErrStale otherwise the caller is too late, and looks for the reference again.
// Read takes no lock.
func (m *Map) Read(ref record.Ref, b *Buffer) (record.View, error) {
	if err := m.gate.enter(&b.of, &b.stripe); err != nil {
		return record.View{}, err
	}
	defer b.stripe.leave()
	return m.copyTo(b, ref, nil)
}

// Prefetch asks for the first lines of a record that the caller is going to Read.
func (m *Map) Prefetch(ref record.Ref) { m.heap.Prefetch(ref) }

// copyTo reads a record into the buffer.
func (m *Map) copyTo(b *Buffer, ref record.Ref, key []byte) (v record.View, err error) {
	v, b.record, err = m.heap.ReadHead(ref, key, b.record)
	long := b.LongestValue > 0 && v.ValueBytes > b.LongestValue
	if v.Blocks() > 0 && !long {
		v, b.record, err = m.heap.Read(ref, key, b.record)
	}
	if long {
		v = v.Whole(nil)
	}
	return v, err
}
