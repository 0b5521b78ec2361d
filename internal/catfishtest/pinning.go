package catfishtest

import (
	"errors"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
)

// Pinning is a device that pins the memory that it registers, as cards do, up to
// its limit.
type Pinning struct {
	rdma.Device
	mu    sync.Mutex
	limit int   // bytes of one region
	sizes []int // of regions of memory
}

// NewPinning returns a Pinning with a limit of 1 GiB. dev may be set by Hooks.
func NewPinning(dev rdma.Device) *Pinning { return &Pinning{Device: dev, limit: 1 << 30} }

// Sizes are those of the registered regions.
func (p *Pinning) Sizes() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sizes)
}

// ErrPinned: the region exceeds the limit.
var ErrPinned = errors.New("RLIMIT_MEMLOCK")

// Info says that the device pins.
func (p *Pinning) Info() rdma.Info {
	i := p.Device.Info()
	i.Pins = true
	return i
}

// RegisterMemory fails with ErrPinned beyond the limit.
func (p *Pinning) RegisterMemory(mem []byte, access rdma.Access) (rdma.Region, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(mem) > p.limit {
		return nil, ErrPinned
	}
	p.sizes = append(p.sizes, len(mem))
	return p.Device.(rdma.MemoryRegistrar).RegisterMemory(mem, access)
}

// May changes the limit.
func (p *Pinning) May(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = limit
}

// Hooks puts the Pinning in front of a server's device of a provider.
func (p *Pinning) Hooks(of string) func(*wire.ServerHooks) {
	return func(h *wire.ServerHooks) {
		h.FirstPinned = 1 << 20
		h.Wrap = func(d rdma.Device) rdma.Device {
			if d.Info().Provider != of {
				return d
			}
			p.Device = d
			return p
		}
	}
}
