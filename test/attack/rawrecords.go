package attack

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Requests about records in wire form (internal/wire/records.go).
const (
	kindCreateRecords = 15
	kindGet           = 16
	kindPut           = 17
	kindRemove        = 18
	kindScan          = 19
	kindRenew         = 20

	cursorBytes = 28
)

// recordsName is the collection of records that honest clients use, and that is
// attacked.
const recordsName = "honest"

func recordHead(coll, arg uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, coll), arg)
}

func withKey(b []byte, key string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(key))), key...)
}

// recordRequest returns a well-formed request about an attacker's own key. Its
// records expire soon: the attack must not fill the collection.
func recordRequest(kind byte, coll uint32, key string) []byte {
	switch b := recordHead(coll, 0); kind {
	case kindGet:
		return withKey(withKey(recordHead(coll, 2), key), "other")
	case kindPut:
		b = binary.LittleEndian.AppendUint64(b, 0) // no revision
		b = binary.LittleEndian.AppendUint64(b, uint64(time.Now().Add(100*time.Millisecond).UnixNano()))
		b = binary.LittleEndian.AppendUint16(b, 7)
		return append(withKey(b, key), "value"...)
	case kindRemove:
		return append(binary.LittleEndian.AppendUint64(b, 0), key...)
	case kindScan:
		return append(b, make([]byte, cursorBytes)...)
	case kindRenew:
		return binary.LittleEndian.AppendUint64(recordHead(coll, 1), rand.Uint64())
	default: // kindCreateRecords, of an invalid table: none is created
		return append([]byte{2 + byte(rand.IntN(254)), byte(rand.Uint32())}, key...)
	}
}

// number requests the number of a collection over a plain socket.
func (e *Enemy) number(ctx context.Context, name string) (uint32, error) {
	c, err := e.stream(ctx, 0, streamTCP)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := c.Write(frame(kindOpen, 1, []byte(name))); err != nil {
		return 0, err
	}
	var answer [frameBytes + 4]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return 0, err
	}
	if answer[4] != kindReply {
		return 0, fmt.Errorf("attack: open of %q: answer of kind %d", name, answer[4])
	}
	return binary.LittleEndian.Uint32(answer[frameBytes:]), nil
}

// askRecords is ask about the attacked records.
func (e *Enemy) askRecords(ctx context.Context, n int, next func(coll uint32) (kind byte, body []byte)) error {
	coll, err := e.number(ctx, recordsName)
	if err != nil {
		return err
	}
	return e.ask(ctx, coll, n, next)
}

// ask sends the requests that next returns, over plain sockets, shm and soft,
// and takes the answers; over rings, those that fit into the ring.
func (e *Enemy) ask(ctx context.Context, coll uint32, n int, next func(coll uint32) (kind byte, body []byte)) error {
	return e.each(ctx, n, func(ctx context.Context, i int) error {
		if i%3 == 0 {
			return e.askSocket(ctx, i, func() (byte, []byte) { return next(coll) })
		}
		transport := []string{"", "shm", "soft"}[i%3]
		dev, err := e.openDevice(transport)
		if err != nil {
			return err
		}
		defer dev.Close()
		for ctx.Err() == nil {
			if err := e.askRing(ctx, dev, transport, func() (byte, []byte) { return next(coll) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Enemy) askSocket(ctx context.Context, i int, next func() (byte, []byte)) error {
	c, err := e.stream(ctx, i, streamTCP)
	if err != nil {
		return err
	}
	defer c.Close()
	for id := uint64(1); ctx.Err() == nil; id++ {
		kind, body := next()
		if _, err := c.Write(frame(kind, id, body)); err != nil {
			return err
		}
		e.count("requests", 1)
		answer, err := readAnswer(c)
		if err != nil {
			return err
		}
		e.answered(answer)
	}
	return nil
}

func (e *Enemy) answered(kind byte) {
	if kind == kindReply {
		e.count("answers", 1)
	} else {
		e.count("failures", 1)
	}
}

// askRing makes some requests and disconnects when the first is answered.
func (e *Enemy) askRing(ctx context.Context, dev rdma.Device, transport string, next func() (byte, []byte)) error {
	x, err := e.dialRing(ctx, dev, transport, fastmsg.MailboxBytes+fastmsg.MinRingBytes)
	if err != nil {
		return err
	}
	defer x.close()
	for id := range uint64(20) {
		kind, body := next()
		if err := x.send(ringMessage(kind, id, body)); err != nil {
			return err
		}
		e.count("requests", 1)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := x.next(ctx, rdma.OpRecv); err != nil {
		return err
	}
	e.answered(x.region.Bytes()[fastmsg.MailboxBytes+4])
	return nil
}
