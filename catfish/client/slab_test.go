package client

import (
	"errors"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rdma"
)

// pinning is a device that pins the memory that it registers, as cards do, up to
// its limit.
type pinning struct {
	rdma.Device
	mu    sync.Mutex
	limit int   // bytes of one region
	sizes []int // of regions of memory
}

func (p *pinning) Info() rdma.Info {
	i := p.Device.Info()
	i.Pins = true
	return i
}

var errPinned = errors.New("RLIMIT_MEMLOCK")

func (p *pinning) RegisterMemory(mem []byte, access rdma.Access) (rdma.Region, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(mem) > p.limit {
		return nil, errPinned
	}
	p.sizes = append(p.sizes, len(mem))
	return p.Device.(rdma.MemoryRegistrar).RegisterMemory(mem, access)
}

func (p *pinning) may(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = limit
}

// startPinning starts a server whose device of a transport pins memory.
func startPinning(t *testing.T, of string, transports ...string) (*server.Server, *pinning) {
	p := &pinning{limit: 1 << 30}
	s := startServer(t, server.WithServerHooks(server.Options{Transports: transports, SlabBytes: 64 << 20}, func(h *wire.ServerHooks) {
		h.FirstPinned = 1 << 20
		h.Wrap = func(d rdma.Device) rdma.Device {
			if d.Info().Provider != of {
				return d
			}
			p.Device = d
			return p
		}
	}))
	return s, p
}
