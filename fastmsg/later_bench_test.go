package fastmsg

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// BenchmarkLater is BenchmarkCall with answers of 8 bytes, which the worker
// gives (answers=direct), or another goroutine that answers all waiting
// requests at once, as a group commit does (answers=later).
func BenchmarkLater(b *testing.B) {
	for _, p := range providers {
		for _, answers := range []string{"direct", "later"} {
			for _, callers := range []int{1, 16, 256} {
				b.Run(fmt.Sprintf("transport=%s/answers=%s/callers=%d", p.name, answers, callers), func(b *testing.B) {
					benchLater(b, p, answers == "later", callers)
				})
			}
		}
	}
}

func benchLater(b *testing.B, p provider, later bool, callers int) {
	answer := make([]byte, 8)
	asked := make(chan Later, callers)
	s := serve(b, p, handlerFuncs{serve: func(c *Conn, m Message) {
		if !later {
			c.Respond(1, m.ID, answer)
			return
		}
		l, err := c.Later(m.ID, len(m.Payload))
		if err != nil {
			b.Error(err)
		}
		asked <- l
	}}, WorkerConfig{})
	var commits sync.WaitGroup
	commits.Go(func() {
		var group []Later
		for l := range asked {
			group = append(group[:0], l)
			for more := true; more; {
				select {
				case l := <-asked:
					group = append(group, l)
				default:
					more = false
				}
			}
			for _, l := range group {
				l.Respond(1, answer)
			}
		}
	})
	c := s.dial(b, CallerConfig{})
	before := s.Stats()
	var group sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for k := range callers {
		group.Go(func() {
			payload, dst := make([]byte, 100), make([]byte, 0, 100)
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
	close(asked)
	commits.Wait()
	st := s.Stats()
	b.ReportMetric(float64(st.Busy-before.Busy)/float64(b.N), "server-ns/op")
	b.ReportMetric(float64(st.Sleeps-before.Sleeps)/float64(b.N), "sleeps/op")
}
