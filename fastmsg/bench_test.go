package fastmsg

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// BenchmarkCall is a request of 40 bytes and its answer of 100, the
// size of a search with few hits, from callers on one connection.
func BenchmarkCall(b *testing.B) {
	for _, p := range providers {
		for _, callers := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("transport=%s/callers=%d", p.name, callers), func(b *testing.B) {
				answer := make([]byte, 100)
				s := serve(b, p, handlerFuncs{serve: func(c *Conn, m Message) {
					c.Respond(1, m.ID, answer)
				}}, WorkerConfig{})
				c := s.dial(b, CallerConfig{})
				before := s.Stats()
				var group sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				for k := range callers {
					group.Go(func() {
						payload, dst := make([]byte, 40), make([]byte, 0, 100)
						for n := k; n < b.N; n += callers {
							if _, _, err := c.Call(context.Background(), 1, payload, dst); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
				b.StopTimer()
				s.stop()
				st := s.Stats()
				if got := st.Requests - before.Requests; got != uint64(b.N) {
					b.Fatalf("%d requests served, want %d", got, b.N)
				}
				b.ReportMetric(float64(b.N)/float64(st.Batches-before.Batches), "requests/batch")
				b.ReportMetric(float64(st.Busy-before.Busy)/float64(b.N), "server-ns/op")
			})
		}
	}
}

// BenchmarkAnswer is the throughput of long answers.
func BenchmarkAnswer(b *testing.B) {
	for _, p := range providers {
		for _, bytes := range []int{4 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("transport=%s/bytes=%d", p.name, bytes), func(b *testing.B) {
				answer := make([]byte, bytes)
				s := serve(b, p, handlerFuncs{serve: func(c *Conn, m Message) {
					c.Respond(1, m.ID, answer)
				}}, WorkerConfig{})
				c := s.dial(b, CallerConfig{})
				dst := make([]byte, 0, bytes)
				b.SetBytes(int64(bytes))
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := c.Call(context.Background(), 1, nil, dst); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRing is one message through a ring, without a transport.
func BenchmarkRing(b *testing.B) {
	for _, bytes := range []int{40, 2048} {
		b.Run(fmt.Sprintf("bytes=%d", bytes), func(b *testing.B) {
			p := newPair(DefaultRingBytes, false)
			payload := make([]byte, bytes)
			for b.Loop() {
				if !p.out.append(1, FlagEnd, 1, payload) {
					b.Fatal("full")
				}
				p.out.prepare(&p.wrs)
				if err := p.in.announce(uint32(p.out.tail-p.in.tail) / unitBytes); err != nil {
					b.Fatal(err)
				}
				// The mirror stands for the reader's memory.
				p.in.buf = p.out.buf
				_, size, ok, err := p.in.next()
				if err != nil || !ok {
					b.Fatal(ok, err)
				}
				p.in.consume(size)
				p.giveBack(b)
			}
		})
	}
}
