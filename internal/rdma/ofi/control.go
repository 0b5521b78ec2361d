//go:build ofi

package ofi

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// The control connection carries one message each way, then nothing:
//
//	0        8        12
//	+--------+--------+----------------+
//	| CATFOFI1 | length | JSON, greeting |   length: u32, little-endian
//	+--------+--------+----------------+
//
// The version is the last byte of the magic. JSON, because it is read once
// per connection and is easy to debug.
var controlMagic = [8]byte{'C', 'A', 'T', 'F', 'O', 'F', 'I', '1'}

// maxGreeting bounds the JSON: 1 KiB of reason, each byte of which may become
// six, private data and an address.
const maxGreeting = 8192

// maxReason bounds a refusal's text, as in package soft.
const maxReason = 1024

// greeting is what one side sends to the other.
type greeting struct {
	Provider string `json:"provider"` // libfabric's
	Fabric   string `json:"fabric,omitempty"`
	Token    uint64 `json:"token,string,omitempty"` // dialer: comes with its fi_connect
	Private  []byte `json:"private,omitempty"`
	Accepted bool   `json:"accepted,omitempty"` // listener
	Reason   string `json:"reason,omitempty"`   // listener: why not
	Addr     []byte `json:"addr,omitempty"`     // listener: sockaddr to connect to
}

// control is the connection that begins and ends with a queue pair.
type control struct {
	conn net.Conn
	peer string
	once sync.Once
	gone chan struct{} // closed when either end ends
}

func newControl(c net.Conn) *control {
	return &control{conn: c, peer: c.RemoteAddr().String(), gone: make(chan struct{})}
}

// errProtocol is a greeting that no correct peer sends.
var errProtocol = errors.New("ofi: protocol violation")

func (c *control) send(g greeting) error {
	body, err := json.Marshal(g)
	if err != nil {
		return err
	}
	b := append(controlMagic[:len(controlMagic):len(controlMagic)], 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(body)))
	_, err = c.conn.Write(append(b, body...))
	return err
}

func (c *control) receive() (g greeting, err error) {
	var b [12]byte
	if _, err := io.ReadFull(c.conn, b[:]); err != nil {
		return g, err
	}
	if [8]byte(b[:8]) != controlMagic {
		return g, fmt.Errorf("%w: %s began with %q, want %q", errProtocol, c.peer, b[:8], controlMagic[:])
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n > maxGreeting {
		return g, fmt.Errorf("%w: greeting of %d bytes, allowed %d", errProtocol, n, maxGreeting)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.conn, body); err != nil {
		return g, err
	}
	if err := json.Unmarshal(body, &g); err != nil {
		return g, fmt.Errorf("%w: %w", errProtocol, err)
	}
	if len(g.Private) > rdma.MaxPrivateData {
		return g, fmt.Errorf("%w: %d bytes of private data, allowed %d", errProtocol, len(g.Private), rdma.MaxPrivateData)
	}
	if g.Addr != nil && ipOf(g.Addr) == "" {
		return g, fmt.Errorf("%w: address %x is no sockaddr_in or sockaddr_in6", errProtocol, g.Addr)
	}
	return g, nil
}

// ipOf reads the address of a whole sockaddr_in or sockaddr_in6, "" for
// anything else: libfabric derives the length from the family.
func ipOf(sa []byte) string {
	if len(sa) < 2 {
		return ""
	}
	switch family := binary.NativeEndian.Uint16(sa); {
	case family == syscall.AF_INET && len(sa) == syscall.SizeofSockaddrInet4:
		return net.IP(sa[4:8]).String()
	case family == syscall.AF_INET6 && len(sa) == syscall.SizeofSockaddrInet6:
		return net.IP(sa[8:24]).String()
	}
	return ""
}

// until limits reads and writes by ctx. The returned function ends that; it
// returns ctx's error if ctx made reading or writing fail.
func (c *control) until(ctx context.Context) (end func() error) {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	return func() error {
		if !stop() {
			return context.Cause(ctx)
		}
		return nil
	}
}

// Keep-alives that detect a dead host within about rdma.PeerTimeout; the
// kernel counts in whole seconds.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 2}

// watch reads until the connection ends; ended is called then.
func (c *control) watch(ended func()) {
	if t, ok := c.conn.(*net.TCPConn); ok {
		_ = t.SetKeepAliveConfig(keepAlive) // without it, only hosts that vanish go unnoticed
	}
	var b [1]byte
	_, _ = c.conn.Read(b[:]) // a byte is an error, like the end
	c.close()
	ended()
}

func (c *control) close() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.conn.Close()
	})
}
