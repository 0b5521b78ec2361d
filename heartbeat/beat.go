package heartbeat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// Bytes is the size of an encoded Beat: one cache line.
const Bytes = 64

// Beat is one heartbeat: the load of a server at one time.
type Beat struct {
	Sequence uint64        // from 1, increasing; counted by the Sender
	Time     time.Time     // by the server's clock
	Interval time.Duration // until the next heartbeat, in whole microseconds
	// CPU is the utilisation, 0 to 1, of the cores that the server may use,
	// or of its cgroup quota, whichever is nearer to its limit. Time spent
	// spinning for work does not count.
	CPU float64
	// Busy is the share of their time that the server's workers spend
	// serving requests, 0 to 1.
	Busy           float64
	Waiting        uint32 // requests that have arrived and are not served yet
	BytesPerSecond uint64 // payload of the answers sent
	// Numbers are the server's own. They arrive as they are.
	Numbers [2]uint64
}

// A heartbeat in memory, little-endian, 64-byte aligned:
//
//	offset width
//	0      8     sequence; 0: no heartbeat has arrived yet
//	8      8     time, ns since 1970
//	16     4     interval, us
//	20     4     CPU utilisation, float32
//	24     4     busy share, float32
//	28     4     requests waiting
//	32     8     bytes out per second
//	40     16    the server's own numbers; 0 before they had a meaning
//	56     4     magic "CFH" and layout version '1'
//	60     4     CRC-32C of bytes 0 to 59
//
// A read of the cache line is atomic (package lines), but the write need not
// be: an emulated NIC may store it in parts, and be preempted in between. The
// checksum reveals a line that is partly old and partly new.
const (
	offTime     = 8
	offInterval = 16
	offCPU      = 20
	offBusy     = 24
	offWaiting  = 28
	offRate     = 32
	offNumbers  = 40
	offMagic    = 56
	offCRC      = 60

	magic = "CFH1"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of Decode. After ErrNone and ErrTorn another attempt may succeed.
var (
	ErrNone    = errors.New("heartbeat: none has arrived yet")
	ErrTorn    = errors.New("heartbeat: is being written")
	ErrInvalid = errors.New("heartbeat: invalid")
)

// Encode writes b into the first 64 bytes of dst. Values out of range are
// clamped.
func (b *Beat) Encode(dst []byte) {
	_ = dst[Bytes-1]
	le := binary.LittleEndian
	le.PutUint64(dst, b.Sequence)
	le.PutUint64(dst[offTime:], uint64(b.Time.UnixNano()))
	us := min(max(b.Interval.Microseconds(), 1), math.MaxUint32)
	le.PutUint32(dst[offInterval:], uint32(us))
	le.PutUint32(dst[offCPU:], math.Float32bits(float32(share(b.CPU))))
	le.PutUint32(dst[offBusy:], math.Float32bits(float32(share(b.Busy))))
	le.PutUint32(dst[offWaiting:], b.Waiting)
	le.PutUint64(dst[offRate:], b.BytesPerSecond)
	le.PutUint64(dst[offNumbers:], b.Numbers[0])
	le.PutUint64(dst[offNumbers+8:], b.Numbers[1])
	copy(dst[offMagic:], magic)
	le.PutUint32(dst[offCRC:], crc32.Checksum(dst[:offCRC], castagnoli))
}

// share clamps x to 0..1. NaN, which an empty window yields, becomes 0.
func share(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

// Decode reads a heartbeat from the first 64 bytes of src, which must be a
// private copy.
func Decode(src []byte) (b Beat, err error) {
	if len(src) < Bytes {
		return b, fmt.Errorf("%w: %d bytes, want %d", ErrInvalid, len(src), Bytes)
	}
	le := binary.LittleEndian
	if b.Sequence = le.Uint64(src); b.Sequence == 0 {
		return Beat{}, ErrNone
	}
	if crc32.Checksum(src[:offCRC], castagnoli) != le.Uint32(src[offCRC:]) {
		return Beat{}, ErrTorn
	}
	if string(src[offMagic:offCRC]) != magic {
		return Beat{}, fmt.Errorf("%w: magic %q, want %q", ErrInvalid, src[offMagic:offCRC], magic)
	}
	b.Time = time.Unix(0, int64(le.Uint64(src[offTime:])))
	b.Interval = time.Duration(le.Uint32(src[offInterval:])) * time.Microsecond
	b.CPU = float64(math.Float32frombits(le.Uint32(src[offCPU:])))
	b.Busy = float64(math.Float32frombits(le.Uint32(src[offBusy:])))
	b.Waiting = le.Uint32(src[offWaiting:])
	b.BytesPerSecond = le.Uint64(src[offRate:])
	b.Numbers = [2]uint64{le.Uint64(src[offNumbers:]), le.Uint64(src[offNumbers+8:])}
	switch {
	case !(b.CPU >= 0 && b.CPU <= 1):
		return Beat{}, fmt.Errorf("%w: CPU utilisation %v, allowed are 0 to 1", ErrInvalid, b.CPU)
	case !(b.Busy >= 0 && b.Busy <= 1):
		return Beat{}, fmt.Errorf("%w: busy share %v, allowed are 0 to 1", ErrInvalid, b.Busy)
	case b.Interval == 0:
		return Beat{}, fmt.Errorf("%w: interval 0", ErrInvalid)
	}
	return b, nil
}
