package fastmsg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/faulty"
)

// wrapped is a provider with faults; devices reports those it opened.
func wrapped(p provider, opt faulty.Options) (q provider, devices func() []*faulty.Device) {
	var all []*faulty.Device
	q = p
	q.placed = false // such a device declares no order of a Write's bytes
	q.open = func(t testing.TB) rdma.Device {
		opt.Seed++
		dev := faulty.Wrap(p.open(t), opt)
		t.Cleanup(func() { dev.Close() })
		all = append(all, dev)
		return dev
	}
	return q, func() []*faulty.Device { return all }
}

// TestLateCompletionsAndFullQueues: late completions, reordered connections, waits that
// oversleep, and queues that are unexpectedly full cost time, but no
// message is lost.
func TestLateCompletionsAndFullQueues(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		q, devices := wrapped(p, faulty.Options{
			LateCompletion: 0.2, Reorder: 0.3, FullQueue: 0.2, HeldWait: 0.1,
		})
		s := serve(t, q, handlerFuncs{serve: func(c *Conn, m Message) {
			c.RespondPart(2, m.ID, m.Payload)
			c.Respond(2, m.ID, m.Payload)
		}}, WorkerConfig{RingBytes: MinRingBytes})
		var group sync.WaitGroup
		for k := range 3 {
			c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
			for g := range 20 {
				group.Go(func() {
					for n := range 20 {
						want := bytes.Repeat([]byte{byte(k), byte(g), byte(n)}, 10*(1+g))
						got, _, err := c.Call(within(t), 1, want, nil)
						if err != nil {
							t.Error(err)
							return
						}
						if !bytes.Equal(got, append(want[:len(want):len(want)], want...)) {
							t.Errorf("caller %d of %d: wrong answer", g, k)
							return
						}
					}
				})
			}
		}
		group.Wait()
		full := uint64(0)
		for _, dev := range devices() {
			full += dev.Count(faulty.FullQueue)
		}
		if full == 0 {
			t.Error("no queue was full")
		}
	})
}

// TestOutcomesOnBrokenConnections: connections that break at any moment. A call that
// succeeded was executed; a call that reports ErrNotSent was not sent,
// and never will be.
func TestOutcomesOnBrokenConnections(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		var succeeded, notSent, unknown int
		for round := range uint64(20) {
			var mu sync.Mutex
			carriedOut := make(map[uint64]bool)
			s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
				mu.Lock()
				carriedOut[binary.LittleEndian.Uint64(m.Payload)] = true
				mu.Unlock()
				c.Respond(1, m.ID, nil)
			}}, WorkerConfig{RingBytes: MinRingBytes})
			opt := faulty.Options{Seed: round, DropAfter: 5 + 7*round, FullQueue: 0.1}
			if round%2 == 1 {
				opt = faulty.Options{Seed: round, FailedRequest: 0.02}
			}
			q, _ := wrapped(p, opt)
			c, err := Dial(within(t), q.open(t), s.addr, CallerConfig{MaxInFlight: 16, InMemory: p.inMemory})
			if err != nil {
				t.Fatal(err)
			}
			outcome := make(map[uint64]error)
			var group sync.WaitGroup
			for g := range uint64(32) {
				group.Go(func() {
					var payload [100]byte
					for n := range uint64(1000) {
						id := g<<32 | n
						binary.LittleEndian.PutUint64(payload[:], id)
						_, _, err := c.Call(within(t), 1, payload[:], nil)
						mu.Lock()
						outcome[id] = err
						mu.Unlock()
						if err != nil {
							return
						}
					}
				})
			}
			group.Wait()
			c.Close()
			s.stop()
			for id, err := range outcome {
				switch {
				case err == nil:
					succeeded++
					if !carriedOut[id] {
						t.Fatalf("round %d: call %#x succeeded and was not carried out", round, id)
					}
				case errors.Is(err, ErrNotSent) && !errors.Is(err, ErrUnknownOutcome):
					notSent++
					if carriedOut[id] {
						t.Fatalf("round %d: call %#x was carried out: %v", round, id, err)
					}
				case errors.Is(err, ErrUnknownOutcome) && !RetrySafe(err):
					unknown++
				default:
					t.Fatalf("round %d: call %#x: %v", round, id, err)
				}
			}
		}
		t.Logf("%d succeeded, %d not sent, %d unknown", succeeded, notSent, unknown)
		if succeeded == 0 || notSent == 0 || unknown == 0 {
			t.Error("not every outcome occurred")
		}
	})
}

// TestAbandonedCalls: contexts that end at any moment leave no slot
// occupied, and no call gets the answer of another.
func TestAbandonedCalls(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: MinRingBytes})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes, MaxInFlight: 8})
		var group sync.WaitGroup
		for g := range uint64(16) {
			group.Go(func() {
				rng := newRand(g)
				for n := range uint64(100) {
					ctx, cancel := context.WithCancel(within(t))
					var want [200]byte
					binary.LittleEndian.PutUint64(want[:], g<<32|n)
					if rng.IntN(2) == 0 {
						go cancel()
					}
					got, _, err := c.Call(ctx, 1, want[:8+rng.IntN(192)], nil)
					cancel()
					if err == nil && binary.LittleEndian.Uint64(got) != g<<32|n {
						t.Errorf("caller %d got another's answer", g)
					}
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		until(t, "all slots are free", func() bool { return c.free.available() == len(c.slots) })
		if _, _, err := c.Call(within(t), 1, nil, nil); err != nil {
			t.Fatal(err)
		}
	})
}
