package attack

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
)

var unreadRings = Attack{
	Name: "unread-rings", shows: "rings",
	What: "rings over shm and soft that ask for everything and take nothing",
	run: func(ctx context.Context, e *Enemy) error {
		devices := map[string]rdma.Device{}
		for _, transport := range []string{"shm", "soft"} {
			dev, err := e.openDevice(transport)
			if err != nil {
				return err
			}
			defer dev.Close()
			devices[transport] = dev
		}
		return e.each(ctx, e.size(64, 6), func(ctx context.Context, i int) error {
			transport := []string{"shm", "soft"}[i%2]
			x, err := e.dialRing(ctx, devices[transport], transport, fastmsg.MailboxBytes+fastmsg.MinRingBytes)
			if err != nil {
				return err
			}
			defer x.close()
			for id := range uint64(16) {
				if err := x.send(ringMessage(kindSearch, id, searchAll())); err != nil {
					return err
				}
			}
			x.ended(ctx)
			return x.qp.Err()
		})
	},
}

// unreadTime is longer than servers wait for a client that takes nothing.
const unreadTime = 20 * time.Second

var unreadSockets = Attack{
	Name: "unread-sockets", shows: "connections",
	What: "plain sockets that ask for everything, many times, and take nothing",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(32, 4), func(ctx context.Context, i int) error {
			c, err := e.stream(ctx, i, streamTCP)
			if err != nil {
				return err
			}
			defer c.Close()
			for id := range uint64(16) {
				if _, err := c.Write(frame(kindSearch, id, searchAll())); err != nil {
					return err
				}
			}
			pause(ctx, unreadTime)
			return nil
		})
	},
}

var trickle = Attack{
	Name: "trickle", shows: "connections",
	What: "plain sockets that ask for everything and take 64 bytes a second",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(32, 4), func(ctx context.Context, i int) error {
			c, err := e.stream(ctx, i, streamTCP)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := c.Write(frame(kindSearch, 1, searchAll())); err != nil {
				return err
			}
			for b := make([]byte, 64); ctx.Err() == nil; pause(ctx, time.Second) {
				if _, err := io.ReadFull(c, b); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

var unreadLanes = Attack{
	Name: "unread-lanes", shows: "reads",
	What: "queue pairs of soft that read the tree without end and take nothing",
	run: func(ctx context.Context, e *Enemy) error {
		slab, err := e.slab(ctx)
		if err != nil {
			return err
		}
		return e.each(ctx, e.size(64, 4), func(ctx context.Context, i int) error {
			c, err := e.stream(ctx, i, streamSoft)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := c.Write(softHello(e.readChannel())); err != nil {
				return err
			}
			answer := make([]byte, softHelloBytes)
			if _, err := io.ReadFull(c, answer); err != nil {
				return err
			}
			if binary.LittleEndian.Uint32(answer[20:]) != verdictAccept {
				e.count("refused", 1)
				return nil
			}
			read := readRequest(slab, 4096)
			for ctx.Err() == nil {
				if _, err := c.Write(read); err != nil {
					return err
				}
				e.count("reads", 1)
			}
			return nil
		})
	},
}

// slab requests over soft the location of the tree.
func (e *Enemy) slab(ctx context.Context) (rdma.Remote, error) {
	dev, err := e.openDevice("soft")
	if err != nil {
		return rdma.Remote{}, err
	}
	defer dev.Close()
	x, err := e.dialRing(ctx, dev, "soft", fastmsg.MailboxBytes+fastmsg.MinRingBytes)
	if err != nil {
		return rdma.Remote{}, err
	}
	defer x.close()
	if err := x.send(ringMessage(kindOpen, 1, []byte(catfish.DefaultCollection))); err != nil {
		return rdma.Remote{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := x.next(ctx, rdma.OpRecv); err != nil {
		return rdma.Remote{}, err
	}
	answer := x.region.Bytes()[fastmsg.MailboxBytes:]
	if answer[4] != kindReply {
		return rdma.Remote{}, fmt.Errorf("attack: open: answer of kind %d", answer[4])
	}
	answer = answer[fastmsg.HeaderBytes:]
	return rdma.Remote{
		Key: rdma.Key(binary.LittleEndian.Uint64(answer[8:])), Addr: binary.LittleEndian.Uint64(answer[16:]),
	}, nil
}

// Package soft's handshake and read requests (internal/rdma/soft/handshake.go, frame.go).
const (
	softHelloBytes = 40
	verdictAccept  = 1
	softReadKind   = 3
)

func softHello(private []byte) []byte {
	b := append([]byte("CATFSOFT"), 1, 0, byte(len(private)), 0)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 1<<20)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, 1<<30)
	b = binary.LittleEndian.AppendUint64(b, 1<<30)
	return append(b, private...)
}

// readChannel is the private data of a queue pair for reads (internal/wire/readchannel.go).
func (e *Enemy) readChannel() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0x4e4c4643)
	b = binary.LittleEndian.AppendUint32(b, catfish.ProtocolVersion)
	return binary.LittleEndian.AppendUint64(b, e.target.BootID)
}

func readRequest(at rdma.Remote, n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 32)
	b = append(b, softReadKind, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(at.Key))
	b = binary.LittleEndian.AppendUint64(b, at.Addr)
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}
