package catfish

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The bytes by which a client shows its key, little-endian, always after the
// preamble (hello.go):
//
//	kind 5: a key
//	8       10
//	+-------+----------+
//	| n u16 | n bytes  |     the server answers one JSON object (ticketAnswer)
//	+-------+----------+     and closes
//
//	kind 6: messages over plain sockets, with a ticket
//	8            16
//	+------------+
//	| ticket u64 |           messages follow, as with kind 3
//	+------------+
//
// The hello of a ring has the ticket in the upper 63 bits of its flags. The hello
// of a read channel has it at its end.
const (
	streamKey       = 5
	streamTCPTicket = 6

	// maxKey bounds the key that a server reads.
	maxKey = 1 << 10
)

// ticketAnswer is a server's answer to a key.
type ticketAnswer struct {
	Ticket uint64 `json:"ticket,string,omitempty"`
	Error  string `json:"error,omitempty"`
}

// greet handles the streams that show a key or a ticket. It returns the kind of
// stream that the caller is to serve, and the guard of a plain socket; or done, if
// the stream needs no further service.
func (g *gatekeeper) greet(c net.Conn, kind uint16) (_ uint16, _ *guard, done bool, err error) {
	switch kind {
	case streamKey:
		return kind, nil, true, g.tellTicket(c)
	case streamTCP:
		err = fmt.Errorf("%w: this server wants one", ErrUnauthenticated)
	case streamTCPTicket:
		var b [8]byte
		if err := readInTime(c, b[:]); err != nil {
			return kind, nil, true, err
		}
		var of *guard
		if of, err = g.byTicket(binary.LittleEndian.Uint64(b[:])); err == nil {
			return streamTCP, of, false, nil
		}
	default:
		return kind, nil, false, nil
	}
	refuseTCP(c, err)
	return kind, nil, true, err
}

// tellTicket answers a key.
func (g *gatekeeper) tellTicket(c net.Conn) error {
	var n [2]byte
	if err := readInTime(c, n[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint16(n[:])
	if size > maxKey {
		return fmt.Errorf("%w: key of %d bytes, want at most %d", ErrProtocol, size, maxKey)
	}
	key := make([]byte, size)
	if err := readInTime(c, key); err != nil {
		return err
	}
	var a ticketAnswer
	of, err := g.byKey(string(key))
	if err != nil {
		a.Error = err.Error()
	} else {
		a.Ticket = of.ticket
	}
	_ = c.SetWriteDeadline(time.Now().Add(preambleTimeout))
	_ = json.NewEncoder(c).Encode(a) // A client that has disconnected needs no answer.
	return err
}

func readInTime(c net.Conn, b []byte) error {
	if err := c.SetReadDeadline(time.Now().Add(preambleTimeout)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	return c.SetReadDeadline(time.Time{})
}

// askTicket shows a key to the server at addr, and returns the ticket for it.
func askTicket(ctx context.Context, addr, key string) (uint64, error) {
	if key == "" {
		return 0, fmt.Errorf("%w: the server at %s wants one; see Options.Key, or CATFISH_KEY and --key-file of the command line",
			ErrUnauthenticated, addr)
	}
	if len(key) > maxKey {
		return 0, fmt.Errorf("%w: key of %d bytes, want at most %d", ErrOption, len(key), maxKey)
	}
	c, err := dialStream(ctx, addr, streamKey)
	if err != nil {
		return 0, fmt.Errorf("%w at %s: %w", ErrNoServer, addr, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	b := append(binary.LittleEndian.AppendUint16(nil, uint16(len(key))), key...)
	if _, err := c.Write(b); err != nil {
		return 0, fmt.Errorf("%w at %s: %w", ErrNoServer, addr, noHello(ctx, err))
	}
	var a ticketAnswer
	if err := json.NewDecoder(io.LimitReader(c, maxHello)).Decode(&a); err != nil {
		return 0, fmt.Errorf("%w at %s: %w", ErrNoServer, addr, noHello(ctx, err))
	}
	if a.Error != "" {
		return 0, fmt.Errorf("%w: server at %s: %s", ErrUnauthenticated, addr, a.Error)
	}
	if a.Ticket == 0 || a.Ticket > 1<<63-1 {
		return 0, fmt.Errorf("%w: ticket %#x, want 63 bits", ErrProtocol, a.Ticket)
	}
	return a.Ticket, nil
}

// dialTCPBy connects a plain socket with a ticket, 0: without one.
func dialTCPBy(ctx context.Context, addr string, ticket uint64) (net.Conn, error) {
	if ticket == 0 {
		return dialStream(ctx, addr, streamTCP)
	}
	c, err := dialStream(ctx, addr, streamTCPTicket)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(binary.LittleEndian.AppendUint64(nil, ticket)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// addTicket puts a ticket into the hello of a ring.
func addTicket(hello []byte, ticket uint64) []byte {
	flags := hello[16:]
	binary.LittleEndian.PutUint64(flags, binary.LittleEndian.Uint64(flags)|ticket<<1)
	return hello
}

// ticketOf returns the ticket in the hello of a ring.
func ticketOf(hello []byte) uint64 { return binary.LittleEndian.Uint64(hello[16:]) >> 1 }

// appendTicket appends a ticket to the hello of a read channel.
func appendTicket(private []byte, ticket uint64) []byte {
	if ticket == 0 {
		return private
	}
	return binary.LittleEndian.AppendUint64(private, ticket)
}

// cutTicket splits a read channel's hello into the guard, if the server has keys,
// and the rest.
func (g *gatekeeper) cutTicket(private []byte) (*guard, []byte, error) {
	if g == nil {
		return nil, private, nil
	}
	if len(private) != readChannelBytes+8 {
		return nil, private, fmt.Errorf("%w: read channel without a ticket", ErrUnauthenticated)
	}
	of, err := g.byTicket(binary.LittleEndian.Uint64(private[readChannelBytes:]))
	return of, private[:readChannelBytes], err
}
