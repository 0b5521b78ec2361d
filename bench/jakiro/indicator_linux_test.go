package jakiro

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// newIndicatorPair is newPair with HydraDB's messages.
func newIndicatorPair(t *testing.T, serve Handler) pair {
	t.Helper()
	s, err := listen(open(t), Config{Addr: filepath.Join(t.TempDir(), "socket"), Threads: 2, MaxBody: 600, Serve: serve, Indicators: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return pair{s, nil, t}.indicatorClient()
}

// indicatorClient is the pair with another client.
func (p pair) indicatorClient() pair {
	p.t.Helper()
	c, err := DialIndicators(p.t.Context(), open(p.t), p.Server.Addr(), 2, 600)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	p.Client = c
	return p
}

// TestIndicators: each call's result is its own, for all sizes; one that was not served has none, and
// both buffers are zero after each call.
func TestIndicators(t *testing.T) {
	p := newIndicatorPair(t, echo)
	var want Counts
	for call := range 40 {
		for thread := range 2 {
			body := bytes.Repeat([]byte{1}, call*call%599)
			p.send(thread, body)
			if got, there := p.take(thread); there {
				t.Fatalf("call %d: %q before it was served", call, got)
			}
			if !p.look(thread) || p.look(thread) {
				t.Fatalf("call %d: a thread must find one request", call)
			}
			requests := p.threads[thread].all()[0].requests.Bytes()
			if !bytes.Equal(requests, make([]byte, len(requests))) {
				t.Fatalf("call %d: the request is not zeroed", call)
			}
			got, there := p.take(thread)
			if !there || !bytes.Equal(got, append([]byte{byte(thread)}, body...)) {
				t.Fatalf("call %d of %d bytes: %d bytes, there %t", call, len(body), len(got), there)
			}
			answer := p.lanes[thread].answer.Bytes()
			if !bytes.Equal(answer, make([]byte, len(answer))) {
				t.Fatalf("call %d: the answer is not zeroed", call)
			}
			want.Calls++
			want.Sent += uint64(16 + (len(body)+7)/8*8)
			want.Received += uint64(16 + (len(body)+8)/8*8)
		}
	}
	if got := p.Counts(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if p.Served() != want.Calls {
		t.Errorf("served %d of %d", p.Served(), want.Calls)
	}
}

// TestHostileMessage: an indicator that says more than the buffer holds ends that client only, and one
// at the client its call only.
func TestHostileMessage(t *testing.T) {
	p := newIndicatorPair(t, echo)
	tooLong := []byte{0, 0, 0xff, 0, indicator, 0, 0, 0}
	copy(p.threads[0].all()[0].requests.Bytes(), tooLong)
	if p.look(0) || !p.threads[0].all()[0].dead {
		t.Fatal("served a request beyond its buffer")
	}
	other := p.indicatorClient()
	other.send(0, []byte("x"))
	other.look(0)
	if got, there := other.take(0); !there || string(got) != "\x00x" {
		t.Errorf("another client of the thread has %q, %t", got, there)
	}
	copy(other.lanes[1].answer.Bytes(), tooLong)
	if _, there, err := other.Client.proto.take(t.Context(), other.Client, &other.lanes[1], nil); there || !errors.Is(err, ErrProtocol) {
		t.Errorf("an answer beyond its buffer: %t, %v", there, err)
	}
}

// TestClientGone: an answer that cannot be written ends that client only.
func TestClientGone(t *testing.T) {
	p := newIndicatorPair(t, echo)
	p.send(0, []byte("x"))
	if err := p.Client.Close(); err != nil {
		t.Fatal(err)
	}
	if p.look(0); !p.threads[0].all()[0].dead {
		t.Error("the client is still served")
	}
	other := p.indicatorClient()
	other.send(0, []byte("y"))
	other.look(0)
	if got, there := other.take(0); !there || string(got) != "\x00y" {
		t.Errorf("another client of the thread has %q, %t", got, there)
	}
}

// TestOtherProtocol: the two protocols' clients and servers refuse each other, and a
// client that expects other sizes.
func TestOtherProtocol(t *testing.T) {
	literal, indicators := newPair(t, 36, echo), newIndicatorPair(t, echo)
	for says, dial := range map[string]func() (*Client, error){
		"21 bytes, want 1": func() (*Client, error) {
			return DialIndicators(t.Context(), open(t), literal.Server.Addr(), 2, 600)
		},
		"1 bytes, want 21":  func() (*Client, error) { return Dial(t.Context(), open(t), indicators.Server.Addr(), 2, 36) },
		"at most 600 bytes": func() (*Client, error) { return DialIndicators(t.Context(), open(t), indicators.Server.Addr(), 2, 599) },
		"no such thread":    func() (*Client, error) { return DialIndicators(t.Context(), open(t), indicators.Server.Addr(), 3, 600) },
	} {
		var refused *rdma.RejectError
		if _, err := dial(); !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want one that says %q", err, says)
		}
	}
}

// TestIndicatorStore: the store, with server threads that poll.
func TestIndicatorStore(t *testing.T) {
	m, err := NewMap(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s, err := Listen(open(t), Config{Addr: filepath.Join(t.TempDir(), "socket"), Threads: 2, MaxBody: MaxBodyOf(100), Serve: m.Serve, Indicators: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := DialIndicatorStore(t.Context(), open(t), s.Addr(), 2, MaxBodyOf(100))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for i := range 50 {
		key, value := fmt.Appendf(nil, "key %012d", i), bytes.Repeat([]byte{byte(i)}, 2*i)
		if err := c.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get(t.Context(), key, nil); err != nil || !bytes.Equal(got, value) {
			t.Errorf("key %d: %q, %v", i, got, err)
		}
		if err := c.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
		if _, err := c.Get(t.Context(), key, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("key %d, which was deleted: %v", i, err)
		}
	}
	if s.Served() != 200 {
		t.Errorf("served %d", s.Served())
	}
}
