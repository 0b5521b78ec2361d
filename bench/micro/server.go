package micro

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdmaprobe"
)

// Opener opens the device of a transport.
type Opener func(transport string, f bench.Fabric) (rdma.Device, error)

// initial is the seed of a server's memory at first.
const initial = 1

// guard is the number of bytes after the largest request, which no request may
// change.
const guard = rdma.LineBytes

// ServerMain runs a server child: in and out are its standard input and
// output. It returns when in ends or ctx is done.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer, open Opener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, job serverJob, _ func(string)) (s harness.Served[command], err error) {
		if job.Op == TCP {
			l, err := listen(ctx, job)
			if err != nil {
				return s, err
			}
			s.Ready, s.Close = serverReady{Addr: l.addr()}, l.close
			s.Answer = func(context.Context, command) (any, error) { return harness.UsageSince(began) }
			return s, nil
		}
		memory, err := openTarget(ctx, job, open)
		if err != nil {
			return s, err
		}
		s.Ready, s.Close = serverReady{Addr: memory.ln.Addr(), Remote: memory.mem.Remote()}, memory.close
		s.Answer = func(ctx context.Context, c command) (any, error) {
			if c.Check != nil {
				return true, memory.check(ctx, *c.Check)
			}
			return harness.UsageSince(began)
		}
		return s, nil
	})
}

// target is the memory that clients read and write.
type target struct {
	dev      rdma.Device
	send     rdma.CompletionQueue
	recv     rdma.CompletionQueue
	mem      rdma.Region
	ln       rdma.Listener
	dir      string // of the socket of shm
	want     []byte // the expected contents of mem
	events   [1]rdma.Completion
	patience time.Duration
	stop     context.CancelFunc
	serving  sync.WaitGroup // connections that are answered (oneway.go)
}

func openTarget(ctx context.Context, job serverJob, open Opener) (_ *target, err error) {
	t := &target{patience: job.Patience}
	ctx, t.stop = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.dev, err = open(job.Transport, job.Fabric); err != nil {
		return nil, err
	}
	if t.send, err = t.dev.CreateCQ(2); err != nil {
		return nil, err
	}
	if t.recv, err = t.dev.CreateCQ(1); err != nil {
		return nil, err
	}
	if t.mem, err = t.dev.Register(sendOffset(job.Bytes+guard), rdma.LocalWrite|rdma.RemoteRead|rdma.RemoteWrite); err != nil {
		return nil, err
	}
	mem := t.mem.Bytes()[:job.Bytes+guard]
	rdmaprobe.Fill(mem, initial)
	t.want = append([]byte(nil), mem...)
	addr := job.Listen
	if job.Transport == "shm" {
		if t.dir, err = os.MkdirTemp("", "catfish-micro-"); err != nil {
			return nil, fmt.Errorf("micro: %w", err)
		}
		addr = filepath.Join(t.dir, "socket")
	}
	if t.ln, err = t.dev.Listen(addr); err != nil {
		return nil, err
	}
	go t.accept(ctx)
	return t, nil
}

// accept takes connections until the listener closes. A failure here is also a
// failure at the client, which reports it.
func (t *target) accept(ctx context.Context) {
	for ctx.Err() == nil {
		req, err := t.ln.Accept(ctx)
		if errors.Is(err, rdma.ErrClosed) {
			return
		}
		if err == nil {
			peer, oneWay := peerOf(req.PrivateData())
			last := t.word().Load() // Before the client can write another one.
			qp, err := req.Accept(rdma.QPConfig{SendCQ: t.send, RecvCQ: t.recv}, nil)
			if err == nil && oneWay {
				t.serving.Add(1)
				go func() {
					defer t.serving.Done()
					_ = t.serveOneWay(ctx, qp, peer, last) // The client reports what is missing.
				}()
			}
		}
	}
}

// check waits for the event that a client sends after its writes, since only
// then the written bytes are visible to this processor, and compares all of
// the memory with its expected contents.
func (t *target) check(ctx context.Context, c check) error {
	if c.Bytes < 0 || c.Bytes > len(t.want)-guard {
		return fmt.Errorf("%w: a check of %d bytes, want 0 to %d", harness.ErrConfig, c.Bytes, len(t.want)-guard)
	}
	got, err := rdmaprobe.Next(ctx, nil, t.recv, t.events[:], t.patience)
	if err != nil {
		return err
	}
	if e := got[0]; e.Op != rdma.OpRecv || e.Imm != uint32(c.Seed) || e.Bytes != 0 {
		return fmt.Errorf("%w: event %v with immediate %d and %d bytes, want %d and 0",
			rdmaprobe.ErrCorrupt, e.Op, e.Imm, e.Bytes, uint32(c.Seed))
	}
	rdmaprobe.Fill(t.want[:c.Bytes], c.Seed)
	return rdmaprobe.Compare(t.mem.Bytes()[:len(t.want)], t.want, len(t.want), c.Bytes)
}

func (t *target) close() {
	t.stop()
	t.serving.Wait() // They look at the memory.
	if t.dev != nil {
		_ = t.dev.Close() // The process ends, too.
	}
	if t.dir != "" {
		_ = os.RemoveAll(t.dir)
	}
}
