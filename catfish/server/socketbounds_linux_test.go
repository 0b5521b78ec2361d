package server

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// greedy registers more memory than it should, as a client would that wants to
// fill the server's address space.
type greedy struct {
	rdma.Device
	more int
}

func (g greedy) Register(size int, access rdma.Access) (rdma.Region, error) {
	if access&rdma.RemoteWrite != 0 {
		size += g.more
	}
	return g.Device.Register(size, access)
}

// TestServerMapsNoMoreThanARing: a client whose region is larger than any ring loses its
// connection when the server first writes to it; other clients are not affected.
func TestServerMapsNoMoreThanARing(t *testing.T) {
	s := startServer(t, Options{SlabBytes: 1 << 20})
	good := dial(t, s, client.Options{Transport: model.TransportSHM})
	before := s.shm.mapped.Use().Used
	for range 3 {
		bad, err := client.Dial(t.Context(), s.Addr(), client.WithHooks(client.Options{Transport: model.TransportSHM, Logger: quiet()}, func(h *wire.ClientHooks) {
			h.Wrap = func(d rdma.Device) rdma.Device { return greedy{d, 1 << 40} }
		}))
		if err == nil {
			bad.Close()
			t.Fatal("the server maps a terabyte of a client's memory")
		}
	}
	if now := s.shm.mapped.Use().Used; before == 0 || now >= 1<<40 {
		t.Errorf("%d bytes are mapped of clients, before it were %d", now, before)
	}
	if _, err := good.Count(t.Context(), rstar.Rect{MaxX: 1, MaxY: 1}); err != nil {
		t.Errorf("another client: %v", err)
	}
	// A region with the largest ring is mapped.
	dial(t, s, client.Options{Transport: model.TransportSHM, RingBytes: fastmsg.MaxRingBytes})
}

// TestServerCountsConnections: connections are counted, including those of read channels.
func TestServerCountsConnections(t *testing.T) {
	s := startServer(t, Options{SlabBytes: 1 << 20})
	dial(t, s, client.Options{Transport: model.TransportSHM, Policy: "offload"})
	if u := s.shm.connections.Use(); u.Used != 2 || u.Limit != shm.MaxConnections() {
		t.Errorf("%+v, want a ring connection and a read channel", u)
	}
}
