package record

import (
	"bytes"
	"fmt"
	"time"
)

// View is a record in memory that it does not own: its slices are valid as long as the
// content of that memory.
type View struct {
	Key      []byte
	Value    []byte // nil if Blocks is not 0: see there
	Revision uint64
	Expiry   int64 // in the unit of the caller of Put; 0: none
	Flags    uint16
	// ValueBytes is the length of the whole value.
	ValueBytes int
	born       uint32 // s, modulo 2^24, by the heap's clock: of the lease word
	refs       []byte
}

// Age is the time since the record was put, and so how long its key has not changed, in
// whole seconds, perhaps one too many, if now is the heap's clock. A hint: it comes
// round after 194 days, and is not in the check sum.
func (v *View) Age(now time.Duration) time.Duration {
	return time.Duration((uint64(now/time.Second)-uint64(v.born))&birthMask) * time.Second
}

// Blocks is the number of blocks that hold the value, 0 if Value does.
func (v *View) Blocks() int { return len(v.refs) / refBytes }

// Block returns the reference of block i, and the number of bytes of the value that it
// holds. at is where these begin: the sum of the blocks before it.
func (v *View) Block(i, at int) (Ref, int) {
	ref := v.block(i)
	return ref, min(ref.Bytes()-offData, v.ValueBytes-at)
}

func (v *View) block(i int) Ref { return Ref(word(v.refs, i*refBytes)) }

// Whole is v with a value that was assembled from its blocks.
func (v View) Whole(value []byte) View {
	v.Value, v.refs = value, nil
	return v
}

// Parse finds the record that ref names in b, the bytes that were read at
// ref.Offset, each 64-byte line at a moment of its own. key is the key that
// the record must have, nil: any. Bytes are not trusted: whatever they are,
// Parse neither panics nor allocates but for an error.
//
// With ErrDead the View is complete, too: a reader that took ref from tree
// or index within the base grace may use it (readers.go). With any other
// error it is empty.
func (s Space) Parse(ref Ref, b, key []byte) (View, error) { return s.parse(ref, b, key, true) }

// parse computes and compares the check sum if sum is set.
func (s Space) parse(ref Ref, b, key []byte, sum bool) (View, error) {
	g, err := s.parseGuard(ref, b)
	if err != nil {
		return View{}, err
	}
	v := View{
		Revision: word(b, offRevision), Expiry: g.expiry(b),
		Flags: g.flags(), ValueBytes: int(half(b, offLen)), born: uint32(word(b, offLease) >> birthShift & birthMask),
	}
	keyEnd := g.keyEnd()
	n := keyEnd + v.ValueBytes
	at := blocksAt(keyEnd)
	if g.kind() == longKind {
		if n = 0; at <= ref.Bytes() && word(b, at-countBytes) <= MaxBlockBytes/refBytes {
			n = at + int(word(b, at-countBytes))*refBytes
		}
	}
	switch {
	case g.kind() == blockKind, g.keyBytes() == 0, g.keyBytes() > MaxKeyBytes,
		v.ValueBytes > MaxValueBytes, linesOf(n) != ref.lines():
		return View{}, fmt.Errorf("%w: kind %d, key of %d bytes, value of %d, in %d lines",
			ErrMalformed, g.kind(), g.keyBytes(), v.ValueBytes, ref.lines())
	case sum && s.checkSum(ref, g, b[:n]) != half(b, offSum) && mutant != sumIgnored:
		return View{}, ErrTorn
	}
	v.Key = b[g.keyAt():keyEnd:keyEnd]
	if key != nil && !bytes.Equal(key, v.Key) {
		return View{}, ErrOtherKey
	}
	if g.kind() == longKind {
		v.refs = b[at:n:n]
		if !v.fits() {
			return View{}, fmt.Errorf("%w: %d blocks do not make %d bytes", ErrMalformed, v.Blocks(), v.ValueBytes)
		}
	} else {
		v.Value = b[keyEnd:n:n]
	}
	if !g.alive() {
		return v, ErrDead
	}
	return v, nil
}

// fits reports whether the blocks hold the value: all of them are needed, and
// suffice.
func (v *View) fits() bool {
	room := 0
	for i := range v.Blocks() {
		if room >= v.ValueBytes {
			return false
		}
		room += v.block(i).Bytes() - offData
	}
	return v.Blocks() > 0 && room >= v.ValueBytes
}

// ParseBlock finds the part of a long value that ref, from View.Block, names
// in b. want is the number of bytes that Block gave. A block is as immutable
// as its head, and says nothing of whether the record is alive.
func (s Space) ParseBlock(ref Ref, b []byte, want int) ([]byte, error) {
	g, err := s.parseGuard(ref, b)
	if err != nil {
		return nil, err
	}
	n := int(half(b, offLen))
	switch {
	case g.kind() != blockKind, n != want, linesOf(offData+n) != ref.lines():
		return nil, fmt.Errorf("%w: kind %d, block of %d bytes in %d lines, want %d bytes",
			ErrMalformed, g.kind(), n, ref.lines(), want)
	case s.checkSum(ref, g, b[:offData+n]) != half(b, offSum) && mutant != sumIgnored:
		return nil, ErrTorn
	}
	return b[offData : offData+n : offData+n], nil
}

// parseGuard checks the reference and the guardian word.
func (s Space) parseGuard(ref Ref, b []byte) (guard, error) {
	if err := s.Check(ref); err != nil {
		return 0, err
	}
	if len(b) < ref.Bytes() {
		return 0, fmt.Errorf("%w: %d bytes, want %d", ErrMalformed, len(b), ref.Bytes())
	}
	g := guard(word(b, 0))
	switch {
	case g.generation() != ref.generation() && mutant != generationIgnored:
		return 0, ErrReused
	case g&guardZeros != 0:
		return 0, fmt.Errorf("%w: guardian %#x", ErrMalformed, uint64(g))
	}
	return g, nil
}
