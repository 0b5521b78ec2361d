package lane

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
)

// The payload of a batch is its entries, in the order of their revisions, each
// with its length before it:
//
//	length u32 | bytes of the entry | length u32 | ...
//
// The entries are opaque here; their encoding is that of the log on disk. A batch
// that is larger than its sender wants frames to be is divided among several, at
// any byte: the first has no flag, the next ones Continues, the last one Ends too.
// All have the term, session, first revision and number of entries of the batch.
const lengthBytes = 4

// AppendEntry appends an entry, of at least a byte, to the payload of a batch.
func AppendEntry(payload, entry []byte) []byte {
	return append(AppendLength(payload, len(entry)), entry...)
}

// AppendLength is the beginning of AppendEntry. The bytes of the entry follow.
func AppendLength(payload []byte, entry int) []byte {
	return binary.LittleEndian.AppendUint32(payload, uint32(entry))
}

// Divide returns the parts of a batch's payload, of at most that many bytes, each
// with the flags of its frame.
func Divide(payload []byte, most int) iter.Seq2[Flags, []byte] {
	return func(yield func(Flags, []byte) bool) {
		for flags := Flags(0); ; flags = Continues {
			part := payload[:min(most, len(payload))]
			if payload = payload[len(part):]; len(payload) == 0 {
				yield(flags|Ends, part)
				return
			}
			if !yield(flags, part) {
				return
			}
		}
	}
}

// Batch joins the parts of a batch. It may then be used for the next one.
type Batch struct {
	Most    int // bytes of a whole payload; more is an error
	first   Frame
	payload []byte
	begun   bool
}

// Add takes the next frame of kind Entries. Done: whole is the batch, as one frame,
// whose payload is not used again. After an error the lane is of no use.
func (b *Batch) Add(f Frame) (whole Frame, done bool, err error) {
	switch {
	case b.begun != (f.Flags&Continues != 0):
		return whole, false, fmt.Errorf("%w frame: flags %#x from revision %d on, and a batch has begun: %v",
			ErrInvalid, f.Flags, f.First, b.begun)
	case b.begun && (f.Term != b.first.Term || f.Session != b.first.Session || f.First != b.first.First || f.Entries != b.first.Entries):
		return whole, false, fmt.Errorf("%w frame: term %d, session %d, %d entries from revision %d on, in a batch of term %d, session %d, %d from %d on",
			ErrInvalid, f.Term, f.Session, f.Entries, f.First, b.first.Term, b.first.Session, b.first.Entries, b.first.First)
	case len(f.Payload) > b.Most-len(b.payload):
		return whole, false, fmt.Errorf("%w frame: a batch of more than %d bytes", ErrInvalid, b.Most)
	}
	ends := f.Flags&Ends != 0
	if ends && !b.begun {
		return f, true, nil
	}
	if !b.begun {
		b.first, b.begun = f, true
	}
	b.payload = append(b.payload, f.Payload...)
	if !ends {
		return whole, false, nil
	}
	whole, whole.Payload = b.first, b.payload
	b.first, b.payload, b.begun = Frame{}, nil, false
	return whole, true, nil
}

// Split returns the n entries of a batch's payload, which are parts of it. All
// lengths are checked before it returns.
func Split(payload []byte, n uint32) (iter.Seq[[]byte], error) {
	rest := payload
	for i := range n {
		if len(rest) < lengthBytes {
			return nil, fmt.Errorf("%w batch: ends before entry %d of %d", ErrInvalid, i, n)
		}
		length := binary.LittleEndian.Uint32(rest)
		rest = rest[lengthBytes:]
		if length == 0 || uint64(length) > uint64(len(rest)) {
			return nil, fmt.Errorf("%w batch: entry %d of %d has %d bytes, allowed are 1 to the %d that are left",
				ErrInvalid, i, n, length, len(rest))
		}
		rest = rest[length:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w batch: %d bytes after its %d entries", ErrInvalid, len(rest), n)
	}
	return func(yield func([]byte) bool) {
		for rest := payload; len(rest) > 0; {
			length := binary.LittleEndian.Uint32(rest)
			entry := rest[lengthBytes : lengthBytes+length : lengthBytes+length]
			if rest = rest[len(entry)+lengthBytes:]; !yield(entry) {
				return
			}
		}
	}, nil
}

// SumOf is the check sum of an acknowledgement line, and of other bytes.
func SumOf(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }
