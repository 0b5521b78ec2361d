package rdmatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

var closeCases = []testCase{
	{"CloseSeenByPeer", caseCloseSeen},
	{"CloseDropsCompletions", caseCloseDrops},
	{"CloseFlushesPeer", caseCloseFlushes},
	{"DoubleClose", caseDoubleClose},
	{"ClosedDevice", caseClosedDevice},
	{"DeviceCloseSeenByPeer", caseDeviceCloseSeen},
	{"CloseUnderLoad", caseCloseUnderLoad},
	{"ConnectAndClose", caseConnectAndClose},
}

// caseCloseSeen: the peer gets the earlier completions, then the single
// failure event; other connections continue.
func caseCloseSeen(e *env) {
	p := e.pair(64)
	by := *p
	by.cq, by.sq = e.connect(p.lis, p.c, p.s)
	for i := range uint64(20) {
		e.post(p.cq, event(i, uint32(i)))
	}
	e.takeOK(p.c.send, 20)
	e.must(p.cq.Close())
	for i, c := range e.takeOK(p.s.recv, 20) {
		if c.Imm != uint32(i) {
			e.Errorf("event %d has imm %d", i, c.Imm)
		}
	}
	e.failed(p.sq, p.s.recv)
	e.refuses(p.cq)
	e.fence(&by)
	e.silent(p.c.send, p.c.recv, p.s.send, p.s.recv)
}

// caseCloseDrops: after Close has returned, the queues return no completion
// of the queue pair, though events and completions were in them.
func caseCloseDrops(e *env) {
	p := e.pair(64)
	by := *p
	by.cq, by.sq = e.connect(p.lis, p.c, p.s)
	for i := range uint64(10) {
		e.post(p.sq, event(i, 0))
		e.post(p.cq, event(i, 0))
	}
	e.takeOK(p.s.send, 10) // so c's events have arrived
	e.takeOK(p.s.recv, 10) // so c's requests are done
	e.must(p.cq.Close())
	e.failed(p.sq, p.s.recv)
	e.fence(&by)
	e.post(by.sq, event(1, 1)) // and one in the other direction
	e.takeOK(p.s.send, 1)
	if c := e.takeOK(p.c.recv, 1)[0]; c.QP != by.cq {
		e.Error("an event of a closed queue pair came after Close")
	}
	e.silent(p.c.send, p.c.recv, p.s.send, p.s.recv)
}

// caseCloseFlushes: requests that wait at the peer are completed.
func caseCloseFlushes(e *env) {
	const depth = 64
	p := e.pair(64, func(c *rdma.QPConfig) { c.SendDepth, c.RecvDepth = depth, 16 })
	taken := 0
	for taken < depth {
		n, err := p.sq.Post([]rdma.WorkRequest{event(uint64(taken), 0)})
		if isFull(err) {
			break
		}
		e.must(err)
		taken += n
	}
	e.must(p.cq.Close())
	bad := false
	for i, c := range e.take(p.s.send, taken) {
		if c.ID != uint64(i) {
			e.Fatalf("completion %d is of request %d", i, c.ID)
		}
		if bad && c.Status == rdma.StatusOK {
			e.Errorf("request %d succeeded after a failed one", i)
		}
		bad = bad || c.Status != rdma.StatusOK
	}
	e.failed(p.sq, p.s.recv)
}

func caseDoubleClose(e *env) {
	p := e.pair(64)
	for range 2 {
		e.must(p.cq.Close())
		e.must(p.sq.Close())
		e.must(p.lis.Close())
		e.must(p.c.mem.Close())
		e.must(p.c.send.Close())
		e.must(p.c.recv.Close())
		e.must(p.s.mem.Close())
		e.must(p.c.dev.Close())
		e.must(p.s.dev.Close())
		e.must(p.s.send.Close())
	}
}

// caseClosedDevice: objects made from a closed device are closed, and the
// device makes no new ones.
func caseClosedDevice(e *env) {
	p := e.pair(64)
	e.must(p.s.dev.Close())
	ctx, cancel := e.patience()
	defer cancel()
	_, regErr := p.s.dev.Register(64, allAccess)
	_, cqErr := p.s.dev.CreateCQ(1)
	_, lisErr := p.s.dev.Listen(e.cfg.Addr(e))
	_, dialErr := p.s.dev.Dial(ctx, p.lis.Addr(), rdma.QPConfig{SendCQ: p.s.send, RecvCQ: p.s.recv}, nil)
	_, accErr := p.lis.Accept(ctx)
	_, waitErr := wait(ctx, p.s.recv, e.cfg.Patience)
	for what, err := range map[string]error{"Register": regErr, "CreateCQ": cqErr,
		"Listen": lisErr, "Dial": dialErr, "Accept": accErr, "Wait": waitErr} {
		if !errors.Is(err, rdma.ErrClosed) {
			e.Errorf("%s after Device.Close: %v, want ErrClosed", what, err)
		}
	}
	e.refuses(p.sq)
}

// caseDeviceCloseSeen: every peer of a closed device is notified.
func caseDeviceCloseSeen(e *env) {
	p := e.pair(64)
	q2, _ := e.connect(p.lis, p.c, p.s)
	e.must(p.s.dev.Close())
	want := map[rdma.QueuePair]bool{p.cq: true, q2: true}
	for _, c := range e.take(p.c.recv, 2) {
		if c.Op != rdma.OpRecv || c.Status == rdma.StatusOK || !want[c.QP] {
			e.Errorf("got %s %q, want each queue pair's failure once", c.Op, c.Status)
		}
		delete(want, c.QP)
	}
	e.refuses(p.cq)
	e.refuses(q2)
}

// caseCloseUnderLoad closes the parts of one side in random orders while
// both sides post every kind of request and poll.
func caseCloseUnderLoad(e *env) {
	g := rand.New(rand.NewPCG(5, 6))
	for round := range 24 {
		p := e.pair(1 << 14)
		// A region that only the peer uses may be closed at any time;
		// the owner's own requests must end before (package rdma), so
		// those use h.mem, closed by the device.
		cmem, smem := e.region(p.c.dev, 4096, allAccess), e.region(p.s.dev, 4096, allAccess)
		var w workers
		var stop atomic.Bool
		progress := make(chan struct{}, 64)
		load(e, &w, &stop, p.c, p.cq, smem, progress)
		load(e, &w, &stop, p.s, p.sq, cmem, progress)
		for range 8 + g.IntN(50) {
			select {
			case <-progress:
			case <-time.After(e.cfg.Patience):
				e.Fatal("no progress under load")
			}
		}
		parts := []struct {
			name  string
			close func() error
		}{
			{"listener", p.lis.Close}, {"queue pair", p.sq.Close}, {"send queue", p.s.send.Close},
			{"receive queue", p.s.recv.Close}, {"region", smem.Close}, {"device", p.s.dev.Close},
		}
		if round%2 == 1 { // the dialing side
			parts[1].close, parts[2].close, parts[3].close = p.cq.Close, p.c.send.Close, p.c.recv.Close
			parts[4].close, parts[5].close = cmem.Close, p.c.dev.Close
		}
		g.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		order := ""
		for _, part := range parts {
			order += part.name + ", "
			if err := part.close(); err != nil {
				e.Errorf("Close of the %s: %v", part.name, err)
			}
		}
		stop.Store(true)
		e.must(p.c.dev.Close())
		e.must(p.s.dev.Close())
		e.joinAs(&w, "posters and pollers after closing "+order)
	}
}

// load starts a poster and a poller per queue of one side. They end when
// an object that they use is closed or fails.
func load(e *env, w *workers, stop *atomic.Bool, h *host, q rdma.QueuePair, remote rdma.Region, progress chan<- struct{}) {
	mem := h.mem
	wrs := []rdma.WorkRequest{
		read(1, mem, 0, remote, 0, 1000),
		unsignaled(write(2, mem, 2000, remote, 1000, 300)),
		writeImm(3, 3, mem, 2000, remote, 2000, 100),
		unsignaled(read(4, mem, 4096, remote, 64, 640)),
	}
	w.run(func() error {
		for !stop.Load() {
			_, err := q.Post(wrs)
			switch {
			case err == nil:
			case isFull(err):
				_ = poll(time.Millisecond, stop.Load)
			case errors.Is(err, rdma.ErrQueuePair), errors.Is(err, rdma.ErrClosed):
				return nil
			case errors.Is(err, rdma.ErrBadRequest) && stop.Load():
				return nil // mem was closed with its device
			default:
				// The device's Close closes mem before or after q.
				if q.Err() != nil {
					return nil
				}
				return fmt.Errorf("Post under load: %w", err)
			}
		}
		return nil
	})
	for _, cq := range []rdma.CompletionQueue{h.send, h.recv} {
		w.run(func() error {
			var buf [16]rdma.Completion
			for {
				if cq.Poll(buf[:]) > 0 {
					select {
					case progress <- struct{}{}:
					default:
					}
					continue
				}
				err := cq.Wait(context.Background(), 2*e.cfg.Patience)
				if errors.Is(err, rdma.ErrClosed) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("Wait under load: %w", err)
				}
			}
		})
	}
}

// caseConnectAndClose makes and ends many connections; the suite's leak check
// detects their leaks.
func caseConnectAndClose(e *env) {
	c, s := e.host(4096), e.host(4096)
	l := e.listen(s.dev)
	for i := range 50 {
		q, sq := e.connect(l, c, s)
		e.post(q, writeImm(1, uint32(i), c.mem, 0, s.mem, 0, 100))
		e.takeOK(s.recv, 1)
		if i%2 == 0 {
			q, sq = sq, q
		}
		e.must(q.Close())
		e.must(sq.Close())
	}
	p := &pair{lis: l, c: c, s: s}
	p.cq, p.sq = e.connect(l, c, s)
	e.fence(p)
	e.silent(c.send, c.recv, s.send, s.recv)
}
