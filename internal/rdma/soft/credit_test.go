package soft

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// TestRecvCredits: RecvDepth events may be unpolled, but no more; a refused
// poster is woken when there is room again.
func TestRecvCredits(t *testing.T) {
	for _, depth := range []int{1, 2, 5, 64} {
		synctest.Test(t, func(t *testing.T) {
			c, s := pairOf(t, newPipes().options(Options{}), 64,
				func(_, s *rdma.QPConfig) { s.RecvDepth = depth })
			quiet := event(0)
			quiet.Unsignaled = true
			fill := func() (n int) {
				for {
					_, err := c.q.Post([]rdma.WorkRequest{quiet})
					if errors.Is(err, rdma.ErrQueueFull) {
						return n
					}
					must(t, err)
					n++
				}
			}
			if n := fill(); n != depth {
				t.Errorf("depth %d: full after %d events", depth, n)
			}
			// Time alone gives no credit.
			if err := c.send.Wait(context.Background(), time.Minute); err == nil {
				if n := fill(); n != 0 {
					t.Errorf("depth %d: %d more without a poll", depth, n)
				}
			}
			for range 20 {
				takeOK(t, s.recv, depth)
				must(t, c.send.Wait(context.Background(), time.Minute))
				synctest.Wait()
				n := fill()
				if n == 0 || n > depth {
					t.Errorf("depth %d: %d more after polling all", depth, n)
				}
				// Use up what lazily sent credits permitted.
				s.post(event(0))
				synctest.Wait()
				if n += fill(); n != depth {
					t.Errorf("depth %d: %d in all after polling all", depth, n)
				}
				takeOK(t, s.send, 1)
				takeOK(t, c.recv, 1)
			}
		})
	}
}

// TestReadWindow: Reads in flight stay within the target's window; a single
// one always fits.
func TestReadWindow(t *testing.T) {
	const window = 1 << 16
	o := Options{MaxRequest: window, ReadWindow: window}
	c, s := pairOf(t, o, 4*window)
	pattern(s.mem.Bytes(), 8)
	if _, err := c.q.Post([]rdma.WorkRequest{
		request(rdma.OpRead, 0, c.mem, 0, window+1, s.mem, 0),
	}); !errors.Is(err, rdma.ErrBadRequest) {
		t.Errorf("a read of more than the window: %v", err)
	}
	q := c.q.(*queuePair)
	for _, n := range []int{window, window / 2, 1000, 1} {
		for sent, done := 0, 0; done < 200; {
			for sent < 200 {
				_, err := c.q.Post([]rdma.WorkRequest{
					request(rdma.OpRead, 0, c.mem, 0, n, s.mem, 8)})
				if errors.Is(err, rdma.ErrQueueFull) {
					break
				}
				must(t, err)
				sent++
				q.mu.Lock()
				if q.readBytes > window+maxFixed {
					t.Errorf("%d bytes in flight, window %d", q.readBytes, window)
				}
				q.mu.Unlock()
			}
			takeOK(t, c.send, 1)
			done++
		}
		same(t, "what was read", c.mem.Bytes()[:n], s.mem.Bytes()[8:8+n])
	}
}

// TestUnsignaledFull: a queue full of unsignaled requests wakes its owner
// when the peer has answered, although no completion comes.
func TestUnsignaledFull(t *testing.T) {
	c, s := pairOf(t, Options{}, 64, func(c, _ *rdma.QPConfig) { c.SendDepth = 4 })
	wr := request(rdma.OpWrite, 0, c.mem, 0, 8, s.mem, 0)
	wr.Unsignaled = true
	for sent := 0; sent < 5000; {
		n, err := c.q.Post([]rdma.WorkRequest{wr})
		if sent += n; errors.Is(err, rdma.ErrQueueFull) {
			must(t, c.send.Wait(context.Background(), patience))
			continue
		}
		must(t, err)
	}
}
