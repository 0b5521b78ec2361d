package disk

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
)

// Kind of an entry.
type Kind uint8

// Kinds. The numbers are in the log.
const (
	Put    Kind = 1 // Key has Value now
	Delete Kind = 2 // Key was deleted; it need not have existed
	Create Kind = 3 // a collection begins; Key is its name, Value its metadata
	Alter  Kind = 4 // its name and metadata are these now
	Drop   Kind = 5 // it ends, with all that it held
	Term   Kind = 6 // a primary's first entry; Value is its term. It changes no state
)

var kindNames = [...]string{Put: "put", Delete: "delete", Create: "create", Alter: "alter", Drop: "drop", Term: "term"}

func (k Kind) valid() bool { return k >= Put && k <= Term }

func (k Kind) String() string {
	if !k.valid() {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// Continues, in Flags, says that the next entry is of the same write: no member of a group
// has one without the other.
const Continues = 1 << 15

// Entry is one write, as Commit takes it and the log returns it. It states the result
// from Revision on, not an operation, so that applying it twice changes nothing.
type Entry struct {
	Collection uint32
	Kind       Kind
	Flags      uint16 // opaque, but for Continues
	Key        []byte
	Value      []byte
	Revision   uint64
	Expiry     int64 // opaque
	// Old is the value before, OldExpiry its expiry, and OldRevision its revision,
	// 0 if there was none. They are only kept in the log, for watchers. Only a Put of
	// an existing key may have an OldRevision: its state follows later (lag.go).
	Old         []byte
	OldExpiry   int64
	OldRevision uint64
	// Client and Number name a write of a client of a group, so that a repeated one is
	// recognised. Client 0: it has no name.
	Client, Number uint64
}

// TermEntry is the first entry of a primary.
func TermEntry(revision, term uint64) Entry {
	return Entry{Kind: Term, Revision: revision, Value: binary.LittleEndian.AppendUint64(nil, term)}
}

// Term returns the term of an entry of kind Term, 0 of others.
func (e *Entry) Term() uint64 {
	if e.Kind != Term {
		return 0
	}
	return binary.LittleEndian.Uint64(e.Value)
}

func (e *Entry) validate() error {
	what := ""
	switch {
	case !e.Kind.valid():
		what = "unknown"
	case len(e.Key) > MaxKeyBytes:
		what = fmt.Sprintf("a key of %d bytes, at most %d", len(e.Key), MaxKeyBytes)
	case len(e.Value) > MaxValueBytes:
		what = fmt.Sprintf("a value of %d bytes, at most %d", len(e.Value), MaxValueBytes)
	case len(e.Old) > MaxValueBytes:
		what = fmt.Sprintf("an old value of %d bytes, at most %d", len(e.Old), MaxValueBytes)
	case e.Kind == Term && (len(e.Value) != termBytes || len(e.Key)+len(e.Old) != 0):
		what = fmt.Sprintf("a value of %d bytes, want %d", len(e.Value), termBytes)
	case e.Kind != Drop && e.Kind != Term && len(e.Key) == 0:
		what = "an empty key"
	case e.Kind == Delete && len(e.Value) != 0:
		what = fmt.Sprintf("a value of %d bytes", len(e.Value))
	case e.Kind == Drop && len(e.Key)+len(e.Value) != 0:
		what = "a key or value"
	default:
		return nil
	}
	return fmt.Errorf("%w: revision %d, %v in collection %d: %s", ErrEntry, e.Revision, e.Kind, e.Collection, what)
}

// logBytes is what the entry takes in the log, before compression.
func (e *Entry) logBytes() int64 {
	return int64(logKeyBytes + e.Bytes())
}

// Bytes is what Append appends.
func (e *Entry) Bytes() int {
	n := logHeader + len(e.Key) + len(e.Value) + len(e.Old)
	if e.Client != 0 {
		n += nameBytes
	}
	return n
}

// Append appends the entry, without its revision, as it is in the log.
func (e *Entry) Append(b []byte) []byte {
	n := len(b)
	b = append(b, make([]byte, e.Bytes())...)
	e.put(b[n:])
	return b
}

// put writes the entry's value in the log to b, which is just long enough.
func (e *Entry) put(b []byte) {
	n := e.putHeader(b)
	n += copy(b[n:], e.Key)
	n += copy(b[n:], e.Value)
	copy(b[n:], e.Old)
}

// putHeader writes what is before the key, and returns its length.
func (e *Entry) putHeader(b []byte) int {
	le := binary.LittleEndian
	b[0], b[1] = byte(e.Kind), 0
	le.PutUint16(b[2:], e.Flags)
	le.PutUint32(b[4:], e.Collection)
	le.PutUint64(b[8:], uint64(e.Expiry))
	le.PutUint64(b[16:], e.OldRevision)
	le.PutUint64(b[24:], uint64(e.OldExpiry))
	le.PutUint32(b[32:], uint32(len(e.Key)))
	le.PutUint32(b[36:], uint32(len(e.Value)))
	if e.Client == 0 {
		return logHeader
	}
	b[1] = named
	le.PutUint64(b[logHeader:], e.Client)
	le.PutUint64(b[logHeader+8:], e.Number)
	return logHeader + nameBytes
}

// sum is the sum of what put writes.
func (e *Entry) sum(d *xxhash.Digest) uint64 {
	var head [logHeader + nameBytes]byte
	n := e.putHeader(head[:])
	d.Reset()
	for _, part := range [...][]byte{head[:n], e.Key, e.Value, e.Old} {
		_, _ = d.Write(part) // It does not fail.
	}
	return d.Sum64()
}

// ParseEntry reads what Append wrote, and trusts none of it: ErrCorrupt. The entry's
// slices lie in b.
func ParseEntry(revision uint64, b []byte) (Entry, error) { return parseEntry(revision, b) }

func parseEntry(revision uint64, b []byte) (Entry, error) {
	if len(b) < logHeader {
		return Entry{}, fmt.Errorf("%w: log entry %d has %d bytes, not %d or more", ErrCorrupt, revision, len(b), logHeader)
	}
	le := binary.LittleEndian
	key, value := uint64(le.Uint32(b[32:])), uint64(le.Uint32(b[36:]))
	body := b[logHeader:]
	var client, number uint64
	if b[1] == named && len(body) >= nameBytes {
		client, number, body = le.Uint64(body), le.Uint64(body[8:]), body[nameBytes:]
	}
	if key+value > uint64(len(body)) {
		return Entry{}, fmt.Errorf("%w: log entry %d: a key of %d and a value of %d bytes, %d are left",
			ErrCorrupt, revision, key, value, len(body))
	}
	e := Entry{
		Kind: Kind(b[0]), Flags: le.Uint16(b[2:]), Collection: le.Uint32(b[4:]),
		Expiry: int64(le.Uint64(b[8:])), OldRevision: le.Uint64(b[16:]),
		OldExpiry: int64(le.Uint64(b[24:])), Revision: revision, Client: client, Number: number,
		Key: body[:key:key], Value: body[key : key+value : key+value], Old: body[key+value:],
	}
	if err := e.validate(); err != nil {
		return Entry{}, fmt.Errorf("%w: in the log: %w", ErrCorrupt, err)
	}
	if b[1] != 0 && client == 0 || b[1] > named || revision == 0 || revision == math.MaxUint64 {
		return Entry{}, fmt.Errorf("%w: log entry %d: byte 1 is %d", ErrCorrupt, revision, b[1])
	}
	return e, nil
}
