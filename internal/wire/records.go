package wire

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/record"
)

// AppendPart begins the body of a part of a value.
func AppendPart(b []byte, at, of int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	return binary.LittleEndian.AppendUint32(b, uint32(of))
}

// Values in parts, at the server
//
// A Put that exceeds a message comes in parts. Each is a separate request, so that
// other requests can come between, and is answered once the server has taken it:
//
//	client   part 0 | part 1 | part 2 | ... | put: key, condition
//	          at 0     at n1    at n2                     number of the upload
//	server   a draft in the records' memory (kv.Draft)   the record
//
// An upload belongs to a connection and has a number there, 0 to MaxUploads-1. The
// part at 0 begins an upload, and ends the previous one of that number: so a client
// that gave up an upload need not say so. Parts come in order. Until the put no client
// sees anything of the value. The put is a Put as any other, and checks the condition.
//
// The memory of an upload counts against the budget of answers, for the
// connection's source. It is given back, and the draft discarded, when the upload
// is put or fails, when the connection ends, when no part came for uploadTimeout,
// and when others need the room (limits.Account's cut). A client whose upload has
// ended gets ErrBusy for its next part: nothing was changed, and it may begin again.

// MaxUploads is how many values a connection may be putting: enough that
// some are in flight while one waits for its answer.
const MaxUploads = 8

// The payloads of messages about records, little-endian, as in kinds.go.
//
//	request        payload                                            answer
//	open           name                                               openRecords
//	createRecords  table u8, items u8, name, or of shards:            empty
//	               table u8 with 0x80, items u8, shards u8, name;
//	               table with 0x40: to be kept; with 0x20: before name
//	               max bytes u64
//	get            coll u32, n u32 (with WithLeases: see found),      n found
//	               n keys
//	put            coll u32, if u32, revision u64, expiry i64,        revision u64
//	               flags u16, key bytes u16, key, value
//	append         as put                                             revision u64
//	await          coll u32, most ms u32, key, value                  found; revision 0: not yet
//	remove         coll u32, if u32, revision u64, key                empty
//	scan           coll u32, 0 u32, cursor                            cursor, entries
//	renew          coll u32, n u32, n references u64                  n leases u16, in s
//	part           coll u32, upload u32, at u32, of u32, bytes        empty
//
//	key      bytes u16, key
//	found    revision u64, expiry i64, value bytes u32, flags u16, lease u16, in s,
//	         reference u64 if the lease is not 0, value; revision 0: there is none
//	cursor   moves u64, next u64, sub u64, log2 u8, size u8, done u8, 0 u8
//	entry    key bytes u16, found, key, value
//
// A part has bytes of a value of size of, from offset at on (drawn above). If has
// PutParts: in the value's place is the upload u32.
//
// Expiry is in ns by the server's clock (openRecords), 0: never. A lease of 0 was
// not granted; others than a get with WithLeases grant none. Like those of searchMany the values of a get end
// after ManyBytes: keys that are not answered have the value bytes unanswered, and
// the client asks for them again; so do the keys from a value of more than MostValue
// on, unless it is the first. An entry whose value is longer than ScanValue has no
// value, but has its length.
const (
	IfAbsent   = 1 // of put's and remove's if
	IfRevision = 2
	PutParts   = 4
	IfPresent  = 8 // servers that know KindAppend

	// WithLeases in get's n asks for leases, and references, of the records
	// (Hello.LeasesRecords).
	WithLeases = 1 << 31

	FoundBytes  = 24
	CursorBytes = 28
	PutBytes    = 20 // of put, after the head, before the key
	PartBytes   = 8  // of part, after the head, before the value's bytes

	// MaxKeys bounds a get, MaxRenewals a renew, under the writers' lock: some 50 us.
	MaxKeys     = 256
	MaxRenewals = 256
	// A scan's answer ends after ScanRecords records, ScanBytes, or ScanPieces of
	// 10 us, however few records they have; longer values than ScanValue are left
	// out.
	ScanRecords = 256
	ScanBytes   = 256 << 10
	ScanPieces  = 32
	ScanValue   = 16 << 10
	// MostValue is the largest value that a worker answers with at once, which
	// takes it 0.1 ms; larger values are answered in steps (recordlargeget.go of
	// package server).
	MostValue = 1 << 20
)

// IsRecords reports whether a request is about records.
func IsRecords(k fastmsg.Kind) bool {
	return k >= KindGet && k <= KindPart || k == KindAppend || k == KindAwait
}

// OpenRecords is the answer to the open of a collection of records: where the
// records and their keys are.
//
//	 0 coll u32 | 4 0 u32 | 8 keys' key u64 | 16 address u64 | 24 bytes u64 |
//	32 server's boot id u64 | 40 records' key u64 | 48 address u64 | 56 bytes u64 |
//	64 records' boot u64 | 72 seed u64 | 80 server's clock i64
//
// For a shard (ShardAt) more follows, so that a client that knows no shards does
// not take the answer for a collection:
//
//	88 shards' seed u64 | 96 shards u16 | 98 number u16 | 100 owners u16 | 102 0 u16
type OpenRecords struct {
	Coll       uint32
	Index      rdma.Remote
	IndexBytes uint64
	BootID     uint64
	Records    rdma.Remote
	Space      record.Space
	Seed       uint64
	Now        time.Duration
	Shard      ShardAt
}

const (
	OpenRecordsBytes = 88
	OpenShardBytes   = OpenRecordsBytes + 16

	// WithShards in the table's byte of createRecords: shards follow.
	WithShards = 0x80
	// WithKeep in the same byte: the collection is to be kept (Hello.KeepsRecords).
	WithKeep = 0x40
	// WithLimit in the same byte: the limit of a cache follows (Hello.LimitsRecords).
	WithLimit = 0x20
)

// ShardAt says which shard is opened.
type ShardAt struct {
	Seed    uint64
	Of      int // shards, 0: the collection is not divided
	Number  int
	Workers int // how many workers of the transport own shards; 0: none
}

// Append appends the encoded form.
func (o *OpenRecords) Append(b []byte) []byte {
	b = AppendHead(b, o.Coll, 0)
	for _, w := range []uint64{
		uint64(o.Index.Key), o.Index.Addr, o.IndexBytes, o.BootID,
		uint64(o.Records.Key), o.Records.Addr, o.Space.Bytes, o.Space.Boot, o.Seed, uint64(o.Now),
	} {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if s := &o.Shard; s.Of > 0 {
		b = binary.LittleEndian.AppendUint64(b, s.Seed)
		for _, w := range []int{s.Of, s.Number, s.Workers, 0} {
			b = binary.LittleEndian.AppendUint16(b, uint16(w))
		}
	}
	return b
}

// GetOpenRecords decodes the answer to an open of records.
func GetOpenRecords(b []byte) (o OpenRecords, err error) {
	if len(b) != OpenRecordsBytes && len(b) != OpenShardBytes {
		return o, fmt.Errorf("%w: open answered %d bytes, want %d or %d", model.ErrProtocol, len(b), OpenRecordsBytes, OpenShardBytes)
	}
	if len(b) == OpenShardBytes {
		if o.Shard, err = getShardAt(b[OpenRecordsBytes:]); err != nil {
			return o, err
		}
	}
	w := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	return OpenRecords{
		Shard: o.Shard,
		Coll:  binary.LittleEndian.Uint32(b),
		Index: rdma.Remote{Key: rdma.Key(w(8)), Addr: w(16)}, IndexBytes: w(24), BootID: w(32),
		Records: rdma.Remote{Key: rdma.Key(w(40)), Addr: w(48)},
		Space:   record.Space{Bytes: w(56), Boot: w(64)}, Seed: w(72), Now: time.Duration(w(80)),
	}, nil
}

// getShardAt decodes 16 bytes.
func getShardAt(b []byte) (ShardAt, error) {
	w := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	s := ShardAt{binary.LittleEndian.Uint64(b), w(8), w(10), w(12)}
	if s.Of < 2 || s.Of > model.MaxShards || s.Number >= s.Of || s.Workers > MaxWorkers || w(14) != 0 {
		return s, fmt.Errorf("%w: shard %d of %d with %d owners, want up to %d shards and %d owners",
			model.ErrProtocol, s.Number, s.Of, s.Workers, model.MaxShards, MaxWorkers)
	}
	return s, nil
}

// AppendRecordsOptions appends the options of a collection of records.
func AppendRecordsOptions(b []byte, o model.RecordsOptions) []byte {
	table := byte(o.Table)
	if o.Keep {
		table |= WithKeep
	}
	if o.MaxBytes > 0 {
		table |= WithLimit
	}
	if o.Shards < 2 {
		b = append(b, table, byte(o.Items))
	} else {
		b = append(b, table|WithShards, byte(o.Items), byte(o.Shards))
	}
	if o.MaxBytes > 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(o.MaxBytes))
	}
	return b
}

// GetRecordsOptions decodes options, and returns what follows them.
func GetRecordsOptions(b []byte) (o model.RecordsOptions, rest []byte, err error) {
	if len(b) < 2 {
		return o, nil, fmt.Errorf("%w: collection of records described by %d bytes", model.ErrProtocol, len(b))
	}
	o = model.RecordsOptions{Table: cuckoo.Kind(b[0] &^ (WithShards | WithKeep | WithLimit)), Items: int(b[1]), Keep: b[0]&WithKeep != 0}
	rest = b[2:]
	if b[0]&WithShards != 0 {
		if len(rest) == 0 {
			return o, nil, fmt.Errorf("%w: shards of a collection of records described by %d bytes", model.ErrProtocol, len(b))
		}
		o.Shards, rest = int(rest[0]), rest[1:]
	}
	if b[0]&WithLimit != 0 {
		if len(rest) < 8 {
			return o, nil, fmt.Errorf("%w: limit of a collection of records described by %d bytes", model.ErrProtocol, len(b))
		}
		o.MaxBytes, rest = int64(binary.LittleEndian.Uint64(rest)), rest[8:]
	}
	if err := o.Validate(); err != nil {
		return o, nil, fmt.Errorf("%w: %w", model.ErrProtocol, err)
	}
	return o, rest, nil
}

// Found is the head of a record in the answer to a get or scan.
type Found struct {
	Revision   uint64 // 0: there is none
	Expiry     time.Duration
	ValueBytes uint32
	Flags      uint16
	// Lease is in whole seconds; with one, Ref is the record's reference.
	Lease time.Duration
	Ref   record.Ref
}

// Append appends the encoded form.
func (f *Found) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, f.Revision)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.Expiry))
	b = binary.LittleEndian.AppendUint32(b, f.ValueBytes)
	b = binary.LittleEndian.AppendUint16(b, f.Flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(f.Lease/time.Second))
	if f.Lease > 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Ref))
	}
	return b
}

// GetFound decodes the found that b, of at least FoundBytes, begins with, but for its Ref.
func GetFound(b []byte) Found {
	_ = b[FoundBytes-1]
	return Found{
		Revision: binary.LittleEndian.Uint64(b), Expiry: time.Duration(binary.LittleEndian.Uint64(b[8:])),
		ValueBytes: binary.LittleEndian.Uint32(b[16:]), Flags: binary.LittleEndian.Uint16(b[20:]),
		Lease: time.Duration(binary.LittleEndian.Uint16(b[22:])) * time.Second,
	}
}

// AppendKey appends a key behind its length.
func AppendKey(b, key []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(key))), key...)
}

// CutKey decodes the key that b begins with.
func CutKey(b []byte) (key, rest []byte, err error) {
	if len(b) < 2 || len(b)-2 < int(binary.LittleEndian.Uint16(b)) {
		return nil, nil, fmt.Errorf("%w: a key ends behind the request, %d bytes are left", model.ErrProtocol, len(b))
	}
	end := 2 + int(binary.LittleEndian.Uint16(b))
	return b[2:end], b[end:], nil
}

// ConditionOf is the argument of a write with a condition.
func ConditionOf(c kv.Condition) uint32 {
	f := uint32(0)
	if c.IfAbsent {
		f |= IfAbsent
	}
	if c.IfRevision != 0 {
		f |= IfRevision
	}
	if c.IfPresent {
		f |= IfPresent
	}
	return f
}

// GetCondition decodes the condition of a write.
func GetCondition(arg uint32, revision uint64) (kv.Condition, error) {
	c := kv.Condition{IfAbsent: arg&IfAbsent != 0, IfPresent: arg&IfPresent != 0}
	if arg&^(IfAbsent|IfPresent|IfRevision) != 0 || (arg&IfRevision != 0) != (revision != 0) {
		return c, fmt.Errorf("%w: a condition of %#x with revision %d", model.ErrProtocol, arg, revision)
	}
	c.IfRevision = revision
	return c, nil
}

// AppendCursor appends where a scan continues.
func AppendCursor(b []byte, c cuckoo.Cursor) []byte {
	b = binary.LittleEndian.AppendUint64(b, c.Moves)
	b = binary.LittleEndian.AppendUint64(b, c.Next)
	b = binary.LittleEndian.AppendUint64(b, c.Sub)
	b = append(b, c.Log2, c.Size)
	return append(AppendBool(b, c.Done), 0)
}

// GetCursor decodes any bytes, at least cursorBytes: any cursor is safe.
func GetCursor(b []byte) cuckoo.Cursor {
	_ = b[CursorBytes-1]
	return cuckoo.Cursor{
		Moves: binary.LittleEndian.Uint64(b), Next: binary.LittleEndian.Uint64(b[8:]), Sub: binary.LittleEndian.Uint64(b[16:]),
		Log2: b[24], Size: b[25], Done: b[26] != 0,
	}
}

// AppendRevision appends the condition's revision, which put and remove begin with.
func AppendRevision(b []byte, r uint64) []byte { return binary.LittleEndian.AppendUint64(b, r) }

// AppendPut appends the rest of a put, except the value.
func AppendPut(b []byte, expiry uint64, flags uint16, key []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, expiry)
	b = binary.LittleEndian.AppendUint16(b, flags)
	return AppendKey(b, key)
}

// GetRevision decodes the answer to a write.
func GetRevision(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: put answered %d bytes, want 8", model.ErrProtocol, len(b))
	}
	return binary.LittleEndian.Uint64(b), nil
}

// PutArgument changes the argument of a request's head.
func PutArgument(b []byte, arg uint32) { binary.LittleEndian.PutUint32(b[4:], arg) }

// GetScan decodes the answer to a scan. A Record whose value was left out has a
// nil Value. The Records refer to b.
func GetScan(b []byte) (l []model.Record, c cuckoo.Cursor, err error) {
	if len(b) < CursorBytes {
		return nil, c, fmt.Errorf("%w: scan answered %d bytes, want at least %d", model.ErrProtocol, len(b), CursorBytes)
	}
	c = GetCursor(b)
	for b = b[CursorBytes:]; len(b) > 0; {
		if len(b) < 2+FoundBytes {
			return nil, c, fmt.Errorf("%w: a scan's answer ends with %d bytes", model.ErrProtocol, len(b))
		}
		keyBytes, f := int(binary.LittleEndian.Uint16(b)), GetFound(b[2:])
		b = b[2+FoundBytes:]
		value := int64(f.ValueBytes)
		if value > ScanValue {
			value = 0
		}
		if int64(keyBytes)+value > int64(len(b)) {
			return nil, c, fmt.Errorf("%w: key of %d bytes, value of %d, %d are left of the answer", model.ErrProtocol, keyBytes, value, len(b))
		}
		r := model.Record{Key: b[:keyBytes:keyBytes], Revision: f.Revision, Flags: f.Flags}
		b = b[keyBytes:]
		if r.Expires = Expires(f.Expiry); f.ValueBytes <= ScanValue {
			r.Value = b[:value:value]
		}
		b = b[value:]
		l = append(l, r)
	}
	return l, c, nil
}

// Expires is the time of an expiry, zero for never.
func Expires(e time.Duration) time.Time {
	if e == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(e))
}

// ShardOf returns which of n shards has a key.
func ShardOf(seed uint64, key []byte, n int) int { return kv.ShardOf(seed, key, n) }

// ShardName is the name of a shard of a collection.
func ShardName(collection string, i int) string {
	if i == 0 {
		return collection
	}
	return collection + "/" + strconv.Itoa(i)
}
