package shm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Messages on the unix socket, one packet each (SOCK_SEQPACKET), little-
// endian, the kind in byte 0. Before the handshake is done:
//
//	offset  0     1       4        8         12     14        15
//	hello   kind | 0 ... | magic | version | depth | private | bytes...   + ring, table
//	accept  same layout                                                   + ring, table
//	reject  kind | 0 ... | magic | version | 0     | 0       | reason...
//
// Kind, magic and version keep their places in all later versions, so that
// both sides can report which version they speak. Then:
//
//	wake    kind
//	ask     kind | 0 ... | key at 8
//	answer  kind | status at 1 | access at 2 | slot at 4 | key at 8 |
//	        size at 16 | generation at 24                                 + region if OK
//	revoke  kind | 0 ... | key at 8
//	end     kind | reason...
//
// End is the last message of the side that ends a connection because of a limit.
// Older peers, which do not know it, treat it as garbage and end the connection.
const (
	kindHello = iota + 1
	kindAccept
	kindReject
	kindWake
	kindAsk
	kindAnswer
	kindRevoke
	kindEnd
)

const (
	magic = 0x46544143 // "CATF"

	// version of everything that two processes share: messages, ring,
	// table. 1: the first one.
	version = 1

	// maxReason bounds a refusal's text: a line or two.
	maxReason = 512

	greetBytes  = 15
	shortBytes  = 16
	answerBytes = 32

	// maxMessage fits every message; longer packets are truncated by
	// the kernel and then refused.
	maxMessage = greetBytes + maxReason

	// maxFds is the number of descriptors that a greeting brings.
	maxFds = 2
)

var (
	errMessage = errors.New("shm: malformed control message")
	errEnded   = errors.New("shm: the peer ended the connection")
)

// greeting is a hello, accept or reject.
type greeting struct {
	kind    byte
	version uint32
	depth   uint16 // of the sender's receive ring
	private []byte
	reason  string
}

func (g *greeting) encode() []byte {
	b := make([]byte, greetBytes, maxMessage)
	b[0] = g.kind
	binary.LittleEndian.PutUint32(b[4:], magic)
	binary.LittleEndian.PutUint32(b[8:], g.version)
	binary.LittleEndian.PutUint16(b[12:], g.depth)
	b[14] = byte(len(g.private))
	if g.kind == kindReject {
		return append(b, g.reason...)
	}
	return append(b, g.private...)
}

// decodeGreeting copies the bytes that it keeps. A version other than ours
// is not an error: only kind and version are filled in then.
func decodeGreeting(b []byte) (g greeting, err error) {
	if len(b) < 12 {
		return g, fmt.Errorf("%w: greeting of %d bytes, need 12", errMessage, len(b))
	}
	if m := binary.LittleEndian.Uint32(b[4:]); m != magic {
		return g, fmt.Errorf("%w: magic %#x, need %#x: not a Catfish socket", errMessage, m, magic)
	}
	g.kind, g.version = b[0], binary.LittleEndian.Uint32(b[8:])
	if g.kind < kindHello || g.kind > kindReject {
		return g, fmt.Errorf("%w: kind %d instead of a greeting", errMessage, g.kind)
	}
	if g.version != version {
		return g, nil
	}
	if len(b) < greetBytes {
		return g, fmt.Errorf("%w: greeting of %d bytes, need %d", errMessage, len(b), greetBytes)
	}
	rest := b[greetBytes:]
	if g.kind == kindReject {
		if len(rest) > maxReason {
			return g, fmt.Errorf("%w: reason of %d bytes, limit %d", errMessage, len(rest), maxReason)
		}
		g.reason = string(rest)
		return g, nil
	}
	g.depth = binary.LittleEndian.Uint16(b[12:])
	if g.depth == 0 || g.depth > maxDepth {
		return g, fmt.Errorf("%w: ring of %d events, allowed are 1 to %d", errMessage, g.depth, maxDepth)
	}
	if n := int(b[14]); n != len(rest) || n > rdma.MaxPrivateData {
		return g, fmt.Errorf("%w: %d bytes of private data, announced %d, limit %d",
			errMessage, len(rest), n, rdma.MaxPrivateData)
	}
	g.private = append([]byte(nil), rest...)
	return g, nil
}

// control is a message after the handshake.
type control struct {
	kind       byte
	status     rdma.Status
	access     rdma.Access
	slot       uint32
	key        rdma.Key
	size       uint64
	generation uint64
	reason     string // of an end, which has nothing else
}

// encode puts the message into b and returns its bytes. Of an end it encodes
// the kind alone.
func (c *control) encode(b *[answerBytes]byte) []byte {
	*b = [answerBytes]byte{c.kind, byte(c.status), byte(c.access)}
	binary.LittleEndian.PutUint32(b[4:], c.slot)
	binary.LittleEndian.PutUint64(b[8:], uint64(c.key))
	switch c.kind {
	case kindWake, kindEnd:
		return b[:1]
	case kindAnswer:
		binary.LittleEndian.PutUint64(b[16:], c.size)
		binary.LittleEndian.PutUint64(b[24:], c.generation)
		return b[:answerBytes]
	}
	return b[:shortBytes]
}

// decodeControl accepts exactly what encode produces for valid messages.
func decodeControl(b []byte) (c control, err error) {
	if len(b) == 0 {
		return c, fmt.Errorf("%w: empty", errMessage)
	}
	c.kind = b[0]
	want := shortBytes
	switch c.kind {
	case kindWake:
		want = 1
	case kindEnd:
		if len(b) > 1+maxReason {
			return c, fmt.Errorf("%w: reason of %d bytes, limit %d", errMessage, len(b)-1, maxReason)
		}
		c.reason = string(b[1:])
		return c, nil
	case kindAsk, kindRevoke:
	case kindAnswer:
		want = answerBytes
	default:
		return c, fmt.Errorf("%w: unknown kind %d", errMessage, c.kind)
	}
	if len(b) != want {
		return c, fmt.Errorf("%w: kind %d has %d bytes, need %d", errMessage, c.kind, len(b), want)
	}
	if c.kind == kindWake {
		return c, nil
	}
	c.key = rdma.Key(binary.LittleEndian.Uint64(b[8:]))
	if c.kind != kindAnswer {
		return c, nil
	}
	c.status, c.access = rdma.Status(b[1]), rdma.Access(b[2])
	c.slot = binary.LittleEndian.Uint32(b[4:])
	c.size = binary.LittleEndian.Uint64(b[16:])
	c.generation = binary.LittleEndian.Uint64(b[24:])
	switch c.status {
	case rdma.StatusRemoteKey, rdma.StatusRemoteAccess:
	case rdma.StatusOK:
		if c.access&remoteAccess == 0 || c.slot >= tableSlots || c.size == 0 || c.size > maxRegionBytes {
			return c, fmt.Errorf("%w: region with access %#x, slot %d, %d bytes",
				errMessage, uint8(c.access), c.slot, c.size)
		}
	default:
		return c, fmt.Errorf("%w: answer with status %d", errMessage, uint8(c.status))
	}
	return c, nil
}
