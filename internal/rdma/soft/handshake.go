package soft

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/internal/rdma"
)

// version is the protocol's. History: 1, the first.
const version = 1

var magic = [8]byte{'C', 'A', 'T', 'F', 'S', 'O', 'F', 'T'}

// A connection begins with a hello of the dialer and the answer of the
// listener, in the same layout, little-endian. The first 12 bytes keep
// their meaning in every version.
//
//	0        8         10       12      16      20        24        32
//	+--------+---------+--------+-------+-------+---------+---------+
//	| magic  | version | length | recv  | send  | verdict | max     |
//	|        |         |        | depth | depth |         | request |
//	+--------+---------+--------+-------+-------+---------+---------+
//	32       40        40+length
//	+--------+---------+
//	| read   | body    |
//	| window |         |
//	+--------+---------+
//
// The body is private data, or in an answer with verdictReject the reason as
// text. The verdict is 0 in the dialer's hello.
const (
	helloBytes  = 40
	frozenBytes = 12
	maxReason   = 1024
	maxDepth    = 1 << 20

	verdictHello  = 0
	verdictAccept = 1
	verdictReject = 2
)

// hello is one side's half of the handshake.
type hello struct {
	recvDepth  uint32 // WriteImms that the sender of this hello accepts unpolled
	sendDepth  uint32 // requests that it keeps outstanding
	verdict    uint32
	maxRequest uint64 // bytes of one request that it serves
	readWindow uint64 // bytes of Reads in flight that it serves
	body       []byte
}

func (h *hello) encode() []byte {
	b := make([]byte, 0, helloBytes+len(h.body))
	b = append(b, magic[:]...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(h.body)))
	b = binary.LittleEndian.AppendUint32(b, h.recvDepth)
	b = binary.LittleEndian.AppendUint32(b, h.sendDepth)
	b = binary.LittleEndian.AppendUint32(b, h.verdict)
	b = binary.LittleEndian.AppendUint64(b, h.maxRequest)
	b = binary.LittleEndian.AppendUint64(b, h.readWindow)
	return append(b, h.body...)
}

// readHello reads a hello, and nothing after it. Errors are those of r,
// a *VersionError, or ErrProtocol.
func readHello(r io.Reader, peer string) (*hello, error) {
	var b [helloBytes]byte
	if _, err := io.ReadFull(r, b[:frozenBytes]); err != nil {
		return nil, err
	}
	if !bytes.Equal(b[:8], magic[:]) {
		return nil, violation("%s does not speak this protocol: "+
			"it began with %q instead of %q", peer, b[:8], magic[:])
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != version {
		return nil, &VersionError{Peer: peer, Ours: version, Theirs: v}
	}
	if _, err := io.ReadFull(r, b[frozenBytes:]); err != nil {
		return nil, err
	}
	h := &hello{
		recvDepth:  binary.LittleEndian.Uint32(b[12:]),
		sendDepth:  binary.LittleEndian.Uint32(b[16:]),
		verdict:    binary.LittleEndian.Uint32(b[20:]),
		maxRequest: binary.LittleEndian.Uint64(b[24:]),
		readWindow: binary.LittleEndian.Uint64(b[32:]),
	}
	length, most := int(binary.LittleEndian.Uint16(b[10:])), rdma.MaxPrivateData
	if h.verdict == verdictReject {
		most = maxReason
	}
	if length > most {
		return nil, violation("hello with %d bytes of data, allowed %d",
			length, most)
	}
	h.body = make([]byte, length)
	if _, err := io.ReadFull(r, h.body); err != nil {
		return nil, err
	}
	if h.verdict == verdictReject {
		return h, nil
	}
	return h, h.validate()
}

func (h *hello) validate() error {
	for _, f := range []struct {
		name     string
		v        uint64
		min, max uint64
	}{
		{"receive depth", uint64(h.recvDepth), 1, maxDepth},
		{"send depth", uint64(h.sendDepth), 1, maxDepth},
		{"maximum request", h.maxRequest, 1, maxBytes},
		{"read window", h.readWindow, 1, maxBytes},
		{"verdict", uint64(h.verdict), verdictHello, verdictAccept},
	} {
		if f.v < f.min || f.v > f.max {
			return violation("hello with %s %d, allowed %d to %d",
				f.name, f.v, f.min, f.max)
		}
	}
	return nil
}

// checkConfig applies defaults, and refuses configurations that cannot work.
func (d *device) checkConfig(cfg *rdma.QPConfig, private []byte) error {
	if len(private) > rdma.MaxPrivateData {
		return fmt.Errorf("%w: %d bytes, allowed %d", rdma.ErrTooLarge,
			len(private), rdma.MaxPrivateData)
	}
	for _, cq := range []rdma.CompletionQueue{cfg.SendCQ, cfg.RecvCQ} {
		if c, ok := cq.(*completionQueue); !ok || c.dev != d {
			return fmt.Errorf("%w: SendCQ and RecvCQ must be completion "+
				"queues of this device", rdma.ErrBadRequest)
		}
	}
	for _, p := range []*int{&cfg.SendDepth, &cfg.RecvDepth} {
		if *p == 0 {
			*p = rdma.DefaultDepth
		}
		if *p < 1 || *p > maxDepth {
			return fmt.Errorf("%w: queue depth %d, allowed 1 to %d",
				rdma.ErrBadRequest, *p, maxDepth)
		}
	}
	return nil
}

// ourHello describes this side of a queue pair to be.
func (d *device) ourHello(cfg *rdma.QPConfig, verdict uint32, private []byte) *hello {
	return &hello{
		recvDepth:  uint32(cfg.RecvDepth),
		sendDepth:  uint32(cfg.SendDepth),
		verdict:    verdict,
		maxRequest: uint64(d.opt.MaxRequest),
		readWindow: uint64(d.opt.ReadWindow),
		body:       private,
	}
}
