package shm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// device is the protection domain of one Open.
type device struct {
	opt   Options
	table *table
	ctx   context.Context // done once the device is closed
	end   context.CancelFunc

	greetTimeout time.Duration // shorter or longer in tests

	mu        sync.Mutex
	closed    bool
	regions   map[rdma.Key]*region
	cqs       map[*completionQueue]struct{}
	qps       map[*queuePair]struct{}
	listeners map[*listener]struct{}
	waiting   map[*connRequest]struct{} // not yet answered
}

// Open opens the provider. It needs Linux 5.1 or later (seals against
// future writes) and /proc.
func Open(o Options) (rdma.Device, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	t, err := newTable()
	if err != nil {
		return nil, fmt.Errorf("shm: open: %w", err)
	}
	d := &device{
		opt: o, table: t, greetTimeout: greetTimeout,
		regions:   map[rdma.Key]*region{},
		cqs:       map[*completionQueue]struct{}{},
		qps:       map[*queuePair]struct{}{},
		listeners: map[*listener]struct{}{},
		waiting:   map[*connRequest]struct{}{},
	}
	d.ctx, d.end = context.WithCancel(context.Background())
	return d, nil
}

func (d *device) Info() rdma.Info {
	return rdma.Info{
		Provider:       "shm",
		Detail:         "shared memory of this host, memfd over unix sockets",
		SynchronousOps: true,
		InOrder:        inOrder,
		Revoked:        rdma.RevokedComplete,
	}
}

// Close closes everything made from the device: first the sources of
// new objects, memory last.
func (d *device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	listeners, waiting := slices.Collect(maps.Keys(d.listeners)), slices.Collect(maps.Keys(d.waiting))
	qps, cqs := slices.Collect(maps.Keys(d.qps)), slices.Collect(maps.Keys(d.cqs))
	regions := slices.Collect(maps.Values(d.regions))
	d.mu.Unlock()

	d.end()
	for _, l := range listeners {
		_ = l.Close()
	}
	for _, r := range waiting {
		_ = r.Reject("the server is closing")
	}
	for _, p := range qps {
		_ = p.Close()
	}
	for _, q := range cqs {
		_ = q.Close()
	}
	for _, r := range regions {
		_ = r.Close()
	}
	d.table.close()
	return nil
}
