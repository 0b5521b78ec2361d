// Package inmem is a provider of the verbs API within one process, for tests:
// small enough to verify by reading, it serves to check the conformance suite
// (package rdmatest). Its deliberate bugs show that each property of the
// suite can fail.
//
// One mutex guards a whole fabric, and a request is executed by the goroutine
// that posts it, or, if it waits for room at the receiver, by the one that
// polls there. So everything happens in one order, and the only concurrency
// left is that of the memory itself: the target's CPU stores to it at any
// time, which is why reads copy it line by line with atomic loads
// (region.go).
package inmem

import (
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Fabric connects devices that were opened from it.
type Fabric struct {
	bug Bug

	mu        sync.Mutex
	regions   map[rdma.Key]*region
	listeners map[string]*listener
	names     int // for addresses and peers
}

// New returns a correct fabric.
func New() *Fabric { return NewWithBug(None) }

// NewWithBug returns a fabric that misbehaves in one way.
func NewWithBug(b Bug) *Fabric {
	return &Fabric{bug: b, regions: map[rdma.Key]*region{}, listeners: map[string]*listener{}}
}

// Addr returns an address at which no listener listens.
func (f *Fabric) Addr() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nameLocked("inmem")
}

func (f *Fabric) nameLocked(kind string) string {
	f.names++
	return fmt.Sprintf("%s-%d", kind, f.names)
}

// Open opens a device. It never fails.
func (f *Fabric) Open() *Device {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Device{f: f, name: f.nameLocked("device"), qps: map[*queuePair]struct{}{},
		cqs: map[*completionQueue]struct{}{}, regions: map[*region]struct{}{},
		listeners: map[*listener]struct{}{}}
}

// Device implements rdma.Device.
type Device struct {
	f    *Fabric
	name string

	// Guarded by f.mu.
	closed    bool
	qps       map[*queuePair]struct{}
	cqs       map[*completionQueue]struct{}
	regions   map[*region]struct{}
	listeners map[*listener]struct{}
}

// Info describes the device.
func (d *Device) Info() rdma.Info {
	return rdma.Info{Provider: "inmem", Detail: d.name, SynchronousOps: true,
		Revoked: rdma.RevokedFinal}
}

// CreateCQ makes a completion queue; it grows as needed.
func (d *Device) CreateCQ(int) (rdma.CompletionQueue, error) {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%w: device %s", rdma.ErrClosed, d.name)
	}
	q := &completionQueue{dev: d, signal: make(chan struct{}, 1), done: make(chan struct{})}
	d.cqs[q] = struct{}{}
	return q, nil
}

// Close closes everything made from the device.
func (d *Device) Close() error {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	d.closed = true
	for l := range d.listeners {
		l.closeLocked()
	}
	for q := range d.qps {
		q.closeLocked()
	}
	for q := range d.cqs {
		q.closeLocked()
	}
	for r := range d.regions {
		r.closeLocked()
	}
	return nil
}

// Kill makes the device's connections break as if its process had died.
func (d *Device) Kill() {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	for q := range d.qps {
		if d.f.bug == DeathUnnoticed {
			q.err = errPeerGone
			continue
		}
		q.closeLocked()
	}
}
