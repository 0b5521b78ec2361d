package fastmsg

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/limits"
)

// Rings count in full, also those that clients choose; rings that do not fit are
// refused at the handshake, with the limit, and disconnected clients hold nothing.
func TestRingsCountAgainstBudget(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		small := RingsBytes(DefaultRingBytes, DefaultRingBytes)
		if p.fetch { // and the ring of answers to fetch
			small += DefaultRingBytes
		}
		b := limits.NewBudget("bytes of rings", 2*small, 2*small)
		ended := make(chan error, 4)
		s := serve(t, p, handlerFuncs{serve: echo, closed: func(_ *Conn, err error) { ended <- err }}, WorkerConfig{Rings: b})
		c, err := Dial(within(t), p.open(t), s.addr, CallerConfig{InMemory: p.inMemory, Fetch: p.fetch})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if used := b.Use().Used; used != small {
			t.Errorf("%d bytes count, want %d", used, small)
		}
		large := CallerConfig{InMemory: p.inMemory, Fetch: p.fetch, RingBytes: MaxRingBytes}
		if _, err := Dial(within(t), p.open(t), s.addr, large); err == nil || !strings.Contains(err.Error(), fmt.Sprint("limit ", 2*small)) {
			t.Errorf("a ring of %d bytes: %v", MaxRingBytes, err)
		}
		if used := b.Use().Used; used != small {
			t.Errorf("%d bytes count after a refusal, want %d", used, small)
		}
		if _, _, err := c.Call(within(t), kindSoon, nil, nil); err != nil {
			t.Errorf("another client: %v", err)
		}
		c.Close()
		<-ended
		if used := b.Use().Used; used != 0 {
			t.Errorf("%d bytes count after all have left", used)
		}
	})
}

// Large rings make room for small ones of other sources, whether their
// connection is open by then or still being accepted.
func TestLargeRingsMakeRoom(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		total := int64(10 << 20)
		if p.fetch {
			total += MaxRingBytes
		}
		b := limits.NewBudget("bytes of rings", total, total)
		ended := make(chan error, 4)
		s := serve(t, p, handlerFuncs{serve: echo, closed: func(_ *Conn, err error) { ended <- err }}, WorkerConfig{Rings: b})
		other := b.Open("another source", func(error) {})
		defer other.Close()
		for range 2 {
			c, err := Dial(within(t), p.open(t), s.addr, CallerConfig{InMemory: p.inMemory, Fetch: p.fetch, RingBytes: MaxRingBytes})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := other.Take(4 << 20); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, limits.ErrCut) {
				t.Errorf("ended by %v", err)
			}
			other.Give(4 << 20)
		}
	})
}

// A connection whose rings were cut while it was accepted ends when it is
// opened.
func TestCutWhileAccepted(t *testing.T) {
	p := providers[0]
	b := limits.NewBudget("bytes of rings", 10<<20, 10<<20)
	dev := p.open(t)
	lis, err := dev.Listen(p.addr(t))
	if err != nil {
		t.Fatal(err)
	}
	var ended error
	w, err := NewWorker(dev, handlerFuncs{closed: func(_ *Conn, err error) { ended = err }}, WorkerConfig{Rings: b})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	// The client stays until the server has accepted it. Over libfabric Dial may
	// return first, and a client that leaves then makes accept fail.
	accepted, left := make(chan struct{}), make(chan struct{})
	client := p.open(t)
	go func() {
		defer close(left)
		c, err := Dial(within(t), client, lis.Addr(), CallerConfig{RingBytes: MaxRingBytes})
		<-accepted
		if err == nil {
			c.Close()
		}
	}()
	req, err := lis.Accept(within(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.accept(req)
	close(accepted)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Open("another source", nil).Take(4 << 20); err != nil {
		t.Fatal(err)
	}
	w.takeOver() // does not know c yet
	w.turn()
	w.inbox = append(w.inbox, c)
	w.takeOver()
	w.turn()
	if !errors.Is(ended, limits.ErrCut) || len(w.conns) != 0 {
		t.Errorf("ended by %v, %d connections", ended, len(w.conns))
	}
	<-left
}
