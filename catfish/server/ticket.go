package server

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// greet handles the streams that show a key or a ticket. It returns the kind of
// stream that the caller is to serve, and the guard of a plain socket; or done, if
// the stream needs no further service.
func (g *gatekeeper) greet(c net.Conn, kind uint16) (_ uint16, _ *guard, done bool, err error) {
	switch kind {
	case wire.StreamKey:
		return kind, nil, true, g.tellTicket(c)
	case wire.StreamTCP:
		err = fmt.Errorf("%w: this server wants one", model.ErrUnauthenticated)
	case wire.StreamTCPTicket:
		var b [8]byte
		if err := wire.ReadInTime(c, b[:]); err != nil {
			return kind, nil, true, err
		}
		var of *guard
		if of, err = g.byTicket(binary.LittleEndian.Uint64(b[:])); err == nil {
			return wire.StreamTCP, of, false, nil
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
	if err := wire.ReadInTime(c, n[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint16(n[:])
	if size > wire.MaxKey {
		return fmt.Errorf("%w: key of %d bytes, want at most %d", model.ErrProtocol, size, wire.MaxKey)
	}
	key := make([]byte, size)
	if err := wire.ReadInTime(c, key); err != nil {
		return err
	}
	var a wire.TicketAnswer
	of, err := g.byKey(string(key))
	if err != nil {
		a.Error = err.Error()
	} else {
		a.Ticket = of.ticket
	}
	_ = c.SetWriteDeadline(time.Now().Add(wire.PreambleTimeout))
	_ = json.NewEncoder(c).Encode(a) // A client that has disconnected needs no answer.
	return err
}

// cutTicket splits a read channel's hello into the guard, if the server has keys,
// and the rest.
func (g *gatekeeper) cutTicket(private []byte) (*guard, []byte, error) {
	if g == nil {
		return nil, private, nil
	}
	if len(private) != wire.ReadChannelBytes+8 {
		return nil, private, fmt.Errorf("%w: read channel without a ticket", model.ErrUnauthenticated)
	}
	of, err := g.byTicket(binary.LittleEndian.Uint64(private[wire.ReadChannelBytes:]))
	return of, private[:wire.ReadChannelBytes], err
}
