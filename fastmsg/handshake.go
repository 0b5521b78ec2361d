package fastmsg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/catfish-index/catfish/internal/rdma"
)

// The private data of Dial and Accept, in both directions, little-endian:
//
//	offset width
//	0      4     magic "CFMG"
//	4      2     protocol version
//	6      2     length of the hello
//	8      4     bytes of the ring that the peer may write
//	12     4     flags, see below
//	16     8     key of the region with that ring
//	24     8     address of the region's first byte
//	32     ...   hello, at most 24 bytes, defined by the owner
//
// The client's ring starts after the mailbox page, the server's at 0. With flag
// 1 the client announces its requests in memory (tail.go): the server's ring is
// followed by a line for the tail. With flag 2 the client may fetch its answers
// (leave.go). With flag 4 messages announce themselves, both ways (placed.go). The
// server answers with the same flags.
const (
	magic = "CFMG"
	// ProtocolVersion counts incompatible changes of rings, messages
	// and handshake. 1: the first. 2: regions have an address. 3: flags.
	ProtocolVersion = 3
	flagInMemory    = 1
	flagPlaced      = 4
	helloOffset     = 32
	// MaxHello is how much of the private data is left for the owner.
	MaxHello = rdma.MaxPrivateData - helloOffset
	// MailboxBytes is the page before the client's ring.
	MailboxBytes = 4096
)

type handshake struct {
	ringBytes int
	region    rdma.Remote
	hello     []byte
	inMemory  bool
	fetch     bool
	placed    bool
}

func (h handshake) encode() ([]byte, error) {
	if len(h.hello) > MaxHello {
		return nil, fmt.Errorf("%w: hello of %d bytes, limit %d",
			ErrTooLarge, len(h.hello), MaxHello)
	}
	b := make([]byte, helloOffset, helloOffset+len(h.hello))
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[4:], ProtocolVersion)
	binary.LittleEndian.PutUint16(b[6:], uint16(len(h.hello)))
	binary.LittleEndian.PutUint32(b[8:], uint32(h.ringBytes))
	flags := uint32(0)
	if h.inMemory {
		flags |= flagInMemory
	}
	if h.fetch {
		flags |= flagFetch
	}
	if h.placed {
		flags |= flagPlaced
	}
	binary.LittleEndian.PutUint32(b[12:], flags)
	binary.LittleEndian.PutUint64(b[16:], uint64(h.region.Key))
	binary.LittleEndian.PutUint64(b[24:], h.region.Addr)
	return append(b, h.hello...), nil
}

// decodeHandshake accepts trailing bytes: some fabrics pad private data.
// peer and self are "client" or "server", for error messages.
func decodeHandshake(b []byte, peer, self string) (h handshake, err error) {
	if len(b) < helloOffset || string(b[:4]) != magic {
		return h, protocolError("the %s does not speak fastmsg (%d bytes of "+
			"private data without its magic)", peer, len(b))
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != ProtocolVersion {
		return h, fmt.Errorf("%w: the %s speaks "+versionMark+" %d, the %s %d",
			ErrVersion, peer, v, self, ProtocolVersion)
	}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	if n > MaxHello || helloOffset+n > len(b) {
		return h, protocolError("hello of %d bytes in %d of private data",
			n, len(b))
	}
	h.ringBytes = int(binary.LittleEndian.Uint32(b[8:]))
	if err := checkRing(h.ringBytes); err != nil {
		return h, errors.Join(ErrProtocol, err)
	}
	flags := binary.LittleEndian.Uint32(b[12:])
	if known := uint32(flagInMemory | flagFetch | flagPlaced); flags&^known != 0 || flags&flagPlaced != 0 && flags != flagPlaced {
		return h, protocolError("the %s sent flags %#x, known are %#x, %#x only alone", peer, flags, known, flagPlaced)
	}
	h.inMemory, h.fetch, h.placed = flags&flagInMemory != 0, flags&flagFetch != 0, flags&flagPlaced != 0
	h.region = rdma.Remote{
		Key:  rdma.Key(binary.LittleEndian.Uint64(b[16:])),
		Addr: binary.LittleEndian.Uint64(b[24:]),
	}
	h.hello = append([]byte(nil), b[helloOffset:helloOffset+n]...)
	return h, nil
}

// HelloIn is the hello in the private data of a client's dial, for choosing the
// Worker. nil: no Worker would accept the data.
func HelloIn(private []byte) []byte {
	h, err := decodeHandshake(private, "client", "server")
	if err != nil {
		return nil
	}
	return h.hello
}

// checkRing checks that a ring has whole pages, within the limits.
func checkRing(bytes int) error {
	if bytes < MinRingBytes || bytes > MaxRingBytes || bytes%MinRingBytes != 0 {
		return fmt.Errorf("%w: ring of %d bytes, allowed are multiples of %d "+
			"from %d to %d", ErrConfig, bytes, MinRingBytes, MinRingBytes, MaxRingBytes)
	}
	return nil
}

const versionMark = "fastmsg protocol version"

// dialError adds ErrVersion to a rejection for that reason.
func dialError(err error) error {
	var reject *rdma.RejectError
	if errors.As(err, &reject) && strings.Contains(reject.Reason, versionMark) {
		return fmt.Errorf("%w: %w", ErrVersion, err)
	}
	return err
}
