package lane

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/catfish-index/catfish/internal/rdma"
)

// The private data of the two sides. Magic and version keep their places in all
// later versions.
//
//	hello    0 "CFLG" | 4 version u16 | 6 flags u16: 1 for a copy | 8 boot of the primary u64 |
//	         16 ticket u64 | 24 group u32 | 28 member u32 |
//	         32 key of the ring u64 | 40 its address u64 | 48 its bytes u32 | 52 0 u32
//	welcome  0 "CFLG" | 4 version u16 | 6 flags u16, 0 |
//	         8 key of the acknowledgement line u64 | 16 its address u64
//
// The queue pair of a copy has no ring: these bytes are 0. Its welcome names the windows of
// package windows in place of the line.
const (
	Magic   = "CFLG"
	Version = 1

	HelloBytes   = 56 // rdma.MaxPrivateData
	WelcomeBytes = 24

	offVersion     = 4
	offHelloFlags  = 6
	offHelloBoot   = 8
	offHelloTicket = 16
	offHelloGroup  = 24
	offHelloMember = 28
	offHelloRing   = 32
	offHelloBytes  = 48
	offHelloZero   = 52
	offWelcomeAck  = 8

	flagCopy = 1
)

// Hello is what a follower says when it dials.
type Hello struct {
	Boot      uint64 // of the primary, so that no other process answers
	Ticket    uint64 // the permission to dial, from the stream between the two
	Group     uint32 // GroupSum of its name
	Member    uint32 // that dials
	Ring      rdma.Remote
	RingBytes uint32
	Copy      bool // the store is to be read, and there is no ring
}

// Welcome is the answer of the primary: its line, or of a copy its windows.
type Welcome struct{ Ack rdma.Remote }

// GroupSum stands for a group's name in a Hello.
func GroupSum(name string) uint32 { return crc32.Checksum([]byte(name), castagnoli) }

// IsHello reports whether private data is that of a lane, of any version.
func IsHello(private []byte) bool {
	return len(private) >= len(Magic) && string(private[:len(Magic)]) == Magic
}

// Encode returns the private data.
func (h *Hello) Encode() []byte {
	b := begin(HelloBytes)
	le := binary.LittleEndian
	if h.Copy {
		le.PutUint16(b[offHelloFlags:], flagCopy)
	}
	le.PutUint64(b[offHelloBoot:], h.Boot)
	le.PutUint64(b[offHelloTicket:], h.Ticket)
	le.PutUint32(b[offHelloGroup:], h.Group)
	le.PutUint32(b[offHelloMember:], h.Member)
	putRemote(b[offHelloRing:], h.Ring)
	le.PutUint32(b[offHelloBytes:], h.RingBytes)
	return b
}

// DecodeHello decodes a follower's private data. The caller checks boot, ticket, group
// and member.
func DecodeHello(b []byte) (h Hello, err error) {
	if err := check(b, HelloBytes, "hello", flagCopy); err != nil {
		return h, err
	}
	le := binary.LittleEndian
	h = Hello{
		Boot:      le.Uint64(b[offHelloBoot:]),
		Ticket:    le.Uint64(b[offHelloTicket:]),
		Group:     le.Uint32(b[offHelloGroup:]),
		Member:    le.Uint32(b[offHelloMember:]),
		Ring:      remote(b[offHelloRing:]),
		RingBytes: le.Uint32(b[offHelloBytes:]),
		Copy:      le.Uint16(b[offHelloFlags:])&flagCopy != 0,
	}
	var what string
	switch zero := le.Uint32(b[offHelloZero:]); {
	case h.Ticket == 0:
		what = "ticket 0, which is none"
	case zero != 0:
		what = fmt.Sprintf("reserved bytes %#x, want 0", zero)
	case h.Copy && (h.Ring != rdma.Remote{} || h.RingBytes != 0):
		what = fmt.Sprintf("a copy with a ring of %d bytes at %+v, want none", h.RingBytes, h.Ring)
	case h.Copy:
		return h, nil
	case h.RingBytes < MinRingBytes || h.RingBytes > MaxRingBytes || h.RingBytes%MinRingBytes != 0:
		what = fmt.Sprintf("a ring of %d bytes, allowed are multiples of %d from %d to %d",
			h.RingBytes, MinRingBytes, MinRingBytes, MaxRingBytes)
	case h.Ring.Addr+RegionBytes(int(h.RingBytes)) < h.Ring.Addr:
		what = fmt.Sprintf("a ring of %d bytes at address %#x", h.RingBytes, h.Ring.Addr)
	default:
		return h, nil
	}
	return Hello{}, fmt.Errorf("%w hello: %s", ErrInvalid, what)
}

// Encode returns the private data.
func (w *Welcome) Encode() []byte {
	b := begin(WelcomeBytes)
	putRemote(b[offWelcomeAck:], w.Ack)
	return b
}

// DecodeWelcome decodes a primary's private data.
func DecodeWelcome(b []byte) (w Welcome, err error) {
	if err := check(b, WelcomeBytes, "welcome", 0); err != nil {
		return w, err
	}
	w.Ack = remote(b[offWelcomeAck:])
	if w.Ack.Addr+AckBytes < w.Ack.Addr {
		return Welcome{}, fmt.Errorf("%w welcome: a line at address %#x", ErrInvalid, w.Ack.Addr)
	}
	return w, nil
}

func begin(n int) []byte {
	b := append(make([]byte, 0, n), Magic...)
	return binary.LittleEndian.AppendUint16(b, Version)[:n]
}

// check checks what both have: version first, whatever else a later one has. flags are known.
func check(b []byte, n int, what string, flags uint16) error {
	if len(b) < offHelloFlags || string(b[:len(Magic)]) != Magic {
		return fmt.Errorf("%w %s: %d bytes %.8q, want %q first", ErrInvalid, what, len(b), b, Magic)
	}
	if v := binary.LittleEndian.Uint16(b[offVersion:]); v != Version {
		return &VersionError{Theirs: v}
	}
	if len(b) != n {
		return fmt.Errorf("%w %s: %d bytes, want %d", ErrInvalid, what, len(b), n)
	}
	if f := binary.LittleEndian.Uint16(b[offHelloFlags:]); f&^flags != 0 {
		return fmt.Errorf("%w %s: flags %#x, known are %#x", ErrInvalid, what, f, flags)
	}
	return nil
}

// VersionError: the peer's lane has another version. It wraps ErrInvalid.
type VersionError struct{ Theirs uint16 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("lane: the peer has version %d, this side %d: upgrade the older one", e.Theirs, Version)
}

// Unwrap lets errors.Is find ErrInvalid.
func (e *VersionError) Unwrap() error { return ErrInvalid }

func putRemote(b []byte, r rdma.Remote) {
	binary.LittleEndian.PutUint64(b, uint64(r.Key))
	binary.LittleEndian.PutUint64(b[8:], r.Addr)
}

func remote(b []byte) rdma.Remote {
	return rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b)), Addr: binary.LittleEndian.Uint64(b[8:])}
}
