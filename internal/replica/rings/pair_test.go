package rings

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"github.com/catfish-index/catfish/internal/replica/lane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transports are those whose queue pairs every machine has.
func transports(t *testing.T, test func(t *testing.T, open func() rdma.Device, listen string)) {
	t.Run("transport=soft", func(t *testing.T) {
		test(t, opener(t, func() (rdma.Device, error) { return soft.Open(soft.Options{}) }), "127.0.0.1:0")
	})
	if runtime.GOOS == "linux" {
		t.Run("transport=shm", func(t *testing.T) {
			test(t, opener(t, func() (rdma.Device, error) { return shm.Open(shm.Options{}) }), filepath.Join(t.TempDir(), "s"))
		})
	}
}

func opener(t *testing.T, open func() (rdma.Device, error)) func() rdma.Device {
	return func() rdma.Device {
		d, err := open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
}

// pair is a lane with both sides in this process.
type pair struct {
	t    *testing.T
	s    *Sender
	r    *Receiver
	acks chan lane.Ack
	read chan lane.Frame
	// What Acks and Read returned.
	sender, receiver chan error
}

const testTime = 20 * time.Second

// each runs a test over each transport, with a ring of a size.
func each(t *testing.T, ring int, test func(p *pair)) {
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) { test(newPair(t, open, listen, ring)) })
}

func newPair(t *testing.T, open func() rdma.Device, listen string, ring int) *pair {
	t.Helper()
	return newPairReading(t, open, listen, ring, nil)
}

// newPairReading calls read with frames, nil: they are in pair.read.
func newPairReading(t *testing.T, open func() rdma.Device, listen string, ring int, reader func(lane.Frame) error) *pair {
	t.Helper()
	primary := open()
	ln, err := primary.Listen(listen)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, acks: make(chan lane.Ack, 1<<16), read: make(chan lane.Frame, 1<<16),
		sender: make(chan error, 1), receiver: make(chan error, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		req, err := ln.Accept(ctx)
		if err == nil {
			var h lane.Hello
			if h, err = lane.DecodeHello(req.PrivateData()); err == nil {
				p.s, err = Accept(primary, req, h)
			}
		}
		accepted <- err
	}()
	p.r, err = Dial(ctx, open(), ln.Addr(), lane.Hello{Ticket: 1}, ring, 1<<20)
	if err := errors.Join(err, <-accepted); err != nil {
		t.Fatal(err)
	}
	read, acked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(acked)
		p.sender <- p.s.Acks(func(a lane.Ack) { p.acks <- a })
	}()
	go func() {
		defer close(read)
		if reader == nil {
			reader = func(f lane.Frame) error { p.read <- f; return nil }
		}
		p.receiver <- p.r.Read(reader, func() {})
	}()
	t.Cleanup(func() {
		p.s.Stop()
		p.r.Stop()
		<-read
		<-acked
		p.s.Close()
		p.r.Close()
		_ = ln.Close()
	})
	return p
}

// next returns what comes from a channel.
func next[T any](p *pair, what string, from <-chan T) T {
	p.t.Helper()
	select {
	case x := <-from:
		return x
	case <-time.After(testTime):
		p.t.Fatalf("no %s comes", what)
		panic("not reached")
	}
}

func entries(first uint64, n int, payload ...byte) lane.Frame {
	return lane.Frame{Kind: lane.Entries, Term: 1, Session: 1, First: first, Entries: uint32(n), Payload: payload}
}

func beacon() lane.Frame { return lane.Frame{Kind: lane.Beacon, Term: 1, Session: 1, First: 1} }

func (p *pair) send(f lane.Frame) {
	p.t.Helper()
	if err := p.s.Send(f); err != nil {
		p.t.Fatal(err)
	}
}
