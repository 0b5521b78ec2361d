package wire

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
)

// The bytes by which a client shows its key, little-endian, always after the
// preamble (hello.go):
//
//	kind 5: a key
//	8       10
//	+-------+----------+
//	| n u16 | n bytes  |     the server answers one JSON object (TicketAnswer)
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
	StreamKey       = 5
	StreamTCPTicket = 6

	// MaxKey bounds the key that a server reads.
	MaxKey = 1 << 10
)

// TicketAnswer is a server's answer to a key.
type TicketAnswer struct {
	Ticket uint64 `json:"ticket,string,omitempty"`
	Error  string `json:"error,omitempty"`
}

// ReadInTime fills b, within the time for a preamble.
func ReadInTime(c net.Conn, b []byte) error {
	if err := c.SetReadDeadline(time.Now().Add(PreambleTimeout)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	return c.SetReadDeadline(time.Time{})
}

// AskTicket shows a key to the server at addr, and returns the ticket for it.
func AskTicket(ctx context.Context, addr, key string) (uint64, error) {
	if key == "" {
		return 0, fmt.Errorf("%w: the server at %s wants one; see Options.Key, or CATFISH_KEY and --key-file of the command line",
			model.ErrUnauthenticated, addr)
	}
	if len(key) > MaxKey {
		return 0, fmt.Errorf("%w: key of %d bytes, want at most %d", model.ErrOption, len(key), MaxKey)
	}
	c, err := DialStream(ctx, addr, StreamKey)
	if err != nil {
		return 0, fmt.Errorf("%w at %s: %w", model.ErrNoServer, addr, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	b := append(binary.LittleEndian.AppendUint16(nil, uint16(len(key))), key...)
	if _, err := c.Write(b); err != nil {
		return 0, fmt.Errorf("%w at %s: %w", model.ErrNoServer, addr, noHello(ctx, err))
	}
	var a TicketAnswer
	if err := json.NewDecoder(io.LimitReader(c, maxHello)).Decode(&a); err != nil {
		return 0, fmt.Errorf("%w at %s: %w", model.ErrNoServer, addr, noHello(ctx, err))
	}
	if a.Error != "" {
		return 0, fmt.Errorf("%w: server at %s: %s", model.ErrUnauthenticated, addr, a.Error)
	}
	if a.Ticket == 0 || a.Ticket > 1<<63-1 {
		return 0, fmt.Errorf("%w: ticket %#x, want 63 bits", model.ErrProtocol, a.Ticket)
	}
	return a.Ticket, nil
}

// DialTCPBy connects a plain socket with a ticket, 0: without one.
func DialTCPBy(ctx context.Context, addr string, ticket uint64) (net.Conn, error) {
	if ticket == 0 {
		return DialStream(ctx, addr, StreamTCP)
	}
	c, err := DialStream(ctx, addr, StreamTCPTicket)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(binary.LittleEndian.AppendUint64(nil, ticket)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// AddTicket puts a ticket into the hello of a ring.
func AddTicket(hello []byte, ticket uint64) []byte {
	flags := hello[16:]
	binary.LittleEndian.PutUint64(flags, binary.LittleEndian.Uint64(flags)|ticket<<1)
	return hello
}

// TicketOf returns the ticket in the hello of a ring.
func TicketOf(hello []byte) uint64 { return binary.LittleEndian.Uint64(hello[16:]) >> 1 }

// AppendTicket appends a ticket to the hello of a read channel.
func AppendTicket(private []byte, ticket uint64) []byte {
	if ticket == 0 {
		return private
	}
	return binary.LittleEndian.AppendUint64(private, ticket)
}
