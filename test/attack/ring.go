package attack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// stranger is a client with rings (fastmsg/handshake.go, fastmsg/message.go)
// that does the handshake, and then what an attack requires.
type stranger struct {
	cq     rdma.CompletionQueue
	qp     rdma.QueuePair
	region rdma.Region // mailbox and answers
	source rdma.Region // source of writes
	ring   rdma.Remote // of the server
	at     uint64      // where in it the next message begins
}

// sourceBytes bounds a single write of a stranger.
const sourceBytes = 64 << 10

// openDevice opens a device whose connections come from the attacker's hosts.
func (e *Enemy) openDevice(transport string) (rdma.Device, error) {
	if transport == "shm" {
		return shm.Open(shm.Options{})
	}
	n := 0
	return soft.Open(soft.Options{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		n++
		// ctx ends with the dial.
		return e.stream(context.WithoutCancel(ctx), n, streamSoft)
	}})
}

// addr returns the address of a transport.
func (e *Enemy) addr(transport string) string {
	if transport == "shm" {
		return e.target.Socket
	}
	return e.target.Addr
}

// dialRing connects with a region of regionBytes for answers, of which a small
// ring is used.
func (e *Enemy) dialRing(ctx context.Context, dev rdma.Device, transport string, regionBytes int) (*stranger, error) {
	return e.dialRings(ctx, dev, transport, regionBytes, fastmsg.MinRingBytes, 0)
}

// dialRings connects with a ring of ringBytes for answers, and flags.
func (e *Enemy) dialRings(ctx context.Context, dev rdma.Device, transport string, regionBytes, ringBytes int, flags uint32) (_ *stranger, err error) {
	x := &stranger{}
	defer func() {
		if err != nil {
			x.close()
		}
	}()
	if x.cq, err = dev.CreateCQ(1024); err != nil {
		return nil, err
	}
	if x.region, err = dev.Register(regionBytes, rdma.RemoteWrite); err != nil {
		return nil, err
	}
	if x.source, err = dev.Register(sourceBytes, 0); err != nil {
		return nil, err
	}
	private := append([]byte("CFMG"), byte(fastmsg.ProtocolVersion), 0, 24, 0)
	private = binary.LittleEndian.AppendUint32(private, uint32(ringBytes))
	private = binary.LittleEndian.AppendUint32(private, flags)
	at := x.region.Remote()
	private = binary.LittleEndian.AppendUint64(private, uint64(at.Key))
	private = binary.LittleEndian.AppendUint64(private, at.Addr)
	private = binary.LittleEndian.AppendUint64(private, e.target.BootID)
	private = append(private, make([]byte, 16)...) // the server chooses the heartbeats

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	x.qp, err = dev.Dial(ctx, e.addr(transport),
		rdma.QPConfig{SendCQ: x.cq, RecvCQ: x.cq, SendDepth: 256, RecvDepth: 1024}, private)
	if err != nil {
		e.count(outcome(err), 1)
		return nil, err
	}
	e.count("rings", 1)
	p := x.qp.PrivateData()
	if len(p) < 32 {
		return nil, fmt.Errorf("attack: %d bytes of private data", len(p))
	}
	x.ring = rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(p[16:])), Addr: binary.LittleEndian.Uint64(p[24:])}
	return x, nil
}

// outcome names the result of a dial.
func outcome(err error) string {
	if errors.Is(err, rdma.ErrRejected) {
		return "refused"
	}
	return "dial failed"
}

func (x *stranger) close() {
	if x.qp != nil {
		x.qp.Close()
	}
	for _, r := range []rdma.Region{x.region, x.source} {
		if r != nil {
			r.Close()
		}
	}
	if x.cq != nil {
		x.cq.Close()
	}
}

// ringMessage returns a well-formed request.
func ringMessage(kind byte, id uint64, body []byte) []byte {
	fill := -len(body) & 7
	b := binary.LittleEndian.AppendUint32(nil, uint32(fastmsg.HeaderBytes+len(body)+fill))
	b = append(b, kind, byte(fastmsg.FlagEnd), byte(fill), 0)
	b = binary.LittleEndian.AppendUint64(b, id)
	b = append(b, body...)
	return append(b, make([]byte, fill)...)
}

// send writes bytes after those sent before, and announces them. The ring is
// larger than the sum of all messages.
func (x *stranger) send(b []byte) error {
	if err := x.post(x.at, b, uint32(len(b)/8)); err != nil {
		return err
	}
	x.at += uint64(len(b))
	return nil
}

// post writes bytes at an offset of the server's ring, with an event.
func (x *stranger) post(offset uint64, b []byte, imm uint32) error {
	copy(x.source.Bytes(), b)
	_, err := x.qp.Post([]rdma.WorkRequest{{
		Op: rdma.OpWriteImm, Imm: imm, Local: rdma.Buffer{Region: x.source, Len: len(b)}, Remote: x.ring.At(offset),
	}})
	return err
}

// next waits for the completion of an operation, and drops others.
func (x *stranger) next(ctx context.Context, op rdma.Op) (rdma.Completion, error) {
	for {
		var done [1]rdma.Completion
		for x.cq.Poll(done[:]) == 1 {
			if done[0].Op == op {
				return done[0], nil
			}
		}
		if err := x.cq.Wait(ctx, time.Second); err != nil {
			return rdma.Completion{}, err
		}
		if err := ctx.Err(); err != nil {
			return rdma.Completion{}, err
		}
	}
}

// ended waits until the server has ended the connection.
func (x *stranger) ended(ctx context.Context) {
	for ctx.Err() == nil && x.qp.Err() == nil {
		_ = x.cq.Wait(ctx, time.Second)
		var done [64]rdma.Completion
		for x.cq.Poll(done[:]) > 0 {
		}
	}
}
