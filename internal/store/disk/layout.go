package disk

// What is where. A data directory:
//
//	CATFISH        text: format, store id, whether creation was finished
//	LOCK           locked by the process that has it open
//	SEAL           the last revision that is durable (seal.go)
//	pebble/        Pebble's files
//	damaged-N/     all of these as they were before Options.AcceptLoss
//
// Keys in Pebble are ordered by their bytes, so numbers in them are big-endian:
//
//	| 1 | collection u32 |                 meta of a collection
//	| 2 | collection u32 | key, 1.. bytes | state
//	| 3 | revision u64   |                 log
//	| 4 |                                  applied
//	| 5 |                                  terms
//
// Numbers in values are little-endian, like all that Catfish writes:
//
//	meta   | created u64 | changed u64 | name length u16 | name | metadata     |
//	state  | revision u64 | expiry i64 | flags u16 | value                      |
//	log    | kind u8 | named u8 | flags u16 | collection u32 | expiry i64 |
//	       | old revision u64 | old expiry i64 | key length u32 | value length u32 |
//	       | client u64 | number u64, if named is 1                               |
//	       | key | value | old value                                            |
//	terms  | (term u64 | first revision u64) ...  of a group's log (terms.go)
//	applied| revision u64 |  the state has all up to it (lag.go)
//
// Values carry no check sums of their own. Pebble has one for each block of a
// table and each chunk of the WAL, and looks at it whenever it reads one; a
// second would cost a restart a pass over all bytes and find nothing more on
// disk. It would find memory that changes between Commit and Pebble, and
// then the copy that serves reads is as likely to be hit.

import (
	"encoding/binary"
	"fmt"
)

// Format is the newest version of this layout; from 1 on all are read. A newer one
// is refused (ErrFormat).
//
//	1   features
//	2   and collections of boxes (package store)
//	3   and states that are in the log only (lag.go)
//	4   and features with altitudes (package feature)
//	5   and entries of groups: terms, and names of writes (package replica)
//	6   and collections of records (package store)
//	7   and entries of moves between groups (package store)
//
// A data directory has the oldest format that covers its contents, so that older
// programs read what they know, and refuse the rest instead of misreading it: it
// begins with 1, and Require raises it.
const Format = 7

// The first byte of a key.
const (
	metaPrefix    = 1
	statePrefix   = 2
	logPrefix     = 3
	appliedPrefix = 4
	termsPrefix   = 5
	endPrefix     = 6
)

const (
	collectionBytes = 1 + 4 // of a key, before the collection's own
	logKeyBytes     = 1 + 8
	stateHeader     = 8 + 8 + 2
	logHeader       = 1 + 1 + 2 + 4 + 8 + 8 + 8 + 4 + 4
	nameBytes       = 8 + 8 // after it, of a named entry
	termBytes       = 8     // the value of a Term
	metaHeader      = 8 + 8 + 2
)

// named is the header's byte 1 of an entry that has a client and a number.
const named = 1

// groupFormat is the format of a data directory with entries of groups.
const groupFormat = 5

// Limits of entries. That of keys leaves room for any id; that of values and
// batches is far from the 4 GiB at which Pebble stops.
const (
	MaxKeyBytes   = 1<<16 - 1
	MaxValueBytes = 256 << 20
	MaxBatchBytes = 1 << 30
)

func collectionKey(prefix byte, c uint32) []byte { return appendCollection(nil, prefix, c) }

func appendCollection(b []byte, prefix byte, c uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, prefix), c)
}

// collectionEnd is the first key after those of a collection.
func collectionEnd(prefix byte, c uint32) []byte {
	if c == ^uint32(0) {
		return []byte{prefix + 1}
	}
	return collectionKey(prefix, c+1)
}

func stateKey(c uint32, key []byte) []byte {
	return append(collectionKey(statePrefix, c), key...)
}

func logKey(revision uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{logPrefix}, revision)
}

func parseCollection(k []byte) (c uint32, rest []byte, err error) {
	if len(k) < collectionBytes {
		return 0, nil, fmt.Errorf("%w: key %x has %d bytes, not %d or more", ErrCorrupt, k, len(k), collectionBytes)
	}
	return binary.BigEndian.Uint32(k[1:]), k[collectionBytes:], nil
}

func parseLogKey(k []byte) (uint64, error) {
	if len(k) != logKeyBytes || k[0] != logPrefix {
		return 0, fmt.Errorf("%w: %x is no key of the log", ErrCorrupt, k)
	}
	return binary.BigEndian.Uint64(k[1:]), nil
}

func putStateHeader(b []byte, revision uint64, expiry int64, flags uint16) {
	binary.LittleEndian.PutUint64(b, revision)
	binary.LittleEndian.PutUint64(b[8:], uint64(expiry))
	binary.LittleEndian.PutUint16(b[16:], flags)
}

func parseState(b []byte) (value []byte, revision uint64, expiry int64, flags uint16, err error) {
	if len(b) < stateHeader {
		return nil, 0, 0, 0, fmt.Errorf("%w: a state of %d bytes, not %d or more", ErrCorrupt, len(b), stateHeader)
	}
	le := binary.LittleEndian
	return b[stateHeader:], le.Uint64(b), int64(le.Uint64(b[8:])), le.Uint16(b[16:]), nil
}

// Meta is a collection, as Collections returns it.
type Meta struct {
	Collection uint32
	Name       string
	Metadata   []byte
	Created    uint64 // revision of its Create
	Changed    uint64 // and of the last Alter, or the same
}

func (m Meta) encode() []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, metaHeader+len(m.Name)+len(m.Metadata)), m.Created)
	b = binary.LittleEndian.AppendUint64(b, m.Changed)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(m.Name)))
	return append(append(b, m.Name...), m.Metadata...)
}

func parseMeta(c uint32, b []byte) (Meta, error) {
	if len(b) < metaHeader {
		return Meta{}, fmt.Errorf("%w: metadata of collection %d has %d bytes, not %d or more", ErrCorrupt, c, len(b), metaHeader)
	}
	le := binary.LittleEndian
	n := int(le.Uint16(b[16:]))
	if metaHeader+n > len(b) {
		return Meta{}, fmt.Errorf("%w: collection %d: a name of %d bytes, %d are left", ErrCorrupt, c, n, len(b)-metaHeader)
	}
	return Meta{
		Collection: c, Created: le.Uint64(b), Changed: le.Uint64(b[8:]),
		Name:     string(b[metaHeader : metaHeader+n]),
		Metadata: append([]byte(nil), b[metaHeader+n:]...),
	}, nil
}
