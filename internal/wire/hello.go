package wire

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
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
//	kind 3: messages over plain sockets follow (frame.go).
//	kind 4: the control connection of one of ofi's queue pairs follows.
//	kind 5: a key follows. The server answers one JSON object and closes.
//	kind 6: a ticket, and messages over plain sockets (ticket.go).
//	kind 7: the log and its acknowledgements, between members of a group.
//	kind 8: HTTP that a member forwards to the primary. kind 9: gRPC.
//	kind 10: moves between groups. kind 11: what HTTP and gRPC ask another group.
//
// The hello is the server's half of RDMA context detection: it says what
// the server has, so that the client can choose, and say why (choose.go).
const (
	helloMagic    = 0x53465443 // "CTFS"
	PreambleBytes = 8

	StreamHello = 1
	StreamSoft  = 2
	StreamTCP   = 3
	StreamOFI   = 4
	// Of members of a group (internal/replica/link); 5 and 6 are in ticket.go.
	StreamReplica = 7
	StreamHTTP    = 8
	StreamGRPC    = 9
	// Between groups: moves (internal/mover), and what HTTP and gRPC ask (internal/whole).
	StreamMoves  = 10
	StreamGroups = 11

	// PreambleTimeout ends connections that send no preamble.
	PreambleTimeout = 5 * time.Second
	// maxHello bounds the JSON that a client accepts.
	maxHello = 64 << 10
)

// Hello describes the server to clients.
type Hello struct {
	Version    string       `json:"version"`
	Protocol   int          `json:"protocol"`
	BootID     uint64       `json:"boot_id,string"`
	Host       string       `json:"host"` // same string: same running kernel
	Transports []string     `json:"transports"`
	Socket     string       `json:"socket,omitempty"` // shm's
	UID        *uint32      `json:"uid,omitempty"`    // with Socket: the user that listens there
	Fabric     *FabricHello `json:"fabric,omitempty"` // ofi's
	Polling    bool         `json:"polling"`
	// Requests is the last kind of request that the server knows. 0: the
	// server is older than this field, and knows all up to KindSearchMany.
	Requests fastmsg.Kind `json:"requests,omitempty"`
	// Replaces: the server says of each put whether it replaced a feature, if the
	// request has StoreSays.
	Replaces bool `json:"replaces,omitempty"`
	// KeepsRecords: createRecords may have WithKeep.
	KeepsRecords bool `json:"keeps_records,omitempty"`
	// LimitsRecords: createRecords may have WithLimit.
	LimitsRecords bool `json:"limits_records,omitempty"`
	// LeasesRecords: a get may have WithLeases.
	LeasesRecords bool `json:"leases_records,omitempty"`
	// Key: clients need a key (ticket.go).
	Key bool `json:"key,omitempty"`
	// Group: the server is a member of one.
	Group *GroupHello `json:"group,omitempty"`
	// Cluster: the group is one of those that have the store together, or may be.
	Cluster *ClusterHello `json:"cluster,omitempty"`

	Ticket uint64 // obtained later by the client; 0: none is needed
}

// GroupHello says what a member knows of its group.
type GroupHello struct {
	Name     string `json:"name"`
	Node     string `json:"node"` // this server
	Role     string `json:"role"` // RolePrimary, RoleSecondary, learner or failed
	Term     uint64 `json:"term"`
	Revision uint64 `json:"revision"` // of the last write that its readers see
	Primary  string `json:"primary"`  // a node
	// Requests a second, reads and writes of ids, of the last minutes; 0: not known.
	Requests float64       `json:"requests,omitempty"`
	Lane     *LaneHello    `json:"lane,omitempty"`
	Copy     *CopyHello    `json:"copy,omitempty"`
	Members  []GroupMember `json:"members"`
}

// LaneHello says how the log comes to a member from the primary.
type LaneHello struct {
	Transport string `json:"transport"`
	Reason    string `json:"reason"`               // why it is this one
	RingBytes int    `json:"ring_bytes,omitempty"` // 0: frames go over the stream
}

// CopyHello says what copy of the store a member sends to a new one.
type CopyHello struct {
	To        string `json:"to"` // an address
	Transport string `json:"transport"`
	Reason    string `json:"reason"` // why it is this one
	Sent      int64  `json:"sent_bytes"`
	Bytes     int64  `json:"bytes"` // of all
}

// RolePrimary is the role of the member that takes writes, RoleSecondary that of one that has
// all that was acknowledged.
const (
	RolePrimary   = "primary"
	RoleSecondary = "secondary"
)

// GroupMember is a member's name and address.
type GroupMember struct {
	Node string `json:"node"`
	Addr string `json:"addr"`
}

// FabricHello is the server's fabric device.
type FabricHello struct {
	Provider string `json:"provider"`
	Device   string `json:"device"`
	Name     string `json:"name"` // of the network; devices of equal names may connect
	Addr     string `json:"addr"`
}

// Preamble returns the first bytes of a stream.
func Preamble(version, kind uint16) [PreambleBytes]byte {
	var b [PreambleBytes]byte
	binary.LittleEndian.PutUint32(b[:], helloMagic)
	binary.LittleEndian.PutUint16(b[4:], version)
	binary.LittleEndian.PutUint16(b[6:], kind)
	return b
}

// ReadPreamble returns the kind of stream that a peer opens.
func ReadPreamble(c net.Conn) (kind uint16, err error) {
	var b [PreambleBytes]byte
	if err := c.SetReadDeadline(time.Now().Add(PreambleTimeout)); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return 0, err
	}
	if m := binary.LittleEndian.Uint32(b[:]); m != helloMagic {
		return 0, fmt.Errorf("%w: stream begins with %#08x, want %#08x", model.ErrProtocol, m, helloMagic)
	}
	kind = binary.LittleEndian.Uint16(b[6:])
	// A hello is answered whatever the version: the answer has this server's.
	if v := binary.LittleEndian.Uint16(b[4:]); v != ProtocolVersion && kind != StreamHello {
		return 0, fmt.Errorf("%w: peer speaks protocol %d, this server %d", model.ErrVersionMismatch, v, ProtocolVersion)
	}
	return kind, c.SetReadDeadline(time.Time{})
}

// DialStream connects and sends the preamble.
func DialStream(ctx context.Context, addr string, kind uint16) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	p := Preamble(ProtocolVersion, kind)
	if _, err := c.Write(p[:]); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// AskHello gets the hello of the server at addr.
func AskHello(ctx context.Context, addr string) (Hello, error) {
	c, err := DialStream(ctx, addr, StreamHello)
	if err != nil {
		return Hello{}, fmt.Errorf("%w at %s: %w", model.ErrNoServer, addr, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var h Hello
	if err := json.NewDecoder(io.LimitReader(c, maxHello)).Decode(&h); err != nil {
		return Hello{}, fmt.Errorf("%w at %s: %w", model.ErrNoServer, addr, noHello(ctx, err))
	}
	if h.Protocol != ProtocolVersion {
		return Hello{}, fmt.Errorf("%w: server %s at %s speaks protocol %d, this client %s speaks %d",
			model.ErrVersionMismatch, h.Version, addr, h.Protocol, model.Version, ProtocolVersion)
	}
	return h, nil
}

const intervalBits = 48 // of the hello's second word; below the worker

// IntervalIn returns the heartbeat interval that a client asks for.
func IntervalIn(hello []byte) time.Duration {
	return time.Duration(binary.LittleEndian.Uint64(hello[8:]) & (1<<intervalBits - 1))
}

// AskWorker makes a client's hello name a worker, from 0 on.
func AskWorker(hello []byte, n int) []byte {
	binary.LittleEndian.PutUint16(hello[14:], uint16(n+1))
	return hello
}

// WorkerNamed returns the worker that a client's hello names.
func WorkerNamed(hello []byte) (n int, named bool) {
	if len(hello) != ClientHelloBytes {
		return 0, false
	}
	w := binary.LittleEndian.Uint16(hello[14:])
	return int(w) - 1, w > 0
}

// CheckWorker refuses a hello that names another worker than worker number, counted
// from 1. 0: the worker serves one connection.
func CheckWorker(hello []byte, number int) error {
	if n, named := WorkerNamed(hello); named && n+1 != number {
		return fmt.Errorf("%w: hello names worker %d, and there is none", model.ErrProtocol, n)
	}
	return nil
}

// otherPorts names ports of the same server that do not speak its protocol. The HTTP
// port takes a hello for part of a request, and waits for the rest.
const otherPorts = "the ports of --http, --grpc and --metrics are others"

// noHello says what listens at an address, if it did not answer as a server does.
func noHello(ctx context.Context, err error) error {
	var broken net.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("something listens there, but does not answer ("+otherPorts+"): %w", ctx.Err())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("what listens there ended the connection without an answer (a server that"+
			" ends, or has no room for more connections; try again later): %w", err)
	case errors.As(err, &broken):
		return err
	}
	return fmt.Errorf("what listens there is no Catfish server, by its answer ("+otherPorts+"): %w", err)
}

// The hello of a client's ring connection: which server the client means, and how
// often it wants a heartbeat.
//
//	0 boot id u64 | 8 heartbeat interval ns u48 | 14 worker u16 | 16 flags u64
//
// Worker is 1 more than the number of the worker that is to serve the connection
// (lanes.go of package client), 0: any.
//
// The upper 63 bits of the flags are a ticket (ticket.go). Flag 1 asks the worker to
// poll while the connection is open. The paper's fast messaging with polling also
// announces requests in memory, which the handshake of fastmsg says.
const (
	ClientHelloBytes = 24
	HelloPolling     = 1
)

// AppendClientHello appends what a client says of itself.
func AppendClientHello(b []byte, boot uint64, interval time.Duration, polling bool) []byte {
	b = binary.LittleEndian.AppendUint64(b, boot)
	b = binary.LittleEndian.AppendUint64(b, uint64(interval))
	flags := uint64(0)
	if polling {
		flags |= HelloPolling
	}
	return binary.LittleEndian.AppendUint64(b, flags)
}
