package windows

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
)

// Reader is the learner's side. One goroutine calls Read.
type Reader struct {
	mem  rdma.Region // its buffers
	cq   rdma.CompletionQueue
	qp   rdma.QueuePair
	from rdma.Remote // the source's windows
	done [inFlight]rdma.Completion
}

// Dial opens a queue pair to the member that listens at an address of the device. An error is
// also that its memory cannot be read.
func Dial(ctx context.Context, dev rdma.Device, addr string, h lane.Hello) (_ *Reader, err error) {
	r := &Reader{}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.cq, err = dev.CreateCQ(inFlight); err != nil {
		return nil, err
	}
	if r.mem, err = dev.Register(Buffers*Bytes, rdma.LocalWrite); err != nil {
		return nil, err
	}
	h.Copy = true
	r.qp, err = dev.Dial(ctx, addr, rdma.QPConfig{SendCQ: r.cq, RecvCQ: r.cq, SendDepth: inFlight, RecvDepth: 1}, h.Encode())
	if err != nil {
		return nil, err
	}
	w, err := lane.DecodeWelcome(r.qp.PrivateData())
	if err != nil {
		return nil, err
	}
	r.from = w.Ack
	if end := r.from.At(Count * Bytes); end.Addr < r.from.Addr {
		return nil, fmt.Errorf("%w: windows at address %#x", ErrPeer, r.from.Addr)
	}
	return r, r.Read(ctx, 0, 0, rdma.LineBytes) // There is another way, if this one fails.
}

// Buffer is the memory of buffer i of Buffers.
func (r *Reader) Buffer(i int) []byte { return r.mem.Bytes()[i*Bytes:][:Bytes] }

// Read reads n bytes from a place in the source's windows on into buffer i. After an error the
// Reader can only be closed.
func (r *Reader) Read(ctx context.Context, i int, at uint64, n int) error {
	if n < 1 || n > Bytes || at > uint64(Count*Bytes-n) {
		return fmt.Errorf("%w: %d bytes from %d on, a piece has 1 to %d, and the windows %d", ErrPeer, n, at, Bytes, Count*Bytes)
	}
	wr := make([]rdma.WorkRequest, 1)
	for posted, out := 0, 0; posted < n || out > 0; {
		if posted < n && out < inFlight {
			size := min(part, n-posted)
			wr[0] = rdma.WorkRequest{
				Op: rdma.OpRead, Remote: r.from.At(at + uint64(posted)),
				Local: rdma.Buffer{Region: r.mem, Offset: i*Bytes + posted, Len: size},
			}
			_, err := r.qp.Post(wr)
			if err == nil {
				posted += size
				out++
				continue
			}
			if !errors.Is(err, rdma.ErrQueueFull) {
				if cause := r.qp.Err(); cause != nil {
					err = cause
				}
				return err
			}
		}
		if err := r.cq.Wait(ctx, -1); err != nil {
			return err
		}
		got := r.cq.Poll(r.done[:])
		for j := range r.done[:got] {
			if err := r.done[j].Err(); err != nil {
				return err
			}
			if r.done[j].Op != rdma.OpRead {
				return fmt.Errorf("%w: an event, which no source causes", ErrPeer)
			}
		}
		out -= got
		clear(r.done[:got]) // They hold queue pairs.
	}
	return nil
}

// Close frees the buffers. Read has returned.
func (r *Reader) Close() { closeAll(r.qp, r.cq, r.mem) }
