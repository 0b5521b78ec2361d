package fastmsg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// batchFuncs is a BatchHandler: requests of kind 1 are served together.
type batchFuncs struct {
	handlerFuncs
	many func([]Request) int
}

func (h batchFuncs) Batches(m Message) bool            { return m.Kind == 1 }
func (h batchFuncs) ServeBatch(reqs []Request) (n int) { return h.many(reqs) }

func echoAll(reqs []Request) int {
	for _, r := range reqs {
		echo(r.Conn, r.Message)
	}
	return len(reqs)
}

// paused sends calls in order while the worker is paused, so that it finds
// all of them, in order, when it continues.
type paused struct {
	t     *testing.T
	s     *server
	group sync.WaitGroup
}

func pause(t *testing.T, s *server) *paused {
	s.Pause()
	return &paused{t: t, s: s}
}

func (p *paused) call(c *Caller, kind Kind, payload []byte, done func([]byte, error)) {
	before := sent(c)
	p.group.Go(func() { done(callOnce(c, kind, payload)) })
	until(p.t, "sent", func() bool { return sent(c) > before })
}

func callOnce(c *Caller, kind Kind, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, _, err := c.Call(ctx, kind, payload, nil)
	return got, err
}

// echoed makes a call whose answer must be the request's payload.
func (p *paused) echoed(c *Caller, kind Kind, payload []byte) {
	p.call(c, kind, payload, func(got []byte, err error) {
		if err != nil || !bytes.Equal(got, payload) {
			p.t.Errorf("kind %d, %q: %q, %v", kind, payload, got, err)
		}
	})
}

func (p *paused) resume() {
	p.s.Resume()
	p.group.Wait()
}

// TestBatchOrder: the requests of each connection are served in order,
// those of kind 1 together, whatever part of a batch the handler serves.
func TestBatchOrder(t *testing.T) {
	for _, most := range []int{1, 3, maxBatch} {
		t.Run(fmt.Sprintf("most=%d", most), func(t *testing.T) {
			overProviders(t, func(t *testing.T, p provider) {
				var order []string // in which the worker serves
				calls, largest := 0, 0
				s := serve(t, p, batchFuncs{
					handlerFuncs: handlerFuncs{serve: func(c *Conn, m Message) {
						order = append(order, string(m.Payload))
						echo(c, m)
					}},
					many: func(reqs []Request) int {
						calls++
						largest = max(largest, len(reqs))
						if len(reqs) < 2 || len(reqs) > maxBatch {
							t.Errorf("a batch of %d", len(reqs))
						}
						reqs = reqs[:min(most, len(reqs))]
						for _, r := range reqs {
							order = append(order, string(r.Payload))
						}
						return echoAll(reqs)
					},
				}, WorkerConfig{})
				const clients, each = 4, 40 // beyond turnRequests, and a batch
				callers := make([]*Caller, clients)
				for i := range callers {
					callers[i] = s.dial(t, CallerConfig{})
				}
				rest := pause(t, s)
				for k := range each {
					for i, c := range callers {
						kind := Kind(1)
						if k%10 == 3+i { // a write between the searches
							kind = 2
						}
						rest.echoed(c, kind, fmt.Appendf(nil, "%d.%02d", i, k))
					}
				}
				rest.resume()
				s.Pause()
				defer s.Resume()
				for i := range callers {
					of := fmt.Appendf(nil, "%d.", i)
					mine := slices.DeleteFunc(slices.Clone(order), func(s string) bool { return !bytes.HasPrefix([]byte(s), of) })
					if len(mine) != each || !slices.IsSorted(mine) {
						t.Errorf("client %d served in the order %v", i, mine)
					}
				}
				if calls == 0 || largest < 2*clients {
					t.Errorf("%d batches, the largest of %d, of %d requests", calls, largest, clients*each)
				}
				if st := s.Stats(); st.Requests != clients*each || st.Waiting != 0 {
					t.Errorf("stats %+v", st)
				}
			})
		})
	}
}

// TestBatchFullRing: answers that fill a client's ring delay only that client,
// whose next requests are not served before these answers are sent.
func TestBatchFullRing(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		big := bytes.Repeat([]byte("x"), 3*MinRingBytes)
		s := serve(t, p, batchFuncs{
			handlerFuncs: handlerFuncs{serve: func(c *Conn, m Message) {
				if !c.backlog.empty() {
					t.Error("served behind a backlog")
				}
				c.Respond(1, m.ID, append(m.Payload, big...))
			}},
			many: func(reqs []Request) int {
				for _, r := range reqs {
					if !r.Conn.backlog.empty() {
						t.Error("in a batch behind a backlog")
					}
				}
				n := min(2, len(reqs)) // the handler bounds the number
				for _, r := range reqs[:n] {
					r.Conn.Respond(1, r.ID, append(bytes.Clone(r.Payload), big...))
				}
				return n
			},
		}, WorkerConfig{RingBytes: MinRingBytes}) // so that requests wrap, too
		narrow := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
		wide := s.dial(t, CallerConfig{})
		for range 5 {
			rest := pause(t, s)
			for i := range 30 {
				for _, c := range []*Caller{narrow, wide} {
					payload := bytes.Repeat([]byte{byte(i)}, i)
					rest.call(c, 1, payload, func(got []byte, err error) {
						if err != nil || !bytes.HasPrefix(got, payload) || len(got) != len(payload)+len(big) {
							t.Errorf("call %d: %d bytes, %v", i, len(got), err)
						}
					})
				}
			}
			rest.resume()
		}
	})
}

// TestBatchWithFailingClients: clients that disconnect, or violate the protocol, after
// sending requests that are batched disturb no other client.
func TestBatchWithFailingClients(t *testing.T) {
	good := message(header{size: 32, kind: 1, flags: FlagEnd})
	overProviders(t, func(t *testing.T, p provider) {
		reason := errors.New("not you")
		closed := make(chan error, 8)
		// Serve gets a request that is the only one of its turn.
		one := func(c *Conn, m Message) {
			if string(m.Payload) == "fail me" {
				c.Fail(reason)
				return
			}
			echo(c, m)
		}
		s := serve(t, p, batchFuncs{
			handlerFuncs: handlerFuncs{serve: one, closed: func(_ *Conn, err error) { closed <- err }},
			many: func(reqs []Request) int {
				for _, r := range reqs {
					one(r.Conn, r.Message)
				}
				return len(reqs)
			},
		}, WorkerConfig{})
		friends := []*Caller{s.dial(t, CallerConfig{}), s.dial(t, CallerConfig{})}
		leaves, fails := s.dial(t, CallerConfig{}), s.dial(t, CallerConfig{})
		broken := newStranger(t, p)
		broken.dial(t, s)
		until(t, "all are there", func() bool { return s.Stats().Connections == 5 })
		rest := pause(t, s)
		lost := func(_ []byte, err error) {
			if err == nil {
				t.Error("a lost connection's call is answered")
			}
		}
		for i := range 10 {
			for _, f := range friends {
				rest.echoed(f, 1, []byte{byte(i)})
			}
			if i == 5 {
				rest.call(leaves, 1, nil, lost)
				rest.call(fails, 1, []byte("fail me"), lost)
				rest.call(fails, 1, []byte("and this"), lost)
				broken.send(t, 0, append(slices.Concat(good, good), make([]byte, 8)...), 9)
			}
		}
		leaves.Close()
		rest.resume()
		reasons := []error{<-closed, <-closed, <-closed}
		for _, want := range []error{reason, ErrProtocol} {
			if !slices.ContainsFunc(reasons, func(err error) bool { return errors.Is(err, want) }) {
				t.Errorf("closed with %v, want one of %v", reasons, want)
			}
		}
		for _, f := range friends {
			if got, err := callOnce(f, 1, []byte("hi")); err != nil || string(got) != "hi" {
				t.Errorf("friend: %q, %v", got, err)
			}
		}
		if n := s.Stats().Connections; n != 2 {
			t.Errorf("%d connections, want the friends'", n)
		}
	})
}

// TestBatchOfRandomRings: rings of random content, whose well-formed requests are
// batched, end no connection but their own.
func TestBatchOfRandomRings(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, batchFuncs{handlerFuncs{serve: echo}, echoAll}, WorkerConfig{RingBytes: MinRingBytes})
		friend := s.dial(t, CallerConfig{})
		rng := newRand(11)
		for range 30 {
			x := newStranger(t, p)
			x.dial(t, s)
			rest := pause(t, s)
			for range 10 {
				var ring []byte
				for range 1 + rng.IntN(4) {
					h := header{size: 8 * uint32(2+rng.IntN(11)), kind: Kind(1 + rng.IntN(2)), flags: FlagEnd}
					if rng.IntN(8) == 0 {
						h.fill = uint8(rng.IntN(9))
					}
					if rng.IntN(20) == 0 {
						h.size += uint32(rng.IntN(5))
					}
					ring = append(ring, message(h)...)
				}
				copy(x.source.Bytes(), ring)
				x.send(t, uint64(rng.IntN(2))*8*uint64(rng.IntN(100)), ring[:len(ring)&^7], uint32(len(ring)/8))
				rest.echoed(friend, 1, ring[:8])
			}
			rest.resume()
			x.qp.Close()
		}
		until(t, "only the friend is left", func() bool { return s.Stats().Connections == 1 })
	})
}

// TestLoneRequestIsNotBatched: ServeBatch serves no request that is alone, too long or of
// another kind.
func TestLoneRequestIsNotBatched(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, batchFuncs{handlerFuncs{serve: echo}, func(reqs []Request) int {
			t.Errorf("a batch of %d", len(reqs))
			return echoAll(reqs)
		}}, WorkerConfig{})
		a, b := s.dial(t, CallerConfig{}), s.dial(t, CallerConfig{})
		for range 5 {
			rest := pause(t, s)
			rest.echoed(a, 1, bytes.Repeat([]byte("a"), BatchPayload))
			rest.echoed(a, 1, bytes.Repeat([]byte("b"), BatchPayload+1))
			rest.echoed(b, 2, []byte("c"))
			rest.echoed(a, 2, []byte("d"))
			rest.resume()
		}
	})
}
