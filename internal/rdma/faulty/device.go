package faulty

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Device is a wrapped rdma.Device.
type Device struct {
	inner rdma.Device
	opt   Options
	count [numFaults]atomic.Uint64

	mu     sync.Mutex
	made   uint64 // queue pairs and queues so far: selects their random streams
	closed bool
	qps    map[*queuePair]struct{}
	cqs    map[*completionQueue]struct{}
}

// Wrap takes ownership of dev: closing the result closes it.
func Wrap(dev rdma.Device, opt Options) *Device {
	return &Device{inner: dev, opt: opt.withDefaults(),
		qps: map[*queuePair]struct{}{}, cqs: map[*completionQueue]struct{}{}}
}

// Unwrap returns the provider's device.
func (d *Device) Unwrap() rdma.Device { return d.inner }

// Count reports how often a fault was injected.
func (d *Device) Count(f Fault) uint64 {
	if f >= numFaults {
		return 0
	}
	return d.count[f].Load()
}

func (d *Device) hit(f Fault) { d.count[f].Add(1) }

// Drop makes the peers of all queue pairs vanish now: outstanding requests
// are flushed, and both sides are notified.
func (d *Device) Drop() {
	for _, q := range d.queuePairs() {
		q.drop()
	}
}

// DropPeer does so for one queue pair of the device; it reports false if
// q is not one.
func (d *Device) DropPeer(q rdma.QueuePair) bool {
	p, ok := q.(*queuePair)
	if ok = ok && p.dev == d; ok {
		p.drop()
	}
	return ok
}

func (d *Device) queuePairs() []*queuePair {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*queuePair
	for q := range d.qps {
		all = append(all, q)
	}
	return all
}

// randomLocked returns the random stream of the next queue pair or queue.
func (d *Device) randomLocked() *rand.Rand {
	d.made++
	return rand.New(rand.NewPCG(d.opt.Seed, d.made))
}

// Info is the provider's, with the wrapper's name added.
func (d *Device) Info() rdma.Info {
	i := d.inner.Info()
	i.Provider = "faulty+" + i.Provider
	i.Detail = fmt.Sprintf("%s; faults seeded with %d", i.Detail, d.opt.Seed)
	i.SynchronousOps = false // because of torn reads and late completions
	i.InOrder = false
	return i
}

// region marks an inner region as this device's, so that Post can refuse
// others before a request is queued for the worker.
type region struct {
	rdma.Region
	dev *Device

	mu     sync.Mutex
	size   int
	closed bool // or revoked: no request may name it
}

// Register registers with the provider.
func (d *Device) Register(size int, a rdma.Access) (rdma.Region, error) {
	r, err := d.inner.Register(size, a)
	if err != nil {
		return nil, err
	}
	return &region{Region: r, dev: d, size: len(r.Bytes())}, nil
}

func (r *region) Revoke() error {
	r.end()
	return r.Region.Revoke()
}

func (r *region) Close() error {
	r.end()
	return r.Region.Close()
}

func (r *region) end() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
}

func (r *region) open() (size int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size, !r.closed
}

// CreateCQ makes a queue and starts its pump, which ends with Close.
func (d *Device) CreateCQ(depth int) (rdma.CompletionQueue, error) {
	inner, err := d.inner.CreateCQ(depth)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = inner.Close()
		return nil, fmt.Errorf("%w: device", rdma.ErrClosed)
	}
	q := newCompletionQueue(d, inner, d.randomLocked())
	d.cqs[q] = struct{}{}
	return q, nil
}

// Listen listens with the provider.
func (d *Device) Listen(addr string) (rdma.Listener, error) {
	l, err := d.inner.Listen(addr)
	if err != nil {
		return nil, err
	}
	return &listener{l, d}, nil
}

// Dial connects with the provider.
func (d *Device) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	return d.connect(cfg, func(c rdma.QPConfig) (rdma.QueuePair, error) {
		return d.inner.Dial(ctx, addr, c, private)
	})
}

type listener struct {
	rdma.Listener
	dev *Device
}

func (l *listener) Accept(ctx context.Context) (rdma.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &connRequest{r, l.dev}, nil
}

type connRequest struct {
	rdma.ConnRequest
	dev *Device
}

func (r *connRequest) Accept(cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	return r.dev.connect(cfg, func(c rdma.QPConfig) (rdma.QueuePair, error) {
		return r.ConnRequest.Accept(c, private)
	})
}

// connect makes the outer queue pair first: the peer may send as soon as the
// inner one exists, and its events find the outer one by Context.
func (d *Device) connect(cfg rdma.QPConfig, dial func(rdma.QPConfig) (rdma.QueuePair, error)) (rdma.QueuePair, error) {
	send, _ := cfg.SendCQ.(*completionQueue)
	recv, _ := cfg.RecvCQ.(*completionQueue)
	if send == nil || recv == nil || send.dev != d || recv.dev != d {
		return nil, fmt.Errorf("%w: SendCQ and RecvCQ must be queues of this device", rdma.ErrBadRequest)
	}
	if cfg.SendDepth < 0 || cfg.RecvDepth < 0 {
		return nil, fmt.Errorf("%w: depths %d and %d, allowed 0 and more",
			rdma.ErrBadRequest, cfg.SendDepth, cfg.RecvDepth)
	}
	d.mu.Lock()
	q := newQueuePair(d, cfg, send, recv, d.randomLocked())
	d.mu.Unlock()
	inner := cfg
	inner.SendCQ, inner.RecvCQ, inner.Context = send.inner, recv.inner, q
	inner.SendDepth = q.sendDepth * d.opt.MaxPieces
	qp, err := dial(inner)
	if err != nil {
		return nil, err
	}
	q.attach(qp)
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.qps[q] = struct{}{}
	}
	d.mu.Unlock()
	if closed {
		_ = q.Close()
		return nil, fmt.Errorf("%w: device", rdma.ErrClosed)
	}
	return q, nil
}

// Close closes the provider's device and ends the goroutines.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	cqs := make([]*completionQueue, 0, len(d.cqs))
	for q := range d.cqs {
		cqs = append(cqs, q)
	}
	d.mu.Unlock()
	for _, q := range d.queuePairs() {
		_ = q.Close()
	}
	for _, q := range cqs {
		_ = q.Close()
	}
	return d.inner.Close()
}
