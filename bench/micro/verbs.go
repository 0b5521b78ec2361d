package micro

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdmaprobe"
)

// verbs reads or writes the first bytes of a server's memory.
type verbs struct {
	dev        rdma.Device
	send, recv rdma.CompletionQueue
	mem        rdma.Region
	qp         rdma.QueuePair
	op         rdma.Op
	remote     rdma.Remote
	seed       uint64
	size       int
	first      []byte // the initial contents of the server's memory
	want       []byte
	wrs        [1]rdma.WorkRequest
	got        [1]rdma.Completion
	patience   time.Duration
}

func newVerbs(ctx context.Context, job clientJob, open Opener) (_ *verbs, err error) {
	v := &verbs{op: rdma.OpWrite, remote: job.Remote, patience: job.Patience}
	if job.Op == Read {
		v.op = rdma.OpRead
	}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	if v.dev, err = open(job.Transport, job.Fabric); err != nil {
		return nil, err
	}
	if v.send, err = v.dev.CreateCQ(2); err != nil {
		return nil, err
	}
	if v.recv, err = v.dev.CreateCQ(1); err != nil {
		return nil, err
	}
	bytes, access, private := job.Bytes+guard, rdma.LocalWrite, []byte(nil)
	if job.Op == OneWay {
		bytes, access = sendOffset(bytes)+job.Bytes, rdma.LocalWrite|rdma.RemoteWrite
	}
	if v.mem, err = v.dev.Register(bytes, access); err != nil {
		return nil, err
	}
	if job.Op == OneWay {
		private = peerData(v.mem.Remote())
	}
	v.first, v.want = make([]byte, job.Bytes), make([]byte, job.Bytes+guard)
	rdmaprobe.Fill(v.first, initial)
	ctx, cancel := context.WithTimeout(ctx, job.Patience)
	defer cancel()
	v.qp, err = v.dev.Dial(ctx, job.Addr, rdma.QPConfig{SendCQ: v.send, RecvCQ: v.recv}, private)
	return v, err
}

func (v *verbs) begin(_ context.Context, size int, seed uint64) error {
	v.seed, v.size = seed, size
	v.wrs[0] = rdma.WorkRequest{Op: v.op, Remote: v.remote,
		Local: rdma.Buffer{Region: v.mem, Len: size}}
	mem := v.mem.Bytes()[:len(v.want)]
	if v.op == rdma.OpWrite {
		rdmaprobe.Fill(mem[:size], seed)
		return nil
	}
	for i, b := range v.first {
		mem[i] = ^b // No byte is right by accident.
	}
	copy(v.want, mem)
	copy(v.want[:size], v.first)
	return nil
}

// ways is 1: a call of request makes one.
func (v *verbs) ways() int { return 1 }

// post hands over all of wrs.
func post(ctx context.Context, qp rdma.QueuePair, send rdma.CompletionQueue, wrs []rdma.WorkRequest, patience time.Duration) error {
	for {
		n, err := qp.Post(wrs)
		if err == nil {
			return nil
		}
		if !errors.Is(err, rdma.ErrQueueFull) {
			return err
		}
		wrs = wrs[n:]
		// Nothing is outstanding, but soft may receive the acknowledgement before its
		// own sender has counted the bytes as sent. It wakes the queue then.
		if err := send.Wait(ctx, patience); err != nil {
			return fmt.Errorf("the queue stays full: %w", err)
		}
	}
}

func (v *verbs) request(ctx context.Context) error {
	if err := post(ctx, v.qp, v.send, v.wrs[:], v.patience); err != nil {
		return err
	}
	_, err := rdmaprobe.Next(ctx, v.qp, v.send, v.got[:], v.patience)
	return err
}

func (v *verbs) end(ctx context.Context) error {
	if v.op == rdma.OpWrite {
		v.wrs[0] = rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: uint32(v.seed)}
		if err := v.request(ctx); err != nil {
			return fmt.Errorf("announcing what was written: %w", err)
		}
		return nil
	}
	return rdmaprobe.Compare(v.mem.Bytes()[:len(v.want)], v.want, len(v.want), v.size)
}

func (v *verbs) device() string {
	i := v.dev.Info()
	return i.Provider + ", " + i.Detail
}

func (v *verbs) spun() time.Duration { return v.send.Spun() }

func (v *verbs) close() {
	if v.dev != nil {
		_ = v.dev.Close() // The process ends, too.
	}
}
