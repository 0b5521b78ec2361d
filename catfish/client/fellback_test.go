package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// noChannels dials once: the rings, and no read channel.
type noChannels struct {
	rdma.Device
	dialed atomic.Bool
}

func (d *noChannels) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	if d.dialed.Swap(true) {
		return nil, errors.New("no more")
	}
	return d.Device.Dial(ctx, addr, cfg, private)
}

// offloader offloads, and notes what it observes.
type offloader struct {
	Named
	told []Path
}

func (o *offloader) Plan(*Ask) Plan { return Plan{Share: 1, Searches: 1} }

func (o *offloader) Observe(_ time.Time, out Outcome) { o.told = append(o.told, out.Path) }

// TestFallbackCountsAsOffloading: a policy does not count the time that was lost by offloading
// as time of fast messaging.
func TestFallbackCountsAsOffloading(t *testing.T) {
	s := startServer(t, server.Options{Workers: 1})
	p := &offloader{Named: "offloader"}
	c := dial(t, s, WithHooks(Options{Transport: model.TransportSHM, Custom: p}, func(h *wire.ClientHooks) {
		h.Wrap = func(d rdma.Device) rdma.Device { return &noChannels{Device: d} }
	}))
	if _, err := c.Search(t.Context(), rstar.Rect{MaxX: 1, MaxY: 1}); err != nil {
		t.Fatal(err)
	}
	if c.Counters().FellBack != 1 || len(p.told) != 1 || p.told[0] != Offload {
		t.Errorf("fell back %d times, told of %v", c.Counters().FellBack, p.told)
	}
}
