package querylog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// Kind says what was requested.
type Kind uint8

// The kinds of records.
const (
	Search Kind = 1 + iota
	Count
	Nearest
	Insert
	Delete
	Update
	Collection // gives a collection's number its name
	Dropped    // requests that are missing here
	endOfKinds
)

var kindNames = [endOfKinds]string{
	Search: "search", Count: "count", Nearest: "nearest", Insert: "insert",
	Delete: "delete", Update: "update", Collection: "collection", Dropped: "dropped",
}

func (k Kind) String() string {
	if k > 0 && k < endOfKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind%d", uint8(k))
}

// Writes reports whether the request changed the collection.
func (k Kind) Writes() bool { return k == Insert || k == Delete || k == Update }

// Asks reports whether the record is a request.
func (k Kind) Asks() bool { return k >= Search && k <= Update }

// Via says how a request reached the server.
type Via uint8

// The ways in. Offloaded searches reach no server.
const (
	ViaUnknown Via = iota
	ViaSHM
	ViaSoft
	ViaOFI
	ViaTCP
	ViaGRPC
	endOfVias
)

var viaNames = [endOfVias]string{"unknown", "shm", "soft", "ofi", "tcp", "grpc"}

func (v Via) String() string {
	if v < endOfVias {
		return viaNames[v]
	}
	return fmt.Sprintf("via%d", uint8(v))
}

// NotKnown is Found when the recorder did not see the answer.
const NotKnown = math.MaxUint32

// Record is one request, or a note among them. Fields that a kind does not
// use are zero.
type Record struct {
	Kind       Kind
	Via        Via
	Offset     time.Duration
	Client     uint32
	Collection uint32
	Limit      uint32
	Found      uint32

	Rect   rstar.Rect // Search, Count; Insert, Delete; Update: the old one
	To     rstar.Rect // Update
	ID     uint64     // Insert, Delete, Update
	X, Y   float64    // Nearest
	Within float64    // Nearest
	Name   string     // Collection
	Lost   uint64     // Dropped
}

const (
	headBytes  = 32
	rectBytes  = 32
	itemBytes  = rectBytes + 8
	checksumAt = 4
	offsetAt   = 8
	// collectionAt is, like the others, drawn in doc.go.
	collectionAt = 20
	// MaxName bounds a collection's name; the server's bound is the same.
	MaxName = 128
	// MaxRecord is the size of the longest record.
	MaxRecord = headBytes + MaxName
)

// castagnoli is the polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the record without its checksum, see Seal: the goroutine
// that serves requests leaves that to the one that writes the file.
func (r *Record) Append(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, byte(r.Kind), byte(r.Via), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Offset))
	b = binary.LittleEndian.AppendUint32(b, r.Client)
	b = binary.LittleEndian.AppendUint32(b, r.Collection)
	b = binary.LittleEndian.AppendUint32(b, r.Limit)
	b = binary.LittleEndian.AppendUint32(b, r.Found)
	switch r.Kind {
	case Search, Count:
		b = appendRect(b, r.Rect)
	case Nearest:
		b = appendFloat(appendFloat(appendFloat(b, r.X), r.Y), r.Within)
	case Insert, Delete:
		b = binary.LittleEndian.AppendUint64(appendRect(b, r.Rect), r.ID)
	case Update:
		b = appendRect(appendRect(b, r.Rect), r.To)
		b = binary.LittleEndian.AppendUint64(b, r.ID)
	case Collection:
		b = append(b, r.Name[:min(len(r.Name), MaxName)]...)
		for len(b)-start < headBytes+8 || (len(b)-start)%8 != 0 {
			b = append(b, 0)
		}
	case Dropped:
		b = binary.LittleEndian.AppendUint64(b, r.Lost)
	}
	binary.LittleEndian.PutUint16(b[start:], uint16(len(b)-start))
	return b
}

// Seal puts the checksum into the record that b begins with and returns
// the record's bytes. b must come from Append.
func Seal(b []byte) []byte {
	b = b[:binary.LittleEndian.Uint16(b)]
	binary.LittleEndian.PutUint32(b[checksumAt:], crc32.Checksum(b, castagnoli))
	return b
}

// OffsetOf reads the offset of the record that b begins with, which must
// come from Append.
func OffsetOf(b []byte) time.Duration {
	return time.Duration(binary.LittleEndian.Uint64(b[offsetAt:]))
}

// CollectionOf reads the collection's number, as OffsetOf does.
func CollectionOf(b []byte) uint32 { return binary.LittleEndian.Uint32(b[collectionAt:]) }

// bodyBytes is the body size of each kind, which is fixed except for names.
func bodyBytes(k Kind) (least, most int) {
	switch k {
	case Search, Count:
		return rectBytes, rectBytes
	case Nearest:
		return 24, 24
	case Insert, Delete:
		return itemBytes, itemBytes
	case Update:
		return 2*rectBytes + 8, 2*rectBytes + 8
	case Collection:
		return 8, MaxName
	case Dropped:
		return 8, 8
	}
	return -1, -1
}

// decode reads a whole record and verifies its checksum.
func decode(b []byte) (Record, error) {
	sum := binary.LittleEndian.Uint32(b[checksumAt:])
	got := crc32.Update(0, castagnoli, b[:checksumAt])
	got = crc32.Update(got, castagnoli, []byte{0, 0, 0, 0})
	got = crc32.Update(got, castagnoli, b[checksumAt+4:])
	if sum != got {
		return Record{}, fmt.Errorf("%w: checksum %08x, the bytes have %08x", ErrDamaged, sum, got)
	}
	r := Record{
		Kind: Kind(b[2]), Via: Via(b[3]), Offset: OffsetOf(b),
		Client:     binary.LittleEndian.Uint32(b[16:]),
		Collection: binary.LittleEndian.Uint32(b[20:]),
		Limit:      binary.LittleEndian.Uint32(b[24:]),
		Found:      binary.LittleEndian.Uint32(b[28:]),
	}
	if least, most := bodyBytes(r.Kind); len(b) < headBytes+least || len(b) > headBytes+most || least < 0 {
		return Record{}, fmt.Errorf("%w: %v of %d bytes", ErrDamaged, r.Kind, len(b))
	}
	return r, r.body(b[headBytes:])
}

func (r *Record) body(p []byte) error {
	switch r.Kind {
	case Search, Count:
		r.Rect = getRect(p)
	case Nearest:
		r.X, r.Y, r.Within = getFloat(p), getFloat(p[8:]), getFloat(p[16:])
		if !(r.Within >= 0) {
			return fmt.Errorf("%w: nearest within %v", ErrDamaged, r.Within)
		}
		r.Rect = rstar.Rect{MinX: r.X, MinY: r.Y, MaxX: r.X, MaxY: r.Y}
	case Insert, Delete:
		r.Rect, r.ID = getRect(p), binary.LittleEndian.Uint64(p[rectBytes:])
	case Update:
		r.Rect, r.To = getRect(p), getRect(p[rectBytes:])
		r.ID = binary.LittleEndian.Uint64(p[2*rectBytes:])
		if err := r.To.Validate(); err != nil {
			return fmt.Errorf("%w: %v: %w", ErrDamaged, r.Kind, err)
		}
	case Collection:
		if r.Name = string(bytes.TrimRight(p, "\x00")); r.Name == "" {
			return fmt.Errorf("%w: a collection without a name", ErrDamaged)
		}
	case Dropped:
		r.Lost = binary.LittleEndian.Uint64(p)
	}
	if err := r.Rect.Validate(); err != nil {
		return fmt.Errorf("%w: %v: %w", ErrDamaged, r.Kind, err)
	}
	return nil
}

func appendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func appendRect(b []byte, r rstar.Rect) []byte {
	return appendFloat(appendFloat(appendFloat(appendFloat(b, r.MinX), r.MinY), r.MaxX), r.MaxY)
}

func getFloat(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

func getRect(b []byte) rstar.Rect {
	return rstar.Rect{MinX: getFloat(b), MinY: getFloat(b[8:]), MaxX: getFloat(b[16:]), MaxY: getFloat(b[24:])}
}
