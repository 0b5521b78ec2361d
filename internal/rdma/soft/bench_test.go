package soft

import (
	"context"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// await polls n completions.
func await(b *testing.B, cq rdma.CompletionQueue, buf []rdma.Completion, n int) {
	for n > 0 {
		if k := cq.Poll(buf); k > 0 {
			n -= k
		} else if err := cq.Wait(context.Background(), patience); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOps posts a batch over loopback TCP and waits for all of it.
// One op is one batch.
func BenchmarkOps(b *testing.B) {
	for _, op := range []rdma.Op{rdma.OpRead, rdma.OpWrite} {
		for _, size := range []int{64, 2048} {
			for _, batch := range []int{1, 16} {
				b.Run(fmt.Sprintf("op=%s/bytes=%d/batch=%d", op, size, batch), func(b *testing.B) {
					c, s := pairOf(b, Options{}, 1<<16)
					wrs := make([]rdma.WorkRequest, batch)
					for i := range wrs {
						wrs[i] = request(op, uint64(i), c.mem, i*size, size, s.mem, i*size)
					}
					buf := make([]rdma.Completion, batch)
					start := s.dev.NIC()
					b.ReportAllocs()
					for b.Loop() {
						if _, err := c.q.Post(wrs); err != nil {
							b.Fatal(err)
						}
						await(b, c.send, buf, batch)
					}
					end := s.dev.NIC()
					b.ReportMetric(float64(end.Busy-start.Busy)/float64(b.N*batch), "nic-ns/request")
				})
			}
		}
	}
}

// BenchmarkEcho is one event there and one back, as a message of package
// fastmsg travels.
func BenchmarkEcho(b *testing.B) {
	for _, size := range []int{0, 64, 1024} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			c, s := pairOf(b, Options{}, 1<<16)
			done := make(chan struct{})
			go func() {
				defer close(done)
				buf := make([]rdma.Completion, 8)
				back := request(rdma.OpWriteImm, 0, s.mem, 0, size, c.mem, 0)
				back.Unsignaled = true
				for {
					n := s.recv.Poll(buf)
					for _, e := range buf[:n] {
						if e.Status != rdma.StatusOK {
							return
						}
						if _, err := s.q.Post([]rdma.WorkRequest{back}); err != nil {
							return
						}
					}
					if n == 0 && s.recv.Wait(context.Background(), -1) != nil {
						return
					}
				}
			}()
			there := request(rdma.OpWriteImm, 0, c.mem, 0, size, s.mem, 0)
			there.Unsignaled = true
			wrs := []rdma.WorkRequest{there}
			buf := make([]rdma.Completion, 8)
			for b.Loop() {
				if _, err := c.q.Post(wrs); err != nil {
					b.Fatal(err)
				}
				await(b, c.recv, buf, 1)
			}
			_ = c.q.Close()
			<-done
		})
	}
}
