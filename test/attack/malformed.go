package attack

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
)

func junk(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

var malformed = Attack{
	Name: "malformed", shows: "malformed", flood: true,
	What: "random bytes to the TCP port, behind each preamble, to shm's socket and to gRPC",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(8, 5), func(ctx context.Context, i int) error {
			e.pace.wait(ctx)
			var c net.Conn
			var err error
			switch i % 5 {
			case 0:
				c, err = e.dialTCP(ctx, i, e.target.Addr)
			case 1, 2:
				c, err = e.stream(ctx, i, uint16(1+i%5)) // soft, plain
			case 3:
				c, err = e.dialTCP(ctx, i, e.target.GRPC)
			case 4:
				var d net.Dialer
				c, err = d.DialContext(ctx, "unixpacket", e.target.Socket)
			}
			if err != nil {
				return err
			}
			defer c.Close()
			_, _ = c.Write(junk(1 + rand.IntN(300)))
			e.count("malformed", 1)
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			_, _ = c.Read(make([]byte, 64)) // until it is refused
			return nil
		})
	},
}

var malformedRings = Attack{
	Name: "malformed-rings", shows: "malformed",
	What: "random messages and announcements in rings over shm and soft",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(8, 2), func(ctx context.Context, i int) error {
			transport := []string{"shm", "soft"}[i%2]
			dev, err := e.openDevice(transport)
			if err != nil {
				return err
			}
			defer dev.Close()
			for ctx.Err() == nil {
				if err := e.scribble(ctx, dev, transport); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

// scribble sends nonsense until the connection ends, or has survived it.
func (e *Enemy) scribble(ctx context.Context, dev rdma.Device, transport string) error {
	x, err := e.dialRing(ctx, dev, transport, fastmsg.MailboxBytes+fastmsg.MinRingBytes)
	if err != nil {
		return err
	}
	defer x.close()
	for range 20 {
		b := junk(8 * (1 + rand.IntN(16)))
		if rand.IntN(2) == 0 { // a plausible header
			binary.LittleEndian.PutUint32(b, uint32(len(b)))
			b[4], b[5], b[6], b[7] = byte(rand.IntN(16)), 2, 0, 0
		}
		imm := uint32(rand.IntN(20))
		if rand.IntN(4) == 0 {
			imm |= 1 << 31 // gives back room that it never had
		}
		e.count("malformed", 1)
		if x.post(uint64(rand.IntN(500))*8, b, imm) != nil || x.qp.Err() != nil {
			return nil
		}
	}
	return nil
}

var resets = Attack{
	Name: "resets", shows: "connections", flood: true,
	What: "connections that are reset, or closed by half, at each point of their beginning",
	run: func(ctx context.Context, e *Enemy) error {
		whole := append(preamble(streamTCP), frame(kindSearch, 1, searchAll())...)
		lane := append(preamble(streamSoft), softHello(e.readChannel())...)
		return e.each(ctx, e.size(8, 4), func(ctx context.Context, i int) error {
			e.pace.wait(ctx)
			c, err := e.dialTCP(ctx, i, e.target.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			b := [][]byte{whole, lane}[i%2]
			_, _ = c.Write(b[:rand.IntN(len(b)+1)])
			if rand.IntN(4) == 0 {
				_ = c.(*net.TCPConn).CloseWrite()
				_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				_, _ = c.Read(make([]byte, 64))
			}
			return nil
		})
	},
}

var slowSenders = Attack{
	Name: "slow-senders", shows: "connections",
	What: "preambles, requests and handshakes at a byte a second",
	run: func(ctx context.Context, e *Enemy) error {
		begins := [][]byte{nil, preamble(streamTCP), preamble(streamSoft)}
		rest := [][]byte{preamble(streamTCP), frame(kindSearch, 1, searchAll()), softHello(e.readChannel())}
		return e.each(ctx, e.size(300, 9), func(ctx context.Context, i int) error {
			c, err := e.dialTCP(ctx, i, e.target.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := c.Write(begins[i%3]); err != nil {
				return err
			}
			for _, b := range rest[i%3] {
				if _, err := c.Write([]byte{b}); err != nil {
					return err
				}
				pause(ctx, time.Second)
			}
			return nil
		})
	},
}

var collections = Attack{
	Name: "collections", shows: "created", Keeps: true,
	What: "collections are created up to the limit and dropped, over plain sockets",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(4, 1), func(ctx context.Context, i int) error {
			c, err := e.stream(ctx, i, streamTCP)
			if err != nil {
				return err
			}
			defer c.Close()
			for _, kind := range []byte{kindCreate, kindDrop} {
				for n := range e.size(80, 6) {
					name := "attack-" + strconv.Itoa(i) + "-" + strconv.Itoa(n)
					if _, err := c.Write(frame(kind, uint64(n), []byte(name))); err != nil {
						return err
					}
					answer, err := readAnswer(c)
					if err != nil {
						return err
					}
					if kind == kindCreate && answer == kindReply {
						e.count("created", 1)
					} else if kind == kindCreate {
						e.count("refused", 1)
					}
				}
			}
			return nil
		})
	},
}
