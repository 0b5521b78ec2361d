package client

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestIdleClientRests: while others keep the server awake, a client that sends
// no requests gets a heartbeat a second, and after its next request one at each
// interval again.
func TestIdleClientRests(t *testing.T) {
	s := startServer(t, server.Options{Transports: []string{model.TransportSHM}, Workers: 1})
	idle := dial(t, s, Options{Transport: model.TransportSHM, Policy: "fast"})
	busy := dial(t, s, Options{Transport: model.TransportSHM, Policy: "fast"})
	ctx, cancel := context.WithCancel(t.Context())
	var searches sync.WaitGroup
	defer searches.Wait()
	defer cancel()
	searches.Go(func() {
		for ctx.Err() == nil {
			if _, err := busy.Search(ctx, square(0, 0)); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	interval := func(c *Client) (d time.Duration) {
		eventually(t, "a heartbeat comes", func() bool {
			l, ok := c.conn.mailbox().Take()
			d = l.Interval
			return ok
		})
		return d
	}
	eventually(t, "a client without requests rests", func() bool { return interval(idle) == wire.RestInterval })
	if d := interval(busy); d != model.DefaultHeartbeatInterval {
		t.Errorf("%v between the heartbeats of a client that searches", d)
	}
	for range 2 { // The second time the client is not resting.
		if _, err := idle.Search(ctx, square(0, 0)); err != nil {
			t.Fatal(err)
		}
		// A heartbeat that was sent before may have arrived.
		eventually(t, "a client with a request gets heartbeats at its interval", func() bool {
			return interval(idle) == model.DefaultHeartbeatInterval
		})
	}
}
