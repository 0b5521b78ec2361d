package catfish

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
)

// One TCP port carries everything that starts with a socket. The first
// eight bytes say what a connection is for:
//
//	0      4         6      8
//	+------+---------+------+
//	| CTFS | version | kind |   u32 magic, u16, u16, little-endian
//	+------+---------+------+
//	kind 1: hello. The server answers one JSON object (Hello) and closes.
//	kind 2: a queue pair of the soft provider follows.
//	kind 3: messages over plain sockets follow (tcp.go).
//	kind 4: the control connection of one of ofi's queue pairs follows.
//	kind 5: a key follows. The server answers one JSON object and closes.
//	kind 6: a ticket, and messages over plain sockets (ticket.go).
//
// The hello is the server's half of RDMA context detection: it says what
// the server has, so that the client can choose, and say why (detect.go).
const (
	helloMagic    = 0x53465443 // "CTFS"
	preambleBytes = 8

	streamHello = 1
	streamSoft  = 2
	streamTCP   = 3
	streamOFI   = 4

	// preambleTimeout ends connections that send no preamble.
	preambleTimeout = 5 * time.Second
	// maxHello bounds the JSON that a client accepts.
	maxHello = 64 << 10
)

// hello describes the server to clients.
type hello struct {
	Version    string       `json:"version"`
	Protocol   int          `json:"protocol"`
	BootID     uint64       `json:"boot_id,string"`
	Host       string       `json:"host"` // same string: same running kernel
	Transports []string     `json:"transports"`
	Socket     string       `json:"socket,omitempty"` // shm's
	UID        *uint32      `json:"uid,omitempty"`    // with Socket: the user that listens there
	Fabric     *fabricHello `json:"fabric,omitempty"` // ofi's
	Polling    bool         `json:"polling"`
	// Requests is the last kind of request that the server knows. 0: the
	// server is older than this field, and knows all up to kindSearchMany.
	Requests fastmsg.Kind `json:"requests,omitempty"`
	// Replaces: the server says of each put whether it replaced a feature, if the
	// request has storeSays.
	Replaces bool `json:"replaces,omitempty"`
	// Key: clients need a key (access.go).
	Key bool `json:"key,omitempty"`

	ticket uint64 // obtained later by the client; 0: none is needed
}

// fabricHello is the server's fabric device.
type fabricHello struct {
	Provider string `json:"provider"`
	Device   string `json:"device"`
	Name     string `json:"name"` // of the network; devices of equal names may connect
	Addr     string `json:"addr"`
}

func preamble(version, kind uint16) [preambleBytes]byte {
	var b [preambleBytes]byte
	binary.LittleEndian.PutUint32(b[:], helloMagic)
	binary.LittleEndian.PutUint16(b[4:], version)
	binary.LittleEndian.PutUint16(b[6:], kind)
	return b
}

// readPreamble returns the kind of stream that a peer opens.
func readPreamble(c net.Conn) (kind uint16, err error) {
	var b [preambleBytes]byte
	if err := c.SetReadDeadline(time.Now().Add(preambleTimeout)); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return 0, err
	}
	if m := binary.LittleEndian.Uint32(b[:]); m != helloMagic {
		return 0, fmt.Errorf("%w: stream begins with %#08x, want %#08x", ErrProtocol, m, helloMagic)
	}
	kind = binary.LittleEndian.Uint16(b[6:])
	// A hello is answered whatever the version: the answer has this server's.
	if v := binary.LittleEndian.Uint16(b[4:]); v != protocolVersion && kind != streamHello {
		return 0, fmt.Errorf("%w: peer speaks protocol %d, this server %d", ErrVersionMismatch, v, protocolVersion)
	}
	return kind, c.SetReadDeadline(time.Time{})
}

// dialStream connects and sends the preamble.
func dialStream(ctx context.Context, addr string, kind uint16) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	p := preamble(protocolVersion, kind)
	if _, err := c.Write(p[:]); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// askHello gets the hello of the server at addr.
func askHello(ctx context.Context, addr string) (hello, error) {
	c, err := dialStream(ctx, addr, streamHello)
	if err != nil {
		return hello{}, fmt.Errorf("%w at %s: %w", ErrNoServer, addr, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var h hello
	if err := json.NewDecoder(io.LimitReader(c, maxHello)).Decode(&h); err != nil {
		return hello{}, fmt.Errorf("%w at %s: %w", ErrNoServer, addr, noHello(ctx, err))
	}
	if h.Protocol != protocolVersion {
		return hello{}, fmt.Errorf("%w: server %s at %s speaks protocol %d, this client %s speaks %d",
			ErrVersionMismatch, h.Version, addr, h.Protocol, Version, protocolVersion)
	}
	return h, nil
}

const intervalBits = 48 // of the hello's second word; below the worker

func intervalIn(hello []byte) time.Duration {
	return time.Duration(binary.LittleEndian.Uint64(hello[8:]) & (1<<intervalBits - 1))
}

// askWorker makes a client's hello name a worker, from 0 on.
func askWorker(hello []byte, n int) []byte {
	binary.LittleEndian.PutUint16(hello[14:], uint16(n+1))
	return hello
}

// workerNamed returns the worker that a client's hello names.
func workerNamed(hello []byte) (n int, named bool) {
	if len(hello) != clientHelloBytes {
		return 0, false
	}
	w := binary.LittleEndian.Uint16(hello[14:])
	return int(w) - 1, w > 0
}

// checkWorker refuses a hello that names another worker than worker number, counted
// from 1. 0: the worker serves one connection.
func checkWorker(hello []byte, number int) error {
	if n, named := workerNamed(hello); named && n+1 != number {
		return fmt.Errorf("%w: hello names worker %d, and there is none", ErrProtocol, n)
	}
	return nil
}
