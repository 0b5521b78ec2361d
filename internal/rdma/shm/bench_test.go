//go:build linux

package shm

import (
	"context"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

func BenchmarkTransfer(b *testing.B) {
	for _, op := range []rdma.Op{rdma.OpRead, rdma.OpWrite} {
		for _, n := range []int{64, 512, 2048} {
			b.Run(fmt.Sprintf("op=%v/bytes=%d", op, n), func(b *testing.B) {
				c, s := newPair(b, 1<<16)
				warm(b, c, s)
				wrs := []rdma.WorkRequest{transfer(op, c.mem, s.mem.Key(), n)}
				var got [1]rdma.Completion
				b.SetBytes(int64(n))
				for b.Loop() {
					_, _ = c.qp.Post(wrs)
					if c.cq.Poll(got[:]) != 1 || got[0].Status != rdma.StatusOK {
						b.Fatal(got[0])
					}
				}
			})
		}
	}
}

// One goroutine posts and polls the other side's queue: what both ends of an
// event cost, without cache misses between cores.
func BenchmarkEvent(b *testing.B) {
	c, s := newPair(b, 1<<16)
	warm(b, c, s)
	wr := transfer(rdma.OpWriteImm, c.mem, s.mem.Key(), 64)
	wr.Unsignaled = true
	wrs := []rdma.WorkRequest{wr}
	var got [1]rdma.Completion
	b.Run("op=writeimm_poll/bytes=64", func(b *testing.B) {
		for b.Loop() {
			_, _ = c.qp.Post(wrs)
			if s.cq.Poll(got[:]) != 1 {
				b.Fatal("no event")
			}
		}
	})
}

// Round trips with both sides waiting.
func BenchmarkPingPong(b *testing.B) {
	c, s := newPair(b, 1<<16)
	warm(b, c, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer(s)
	}()
	wr := transfer(rdma.OpWriteImm, c.mem, s.mem.Key(), 64)
	wr.Unsignaled = true
	b.Run("op=writeimm_pingpong/bytes=64", func(b *testing.B) {
		for b.Loop() {
			post(b, c.qp, wr)
			next(b, c.cq)
		}
	})
	check(b, c.qp.Close())
	<-done
}

// answer returns every event until the queue pair fails.
func answer(s *side) {
	var got [16]rdma.Completion
	for {
		n := s.cq.Poll(got[:])
		for _, c := range got[:n] {
			if c.Status != rdma.StatusOK {
				return
			}
			_, _ = s.qp.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm, Imm: c.Imm, Unsignaled: true}})
		}
		if n == 0 {
			_ = s.cq.Wait(context.Background(), -1)
		}
	}
}

func BenchmarkPoll(b *testing.B) {
	for _, idle := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("op=poll/idle=%d", idle), func(b *testing.B) {
			c, s := newSide(b, 4096), newSide(b, 4096)
			l := listen(b, s)
			for range idle {
				connect(b, l, c, s)
				s.cq.mu.Lock()
				s.cq.rings.heat(&s.qp.ring)
				s.cq.mu.Unlock()
			}
			var got [16]rdma.Completion
			for b.Loop() {
				s.cq.Poll(got[:])
				s.cq.rings.sweepDue = s.cq.rings.polls + 2 // keep them hot
			}
			if len(s.cq.rings.hot) != idle {
				b.Fatalf("%d hot rings", len(s.cq.rings.hot))
			}
		})
	}
}
