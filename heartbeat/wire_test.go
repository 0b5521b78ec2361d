package heartbeat

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// beatingHandler subscribes every connection, and echoes requests.
type beatingHandler struct{ s *Sender }

func (h *beatingHandler) Opened(c *fastmsg.Conn) { c.Context = h.s.Add(c, 0) }
func (h *beatingHandler) Serve(c *fastmsg.Conn, m fastmsg.Message) {
	c.Respond(m.Kind, m.ID, m.Payload)
}
func (h *beatingHandler) Closed(c *fastmsg.Conn, _ error) {
	h.s.Remove(c.Context.(*Subscription))
}

// TestBeatsArrive: heartbeats get from a worker's tick through a transport
// into a client's mailbox while the client sends nothing, and more of them
// than a queue holds unsignaled writes.
func TestBeatsArrive(t *testing.T) {
	const tick = 200 * time.Microsecond // many beats in a short test
	dev, err := soft.Open(soft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	var w *fastmsg.Worker
	mon, err := NewMonitor(MonitorConfig{Work: func() Work {
		st := w.Stats()
		return Work{
			Busy: st.Busy, Spun: st.Spun, Requests: st.Requests,
			BytesOut: st.BytesOut, Waiting: st.Waiting,
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer mon.Close()
	sender, err := NewSender(dev, SenderConfig{
		Load: mon.Load, TickEvery: tick, IdleAfter: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	ticked := make(chan struct{}, 1)
	w, err = fastmsg.NewWorker(dev, &beatingHandler{sender}, fastmsg.WorkerConfig{
		TickEvery: tick,
		Tick: func(now time.Time, _ []*fastmsg.Conn) bool {
			select {
			case ticked <- struct{}{}:
			default:
			}
			return sender.Tick(now)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := dev.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := w.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	group.Go(func() {
		for {
			req, err := lis.Accept(ctx)
			if err != nil {
				return
			}
			if err := w.Accept(req); err != nil {
				t.Error(err)
			}
		}
	})
	defer func() {
		cancel()
		group.Wait()
		lis.Close()
	}()

	client, err := soft.Open(soft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 2 {
		c, err := fastmsg.Dial(ctx, client, lis.Addr(), fastmsg.CallerConfig{RingBytes: fastmsg.MinRingBytes})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		box, err := NewMailbox(c.Mailbox())
		if err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		// Ends a hang; long enough for a machine under load.
		end := time.After(2 * time.Minute)
		// sendDepth exceeds 256 for the smallest ring: without signaled
		// writes in between, the queue would be full.
		for last < 1000 {
			// A busy loop would keep Go from polling the sockets.
			select {
			case <-ticked:
			case <-end:
				t.Fatalf("%d beats in two minutes: %v", last, c.Err())
			}
			b, fresh := box.Take()
			if !fresh {
				continue
			}
			if b.Sequence <= last || b.Interval != tick || b.CPU < 0 || b.CPU > 1 {
				t.Fatalf("beat %+v after %d", b, last)
			}
			last = b.Sequence
		}
		if _, _, err := c.Call(ctx, 1, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
}
