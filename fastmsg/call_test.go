package fastmsg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

func TestEcho(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		hello := make(chan []byte, 1)
		s := serve(t, p, handlerFuncs{
			serve:  echo,
			opened: func(c *Conn) { hello <- c.Hello() },
		}, WorkerConfig{Hello: func(string, []byte) ([]byte, error) {
			return []byte("welcome"), nil
		}})
		c := s.dial(t, CallerConfig{Hello: []byte("it is me")})
		if got := <-hello; string(got) != "it is me" {
			t.Fatalf("server got hello %q", got)
		}
		if string(c.Hello()) != "welcome" {
			t.Fatalf("client got hello %q", c.Hello())
		}
		for _, n := range []int{0, 1, 7, 8, 9, 1000, c.MaxPayload()} {
			payload := bytes.Repeat([]byte{byte(n)}, n)
			got, kind, err := c.Call(within(t), 5, payload, []byte("dst"))
			if err != nil {
				t.Fatal(err)
			}
			if kind != 6 || !bytes.Equal(got, append([]byte("dst"), payload...)) {
				t.Fatalf("%d bytes: kind %d, %d bytes back", n, kind, len(got))
			}
		}
		if st := s.Stats(); st.Connections != 1 {
			t.Fatalf("stats %+v", st)
		}
	})
}

func TestTooLarge(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: 8 << 10})
		c := s.dial(t, CallerConfig{MaxAnswerBytes: 100})
		_, _, err := c.Call(within(t), 1, make([]byte, c.MaxPayload()+1), nil)
		if !errors.Is(err, ErrTooLarge) || !RetrySafe(err) {
			t.Fatalf("request: %v", err)
		}
		_, _, err = c.Call(within(t), 1, make([]byte, 101), nil)
		if !errors.Is(err, ErrTooLarge) || RetrySafe(err) {
			t.Fatalf("answer: %v", err)
		}
		if _, _, err = c.Call(within(t), 1, make([]byte, 100), nil); err != nil {
			t.Fatalf("after both: %v", err)
		}
		_, err = Dial(within(t), p.open(t), s.addr, CallerConfig{Hello: make([]byte, MaxHello+1)})
		if !errors.Is(err, ErrTooLarge) {
			t.Fatalf("hello: %v", err)
		}
	})
}

// TestConcurrentCallers: every one of many goroutines gets its own
// answers, over rings so small that they are full all the time.
func TestConcurrentCallers(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: MinRingBytes})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes, MaxInFlight: 300})
		var group sync.WaitGroup
		const callers, each = 1000, 10
		for g := range callers {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(g)))
				payload := make([]byte, c.MaxPayload())
				for k := range each {
					want := payload[:8+rng.IntN(200)]
					binary.LittleEndian.PutUint64(want, uint64(g*each+k))
					got, _, err := c.Call(within(t), 1, want, nil)
					if err != nil {
						t.Error(err)
						return
					}
					if !bytes.Equal(got, want) {
						t.Errorf("caller %d got another's answer", g)
						return
					}
				}
			})
		}
		group.Wait()
		s.stop()
		if st := s.Stats(); st.Requests != callers*each || st.Responses != st.Requests {
			t.Fatalf("stats %+v, want %d requests", st, callers*each)
		}
	})
}

// TestLongAnswers: answers of 100 times the ring, several at once.
func TestLongAnswers(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		const size = 100 * MinRingBytes
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			b := bytes.Repeat(m.Payload, size/len(m.Payload))
			c.RespondPart(1, m.ID, b[:size/2])
			c.RespondPart(1, m.ID, nil)
			c.Respond(2, m.ID, b[size/2:])
		}}, WorkerConfig{})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
		var group sync.WaitGroup
		for g := range 8 {
			group.Go(func() {
				piece := fmt.Appendf(nil, "%08d", g)
				got, kind, err := c.Call(within(t), 1, piece, nil)
				if err != nil {
					t.Error(err)
				} else if kind != 2 || !bytes.Equal(got, bytes.Repeat(piece, size/8)) {
					t.Errorf("call %d: kind %d, %d bytes", g, kind, len(got))
				}
			})
		}
		group.Wait()
	})
}

// TestPausedWorkerHoldsBack: while a worker reads nothing, its ring fills up.
// Further calls wait, and can be abandoned as not sent; all others are served
// when the worker continues.
func TestPausedWorkerHoldsBack(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: MinRingBytes})
		c := s.dial(t, CallerConfig{})
		payload := make([]byte, c.MaxPayload())
		if _, _, err := c.Call(within(t), 1, payload, nil); err != nil {
			t.Fatal(err)
		}
		s.Pause()
		s.Pause() // a second time has no effect
		served := s.Stats().Requests

		ctx, cancel := context.WithCancel(context.Background())
		var group sync.WaitGroup
		var notSent, unknown, other atomic.Int32
		const calls = 20
		for range calls {
			group.Go(func() {
				_, _, err := c.Call(ctx, 1, payload, nil)
				switch {
				case errors.Is(err, ErrNotSent) && errors.Is(err, ErrRingFull) && RetrySafe(err):
					notSent.Add(1)
				case errors.Is(err, ErrUnknownOutcome) && errors.Is(err, context.Canceled) && !RetrySafe(err):
					unknown.Add(1)
				default:
					other.Add(1)
				}
			})
		}
		queued := func() int {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.queue)
		}
		// Four of a quarter each fit, or three if the ring's end is in
		// between.
		until(t, "calls wait for room", func() bool { return queued() >= calls-4 })
		if got := s.Stats().Requests; got != served {
			t.Fatalf("%d requests served while paused", got-served)
		}
		cancel()
		group.Wait()
		if notSent.Load() < calls-4 || unknown.Load() < 3 || other.Load() != 0 {
			t.Fatalf("%d not sent, %d unknown, %d other",
				notSent.Load(), unknown.Load(), other.Load())
		}
		s.Resume()
		s.Resume()
		// The late answers of the abandoned calls come first, and are
		// dropped.
		for range 10 {
			if got, _, err := c.Call(within(t), 1, []byte("x"), nil); err != nil || string(got) != "x" {
				t.Fatalf("after resume: %q, %v", got, err)
			}
		}
		if free := c.free.available(); free != len(c.slots) {
			t.Fatalf("%d of %d slots are free", free, len(c.slots))
		}
	})
}

func TestMaxInFlight(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		c := s.dial(t, CallerConfig{MaxInFlight: 1})
		s.Pause()
		first := make(chan error, 1)
		go func() {
			_, _, err := c.Call(context.Background(), 1, nil, nil)
			first <- err
		}()
		until(t, "the slot is taken", func() bool { return c.free.available() == 0 })
		ctx, cancel := context.WithCancel(context.Background())
		second := make(chan error, 1)
		go func() {
			_, _, err := c.Call(ctx, 1, nil, nil)
			second <- err
		}()
		cancel()
		if err := <-second; !errors.Is(err, ErrNotSent) || !errors.Is(err, context.Canceled) {
			t.Fatalf("second call: %v", err)
		}
		s.Resume()
		if err := <-first; err != nil {
			t.Fatalf("first call: %v", err)
		}
	})
}

// TestServerEnds: calls that were sent have an unknown outcome, calls
// made later are not sent, and all errors and states report that.
func TestServerEnds(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		reached := make(chan struct{}, 100)
		s := serve(t, p, handlerFuncs{serve: func(*Conn, Message) {
			reached <- struct{}{} // and never answers
		}}, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		const calls = 10
		results := make(chan error, calls)
		for range calls {
			go func() {
				_, _, err := c.Call(context.Background(), 1, nil, nil)
				results <- err
			}()
		}
		for range calls {
			<-reached
		}
		s.stop()
		for range calls {
			err := <-results
			if !errors.Is(err, ErrUnknownOutcome) || RetrySafe(err) {
				t.Fatalf("call that was sent: %v", err)
			}
		}
		<-c.Done()
		_, _, err := c.Call(context.Background(), 1, nil, nil)
		if c.Err() == nil || !errors.Is(err, ErrNotSent) || !RetrySafe(err) {
			t.Fatalf("call afterwards: %v (Err %v)", err, c.Err())
		}
	})
}

func TestClientCloses(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		reached := make(chan struct{}, 1)
		gone := make(chan error, 1)
		s := serve(t, p, handlerFuncs{
			serve:  func(*Conn, Message) { reached <- struct{}{} },
			closed: func(_ *Conn, err error) { gone <- err },
		}, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		result := make(chan error, 1)
		go func() {
			_, _, err := c.Call(context.Background(), 1, nil, nil)
			result <- err
		}()
		<-reached
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, ErrClosed) {
			t.Fatalf("call in progress: %v", err)
		}
		if err := <-gone; !errors.Is(err, rdma.ErrCompletion) {
			t.Fatalf("server learns %v", err)
		}
		until(t, "no connection", func() bool { return s.Stats().Connections == 0 })
		if err := c.Close(); err != nil {
			t.Fatalf("second Close: %v", err)
		}
	})
}

func TestVersionMismatch(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{}, WorkerConfig{})
		dev := p.open(t)
		cq, err := dev.CreateCQ(16)
		if err != nil {
			t.Fatal(err)
		}
		dial := func(private []byte) error {
			qp, err := dev.Dial(within(t), s.addr, rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, private)
			if err == nil {
				qp.Close()
			}
			return dialError(err)
		}
		private, err := handshake{DefaultRingBytes, rdma.Remote{Key: 1}, nil, p.inMemory, p.fetch, false}.encode()
		if err != nil {
			t.Fatal(err)
		}
		private[4] = 77
		err = dial(private)
		if !errors.Is(err, ErrVersion) || !errors.Is(err, rdma.ErrRejected) || !RetrySafe(err) ||
			!bytes.Contains([]byte(err.Error()), []byte("client speaks fastmsg protocol version 77, the server 3")) {
			t.Fatalf("version 77: %v", err)
		}
		if err = dial([]byte("who are you?")); !errors.Is(err, rdma.ErrRejected) {
			t.Fatalf("no handshake: %v", err)
		}
		private[4] = ProtocolVersion
		binary.LittleEndian.PutUint32(private[8:], 1<<31)
		if err = dial(private); !errors.Is(err, rdma.ErrRejected) {
			t.Fatalf("ring of 2 GiB: %v", err)
		}
		binary.LittleEndian.PutUint32(private[8:], DefaultRingBytes)
		private[12] |= 8
		if err = dial(private); !errors.Is(err, rdma.ErrRejected) {
			t.Fatalf("unknown flag: %v", err)
		}
		until(t, "four refusals", func() bool { return len(s.acceptErrors()) == 4 })
		refusals := s.acceptErrors()
		if !errors.Is(refusals[0], ErrVersion) || !errors.Is(refusals[1], ErrProtocol) ||
			!errors.Is(refusals[2], ErrConfig) || !errors.Is(refusals[3], ErrProtocol) {
			t.Fatalf("refusals: %v", refusals)
		}
	})
}

func TestHelloRefused(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		full := errors.New("the house is full")
		s := serve(t, p, handlerFuncs{}, WorkerConfig{
			Hello: func(string, []byte) ([]byte, error) { return nil, full },
		})
		_, err := Dial(within(t), p.open(t), s.addr, CallerConfig{})
		var reject *rdma.RejectError
		if !errors.As(err, &reject) || reject.Reason != full.Error() {
			t.Fatalf("got %v", err)
		}
	})
}
