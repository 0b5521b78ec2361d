package node

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
)

// A lane whose queue pair failed goes over the stream, stays as it is while the primary's
// device does not answer, and has a ring soon after that does.
func TestLaneGetsItsRingBack(t *testing.T) {
	for _, tr := range testTransports() {
		t.Run("transport="+tr, func(t *testing.T) {
			var broken atomic.Bool
			var asked atomic.Int64
			broken.Store(true)
			g := groupWith(t, 2, tr, func(r *Rings) {
				ways := r.Ways
				r.Must, r.Again = false, time.Millisecond
				r.Ways = func(ctx context.Context, addr string) ([]Way, error) {
					all, err := ways(ctx, addr)
					asked.Add(1)
					if err == nil && broken.Load() {
						all[0].Addr += "0" // No device listens there.
					}
					return all, err
				}
			})
			g.inSync(2)
			s := g.secondary()
			x, before := s.lane(), asked.Load()
			catfishtest.Eventually(t, "questions", func() bool { return asked.Load() > before+3 })
			if s.lane() != x || s.node.Lane().Transport != streamTransport {
				t.Errorf("the lane ended, although no device answered: %+v", s.node.Lane())
			}
			g.has(s, g.write("a"), "a")
			broken.Store(false)
			catfishtest.Eventually(t, "a ring", func() bool { return s.node.Lane().RingBytes == testRingBytes })
			g.has(s, g.write("b"), "b")
		})
	}
}
