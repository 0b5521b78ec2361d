package catfish

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/record"
)

// The payloads of messages about records, little-endian, as in wire.go.
//
//	request        payload                                            answer
//	open           name                                               openRecords
//	createRecords  table u8, items u8, name, or of shards:            empty
//	               table u8 with 0x80, items u8, shards u8, name
//	get            coll u32, n u32, n keys                            n found
//	put            coll u32, if u32, revision u64, expiry i64,        revision u64
//	               flags u16, key bytes u16, key, value
//	remove         coll u32, if u32, revision u64, key                empty
//	scan           coll u32, 0 u32, cursor                            cursor, entries
//	renew          coll u32, n u32, n references u64                  n leases u16, in s
//	part           coll u32, upload u32, at u32, of u32, bytes        empty
//
//	key      bytes u16, key
//	found    revision u64, expiry i64, value bytes u32, flags u16, 0 u16,
//	         value; revision 0: there is none
//	cursor   moves u64, next u64, sub u64, log2 u8, size u8, done u8, 0 u8
//	entry    key bytes u16, found, key, value
//
// A part has bytes of a value of size of, from offset at on (recordlargeput.go). If has
// putParts: in the value's place is the upload u32.
//
// Expiry is in ns by the server's clock (openRecords), 0: never. A lease of 0 was
// not granted. Like those of searchMany the values of a get end
// after manyBytes: keys that are not answered have the value bytes unanswered, and
// the client asks for them again; so do the keys from a value of more than mostValue
// on, unless it is the first. An entry whose value is longer than scanValue has no
// value, but has its length.
const (
	ifAbsent   = 1 // of put's and remove's if
	ifRevision = 2
	putParts   = 4

	foundBytes  = 24
	cursorBytes = 28
	putBytes    = 20 // of put, after the head, before the key
	partBytes   = 8  // of part, after the head, before the value's bytes

	// maxKeys bounds a get, maxRenewals a renew, under the writers' lock: some 50 us.
	maxKeys     = 256
	maxRenewals = 256
	// A scan's answer ends after scanRecords records, scanBytes, or scanPieces of
	// 10 us, however few records they have; longer values than scanValue are left
	// out.
	scanRecords = 256
	scanBytes   = 256 << 10
	scanPieces  = 32
	scanValue   = 16 << 10
	// mostValue is the largest value that a worker answers with at once, which
	// takes it 0.1 ms; larger values are answered in steps (recordlargeget.go).
	mostValue = 1 << 20
)

// isRecords reports whether a request is about records.
func isRecords(k fastmsg.Kind) bool { return k >= kindGet && k <= kindPart }

// openRecords is the answer to the open of a collection of records: where the
// records and their keys are.
//
//	 0 coll u32 | 4 0 u32 | 8 keys' key u64 | 16 address u64 | 24 bytes u64 |
//	32 server's boot id u64 | 40 records' key u64 | 48 address u64 | 56 bytes u64 |
//	64 records' boot u64 | 72 seed u64 | 80 server's clock i64
//
// For a shard (shards.go) more follows, so that a client that knows no shards does
// not take the answer for a collection:
//
//	88 shards' seed u64 | 96 shards u16 | 98 number u16 | 100 owners u16 | 102 0 u16
type openRecords struct {
	coll       uint32
	index      rdma.Remote
	indexBytes uint64
	bootID     uint64
	records    rdma.Remote
	space      record.Space
	seed       uint64
	now        time.Duration
	shard      shardAt
}

const (
	openRecordsBytes = 88
	openShardBytes   = openRecordsBytes + 16

	// withShards in the table's byte of createRecords: shards follow.
	withShards = 0x80
)

// shardAt says which shard is opened.
type shardAt struct {
	seed    uint64
	of      int // shards, 0: the collection is not divided
	number  int
	workers int // how many workers of the transport own shards; 0: none
}

func (o *openRecords) append(b []byte) []byte {
	b = appendHead(b, o.coll, 0)
	for _, w := range []uint64{
		uint64(o.index.Key), o.index.Addr, o.indexBytes, o.bootID,
		uint64(o.records.Key), o.records.Addr, o.space.Bytes, o.space.Boot, o.seed, uint64(o.now),
	} {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if s := &o.shard; s.of > 0 {
		b = binary.LittleEndian.AppendUint64(b, s.seed)
		for _, w := range []int{s.of, s.number, s.workers, 0} {
			b = binary.LittleEndian.AppendUint16(b, uint16(w))
		}
	}
	return b
}

func getOpenRecords(b []byte) (o openRecords, err error) {
	if len(b) != openRecordsBytes && len(b) != openShardBytes {
		return o, fmt.Errorf("%w: open answered %d bytes, want %d or %d", ErrProtocol, len(b), openRecordsBytes, openShardBytes)
	}
	if len(b) == openShardBytes {
		if o.shard, err = getShardAt(b[openRecordsBytes:]); err != nil {
			return o, err
		}
	}
	w := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	return openRecords{
		shard: o.shard,
		coll:  binary.LittleEndian.Uint32(b),
		index: rdma.Remote{Key: rdma.Key(w(8)), Addr: w(16)}, indexBytes: w(24), bootID: w(32),
		records: rdma.Remote{Key: rdma.Key(w(40)), Addr: w(48)},
		space:   record.Space{Bytes: w(56), Boot: w(64)}, seed: w(72), now: time.Duration(w(80)),
	}, nil
}

// getShardAt decodes 16 bytes.
func getShardAt(b []byte) (shardAt, error) {
	w := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	s := shardAt{binary.LittleEndian.Uint64(b), w(8), w(10), w(12)}
	if s.of < 2 || s.of > MaxShards || s.number >= s.of || s.workers > maxWorkers || w(14) != 0 {
		return s, fmt.Errorf("%w: shard %d of %d with %d owners, want up to %d shards and %d owners",
			ErrProtocol, s.number, s.of, s.workers, MaxShards, maxWorkers)
	}
	return s, nil
}

func appendRecordsOptions(b []byte, o RecordsOptions) []byte {
	if o.Shards < 2 {
		return append(b, byte(o.Table), byte(o.Items))
	}
	return append(b, byte(o.Table)|withShards, byte(o.Items), byte(o.Shards))
}

func getRecordsOptions(b []byte) (o RecordsOptions, rest []byte, err error) {
	if len(b) < 2 {
		return o, nil, fmt.Errorf("%w: collection of records described by %d bytes", ErrProtocol, len(b))
	}
	o, rest = RecordsOptions{Table: cuckoo.Kind(b[0] &^ withShards), Items: int(b[1])}, b[2:]
	if b[0]&withShards != 0 {
		if len(rest) == 0 {
			return o, nil, fmt.Errorf("%w: shards of a collection of records described by %d bytes", ErrProtocol, len(b))
		}
		o.Shards, rest = int(rest[0]), rest[1:]
	}
	if err := o.Validate(); err != nil {
		return o, nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return o, rest, nil
}

// found is the head of a record in the answer to a get or scan.
type found struct {
	revision   uint64 // 0: there is none
	expiry     time.Duration
	valueBytes uint32
	flags      uint16
}

func (f *found) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, f.revision)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.expiry))
	b = binary.LittleEndian.AppendUint32(b, f.valueBytes)
	return binary.LittleEndian.AppendUint32(b, uint32(f.flags))
}

// getFound decodes the found that b, of at least foundBytes, begins with.
func getFound(b []byte) found {
	_ = b[foundBytes-1]
	return found{
		revision: binary.LittleEndian.Uint64(b), expiry: time.Duration(binary.LittleEndian.Uint64(b[8:])),
		valueBytes: binary.LittleEndian.Uint32(b[16:]), flags: binary.LittleEndian.Uint16(b[20:]),
	}
}

func appendKey(b, key []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(key))), key...)
}

// cutKey decodes the key that b begins with.
func cutKey(b []byte) (key, rest []byte, err error) {
	if len(b) < 2 || len(b)-2 < int(binary.LittleEndian.Uint16(b)) {
		return nil, nil, fmt.Errorf("%w: a key ends behind the request, %d bytes are left", ErrProtocol, len(b))
	}
	end := 2 + int(binary.LittleEndian.Uint16(b))
	return b[2:end], b[end:], nil
}

func conditionOf(c kv.Condition) uint32 {
	f := uint32(0)
	if c.IfAbsent {
		f |= ifAbsent
	}
	if c.IfRevision != 0 {
		f |= ifRevision
	}
	return f
}

func getCondition(arg uint32, revision uint64) (kv.Condition, error) {
	c := kv.Condition{IfAbsent: arg&ifAbsent != 0}
	if arg&^(ifAbsent|ifRevision) != 0 || (arg&ifRevision != 0) != (revision != 0) {
		return c, fmt.Errorf("%w: a condition of %#x with revision %d", ErrProtocol, arg, revision)
	}
	c.IfRevision = revision
	return c, nil
}

func appendCursor(b []byte, c cuckoo.Cursor) []byte {
	b = binary.LittleEndian.AppendUint64(b, c.Moves)
	b = binary.LittleEndian.AppendUint64(b, c.Next)
	b = binary.LittleEndian.AppendUint64(b, c.Sub)
	b = append(b, c.Log2, c.Size)
	return append(appendBool(b, c.Done), 0)
}

// getCursor decodes any bytes, at least cursorBytes: any cursor is safe.
func getCursor(b []byte) cuckoo.Cursor {
	_ = b[cursorBytes-1]
	return cuckoo.Cursor{
		Moves: binary.LittleEndian.Uint64(b), Next: binary.LittleEndian.Uint64(b[8:]), Sub: binary.LittleEndian.Uint64(b[16:]),
		Log2: b[24], Size: b[25], Done: b[26] != 0,
	}
}

// appendRevision appends the condition's revision, which put and remove begin with.
func appendRevision(b []byte, r uint64) []byte { return binary.LittleEndian.AppendUint64(b, r) }

// appendPut appends the rest of a put, except the value.
func appendPut(b []byte, expiry uint64, flags uint16, key []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, expiry)
	b = binary.LittleEndian.AppendUint16(b, flags)
	return appendKey(b, key)
}

func getRevision(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: put answered %d bytes, want 8", ErrProtocol, len(b))
	}
	return binary.LittleEndian.Uint64(b), nil
}

// putArgument changes the argument of a request's head.
func putArgument(b []byte, arg uint32) { binary.LittleEndian.PutUint32(b[4:], arg) }

// getScan decodes the answer to a scan. A Record whose value was left out has a
// nil Value. The Records refer to b.
func getScan(b []byte) (l []Record, c cuckoo.Cursor, err error) {
	if len(b) < cursorBytes {
		return nil, c, fmt.Errorf("%w: scan answered %d bytes, want at least %d", ErrProtocol, len(b), cursorBytes)
	}
	c = getCursor(b)
	for b = b[cursorBytes:]; len(b) > 0; {
		if len(b) < 2+foundBytes {
			return nil, c, fmt.Errorf("%w: a scan's answer ends with %d bytes", ErrProtocol, len(b))
		}
		keyBytes, f := int(binary.LittleEndian.Uint16(b)), getFound(b[2:])
		b = b[2+foundBytes:]
		value := int64(f.valueBytes)
		if value > scanValue {
			value = 0
		}
		if int64(keyBytes)+value > int64(len(b)) {
			return nil, c, fmt.Errorf("%w: key of %d bytes, value of %d, %d are left of the answer", ErrProtocol, keyBytes, value, len(b))
		}
		r := Record{Key: b[:keyBytes:keyBytes], Revision: f.revision, Flags: f.flags}
		b = b[keyBytes:]
		if r.Expires = expires(f.expiry); f.valueBytes <= scanValue {
			r.Value = b[:value:value]
		}
		b = b[value:]
		l = append(l, r)
	}
	return l, c, nil
}

// expires is the time of an expiry, zero for never.
func expires(e time.Duration) time.Time {
	if e == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(e))
}
