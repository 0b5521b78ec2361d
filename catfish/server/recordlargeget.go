package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// Large values of a Get, at the server
//
// A value of more than mostValue is answered alone, in steps, as the answer to a long
// search is (steps.go): another goroutine copies it, in scheduling slots that it shares with
// other tasks; then it is sent in pieces, as the client takes them.
//
//	asked    k0 k1 k2 k3, the value of k2 is large
//	answer   k0 k1, and k2, k3 unanswered; the client asks for these again
//	answer   k2 in pieces, and k3 unanswered
//
// The copy is of one record: kv.Map.Get compares references before and after, and
// begins again if the record was replaced meanwhile. So values are never mixed, and
// the client needs no rule against mixing. The copy's memory counts against the
// budget of answers until the last piece is sent.

const (
	// largePiece is how much is sent at once: it takes a worker 10 us.
	largePiece = 64 << 10
	// maxGrown is how often a value may be found to have grown while it waited
	// for its slot, before the request is refused.
	maxGrown = 8
)

// largeValue is the steps of a get: the copy of the value.
type largeValue struct {
	s    *Server
	coll *collection
	key  []byte
	keys int // number of keys in the request: this is the first
	room int // the longest value that fits

	grown int
	found wire.Found
	value []byte
	at    int // bytes of the value that are sent
	begun bool
}

// getRecords carries out a get, or returns a task if its first value is large.
func (v *service) getRecords(from *peer, c *collection, n uint32, p, out []byte) result {
	asks := n&wire.WithLeases != 0 && v.s.readable()
	n &^= wire.WithLeases
	out, err := v.records.answer(c, n, asks, p, out)
	if err != nil || v.records.large == 0 {
		return answered(out, err)
	}
	key, _, err := wire.CutKey(p)
	l := &largeValue{s: v.s, coll: c, key: bytes.Clone(key), keys: int(n)}
	if err == nil {
		err = l.grow(v.records.large)
	}
	return later(&task{s: v.s, source: v.source(from), steps: l}, err)
}

// grow makes room for a value of n bytes.
func (l *largeValue) grow(n int) error {
	if l.room = n; n > l.s.mostValue() {
		return l.s.valueTooLarge(model.ErrTooLarge, n)
	}
	if l.grown > maxGrown {
		return fmt.Errorf("%w: the value of %q grew %d times while it waited for its turn", model.ErrBusy, l.key, maxGrown)
	}
	return nil
}

func (l *largeValue) longStep() bool { return true }

// memory is that of the copy, and of the block for reading the head.
func (l *largeValue) memory() int64 { return int64(l.room) + record.MaxBlockBytes }

// step copies the value, unless it has grown.
func (l *largeValue) step(int) (ready bool, err error) {
	b := kv.Buffer{LongestValue: l.room}
	v, _, err := l.coll.Records.Get(l.key, &b)
	if gone := cmp.Or(l.coll.Gone(), l.coll.MayRead(l.key)); gone != nil {
		err = gone
	}
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	case v.ValueBytes > l.room:
		l.grown++
		return false, l.grow(v.ValueBytes)
	}
	l.found, l.value = foundOf(&v), v.Value
	return true, nil
}

func (l *largeValue) bytes() int { return l.keys*wire.FoundBytes + len(l.value) }

func (l *largeValue) piece(out []byte) (_ []byte, last bool) {
	if !l.begun {
		out = l.found.Append(out)
		l.begun = true
	}
	n := min(largePiece, len(l.value)-l.at)
	out = append(out, l.value[l.at:l.at+n]...)
	if l.at += n; l.at < len(l.value) {
		return out, false
	}
	for none := (wire.Found{ValueBytes: wire.Unanswered}); l.keys > 1; l.keys-- {
		out = none.Append(out)
	}
	return out, true
}

func (l *largeValue) close() {}
