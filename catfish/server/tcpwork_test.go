package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// manyAt returns a server with n objects at one place, so that a search for
// them finds many objects in few nodes.
func manyAt(t *testing.T, n int) (s *Server, search []byte) {
	t.Helper()
	s, err := NewServer(Options{SlabBytes: 16 << 20, Transports: []string{model.TransportTCP}, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	items := make([]rstar.Item, n)
	for i := range items {
		items[i] = rstar.Item{Rect: square(5, 5), ID: uint64(i)}
	}
	if err := tree(t, s).Load(items); err != nil {
		t.Fatal(err)
	}
	return s, wire.AppendFrame(nil, wire.KindSearch, 1, wire.AppendRect(wire.AppendHead(nil, 0, 0), square(5, 5)))
}

// pipeTo serves one plain socket of s.
func pipeTo(t *testing.T, s *Server) net.Conn {
	c, end := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.serveTCP(end)
	}()
	t.Cleanup(func() { c.Close(); <-ended })
	return c
}

// TestIdleSocketsHoldLittle: a socket at rest holds only its request buffer, however large
// its last answer was.
func TestIdleSocketsHoldLittle(t *testing.T) {
	const objects, sockets = 12_000, 30
	s, search := manyAt(t, objects)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // the second one frees the memory of pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range sockets {
		c := pipeTo(t, s)
		if _, err := c.Write(search); err != nil {
			t.Fatal(err)
		}
		if n, err := io.CopyN(io.Discard, c, wire.FrameBytes+objects*wire.ItemBytes); err != nil {
			t.Fatalf("%d bytes of the answer: %v", n, err)
		}
		// When the server takes the first byte of the next request, the socket rests.
		if _, err := c.Write(search[:1]); err != nil {
			t.Fatal(err)
		}
	}
	if each := (heap() - before) / sockets; each > connBytes {
		t.Errorf("a socket at rest holds %d bytes, want at most %d", each, connBytes)
	}
}

// TestUnreadAnswerCounts: an answer that its client does not take counts against the
// budget, although it was not made in steps.
func TestUnreadAnswerCounts(t *testing.T) {
	const objects = 6_000
	s, search := manyAt(t, objects)
	c := pipeTo(t, s)
	if _, err := c.Write(search); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(c, 16)
	if _, err := r.Peek(wire.FrameBytes); err != nil { // the server is writing it
		t.Fatal(err)
	}
	if used := s.budgets.answers.Use().Used; used < objects*wire.ItemBytes-keptWork {
		t.Errorf("%d bytes count of an answer of %d", used, objects*wire.ItemBytes)
	}
	if _, err := io.CopyN(io.Discard, r, wire.FrameBytes+objects*wire.ItemBytes); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(search[:1]); err != nil {
		t.Fatal(err)
	}
	if used := s.budgets.answers.Use().Used; used != 0 {
		t.Errorf("%d bytes count of an answer that was taken", used)
	}
}

// TestRefusedAnswer: a request whose answer the budget refuses fails with an error;
// a write, which by then is complete, does not fail.
func TestRefusedAnswer(t *testing.T) {
	s, search := manyAt(t, 6_000)
	s.budgets.answers = limits.NewBudget("bytes of answers", 1, 1)
	c := pipeTo(t, s)
	r := bufio.NewReader(c)
	ask := func(kind fastmsg.Kind, p []byte) (fastmsg.Kind, []byte) {
		t.Helper()
		if _, err := c.Write(wire.AppendFrame(nil, kind, 1, p)); err != nil {
			t.Fatal(err)
		}
		kind, _, b, err := wire.ReadFrame(r, nil, wire.MaxReply)
		if err != nil {
			t.Fatal(err)
		}
		return kind, b
	}
	for range 3 { // also with buffers that have grown
		if kind, b := ask(wire.KindSearch, search[wire.FrameBytes:]); kind != wire.KindFailure || !errors.Is(wire.GetFailure(b), model.ErrBusy) {
			t.Fatalf("answer of kind %d, %d bytes", kind, len(b))
		}
		w := s.takeWork(&pacedWriter{c: c}, new(peer), nil)
		w.out = make([]byte, 0, wire.KeepBytes)
		s.tcpWork.Put(w)
		item := wire.AppendItem(wire.AppendHead(nil, 0, 0), rstar.Item{Rect: square(7, 7), ID: 1})
		if kind, b := ask(wire.KindInsert, item); kind != wire.KindReply {
			t.Fatalf("insert: %v", wire.GetFailure(b))
		}
	}
}

// TestAnswersWhileMemoryIsFull: while the memory is full, only small answers are given.
func TestAnswersWhileMemoryIsFull(t *testing.T) {
	s, _ := manyAt(t, 1)
	s.memory.full.Store(true)
	if err := limits.CheckMemory(s, limits.FullAnswer+1); !errors.Is(err, model.ErrBusy) {
		t.Errorf("a large answer: %v", err)
	}
	if err := limits.CheckMemory(s, limits.FullAnswer); err != nil {
		t.Errorf("a small answer: %v", err)
	}
}

// TestSlowPieces: a client that takes 64 KiB of a long answer in ten seconds, which is
// less than limits.LeastRate, loses its connection, in however many pieces the answer is
// written.
func TestSlowPieces(t *testing.T) {
	const size, piece = 4 << 20, 16 << 10
	synctest.Test(t, func(t *testing.T) {
		c, end := net.Pipe()
		defer c.Close()
		wrote := make(chan error, 1)
		start := time.Now()
		go func() {
			defer end.Close()
			w := newAnswerWriter(&pacedWriter{c: end})
			w.begin(wire.KindReply, 1, size)
			var err error
			for n := piece; n <= size && err == nil; n += piece {
				err = w.more(make([]byte, piece), n == size)
			}
			wrote <- err
		}()
		b := make([]byte, 64<<10)
		for {
			if _, err := io.ReadFull(c, b); err != nil {
				break
			}
			<-time.After(limits.StallTimeout - time.Millisecond)
		}
		if err := <-wrote; !errors.Is(err, errStalled) || time.Since(start) > 3*limits.StallTimeout {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestSlowServerIsNotSlowSocket: the time in which the server makes an answer, or is
// stopped, does not count against a client that takes its answers.
func TestSlowServerIsNotSlowSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := net.Pipe()
		defer c.Close()
		go io.Copy(io.Discard, c)
		w := newAnswerWriter(&pacedWriter{c: end})
		w.begin(wire.KindReply, 1, 100<<16)
		for i := range 100 {
			<-time.After(time.Minute)
			if err := w.more(make([]byte, 1<<16), i == 99); err != nil {
				t.Fatal(err)
			}
		}
	})
}
