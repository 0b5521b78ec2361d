package soft

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// device is a software RNIC. See rdma.Device.
type device struct {
	opt     Options
	base    time.Time // Busy is measured against it
	regions sync.Map  // rdma.Key -> *region
	nic     counters

	// ctx ends with the device; Dials in progress depend on it.
	ctx    context.Context
	cancel context.CancelFunc

	mu         sync.Mutex
	idle       sync.Cond // on mu: no goroutine runs any more
	running    int       // goroutines
	closed     bool
	monitoring bool
	qps        map[*queuePair]struct{}
	cqs        map[*completionQueue]struct{}
	listeners  map[*listener]struct{}
}

// Open makes a software RNIC. The device has, beyond rdma.Device, the
// method NIC() Stats. Errors: ErrOptions.
func Open(o Options) (rdma.Device, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &device{
		opt:       o,
		base:      time.Now(),
		qps:       make(map[*queuePair]struct{}),
		cqs:       make(map[*completionQueue]struct{}),
		listeners: make(map[*listener]struct{}),
	}
	d.idle.L = &d.mu
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

func (d *device) Info() rdma.Info {
	return rdma.Info{
		Provider: "soft", Emulated: true, Revoked: rdma.RevokedFinal,
		Detail: fmt.Sprintf("software RNIC over %s, protocol version %d",
			d.opt.Detail, version),
	}
}

func (d *device) CreateCQ(depth int) (rdma.CompletionQueue, error) {
	if depth < 0 {
		return nil, fmt.Errorf("%w: completion queue depth %d, allowed 0 "+
			"and more", ErrOptions, depth)
	}
	c := newCQ(d, depth)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, rdma.ErrClosed
	}
	d.cqs[c] = struct{}{}
	return c, nil
}

func (d *device) removeCQ(c *completionQueue) {
	d.mu.Lock()
	delete(d.cqs, c)
	d.mu.Unlock()
}

// Dial connects and performs the handshake, within Options.HandshakeTimeout.
// Errors: rdma.ErrDial (nothing was sent, dialing again is safe), among them
// *VersionError; *rdma.RejectError; rdma.ErrTooLarge; and rdma.ErrBadRequest
// for a configuration that cannot work.
func (d *device) Dial(ctx context.Context, addr string, cfg rdma.QPConfig,
	private []byte) (rdma.QueuePair, error) {
	if err := d.checkConfig(&cfg, private); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.opt.HandshakeTimeout)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	if d.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", rdma.ErrDial, rdma.ErrClosed)
	}

	conn, err := d.opt.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("%w to %s: %w", rdma.ErrDial, addr, err)
	}
	peer := conn.RemoteAddr().String()
	h, err := d.greet(ctx, conn, peer, &cfg, private)
	if err == nil && h.verdict == verdictReject {
		err = &rdma.RejectError{Peer: peer, Reason: string(h.body)}
	}
	if err == nil {
		q := d.newQP(conn, peer, &cfg, h)
		if err = q.start(); err == nil {
			return q, nil
		}
	}
	_ = conn.Close()
	var refused *rdma.RejectError
	if errors.As(err, &refused) || errors.Is(err, rdma.ErrDial) {
		return nil, err
	}
	return nil, fmt.Errorf("%w to %s: %w", rdma.ErrDial, addr, err)
}

// greet sends our hello and reads the answer, until ctx is done.
func (d *device) greet(ctx context.Context, conn net.Conn, peer string,
	cfg *rdma.QPConfig, private []byte) (*hello, error) {
	// The end of ctx interrupts reads and writes.
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Unix(1, 0))
	})
	defer stop()
	_, err := conn.Write(d.ourHello(cfg, verdictHello, private).encode())
	if err != nil {
		return nil, err
	}
	h, err := readHello(conn, peer)
	if !stop() { // the deadline is set, or about to be
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if h.verdict == verdictHello {
		return nil, violation("answer without a verdict")
	}
	return h, nil
}

// spawn runs f on a goroutine that Close is able to end.
func (d *device) spawn(f func()) {
	d.mu.Lock()
	d.spawnLocked(f)
	d.mu.Unlock()
}

func (d *device) spawnLocked(f func()) {
	d.running++
	go func() {
		f()
		d.mu.Lock()
		if d.running--; d.running == 0 {
			d.idle.Broadcast()
		}
		d.mu.Unlock()
	}()
}

// Close ends everything made from the device and returns when its
// goroutines have ended; saying goodbye to peers takes up to linger.
func (d *device) Close() error {
	d.mu.Lock()
	d.closed = true
	d.cancel()
	listeners, qps, cqs := keys(d.listeners), keys(d.qps), keys(d.cqs)
	d.mu.Unlock()

	for _, l := range listeners {
		_ = l.Close()
	}
	for _, q := range qps {
		_ = q.Close()
	}
	for _, c := range cqs {
		_ = c.Close()
	}
	d.mu.Lock()
	for d.running > 0 {
		d.idle.Wait()
	}
	d.mu.Unlock()
	d.regions.Range(func(_, r any) bool {
		_ = r.(*region).Close()
		return true
	})
	return nil
}

func keys[K comparable](m map[K]struct{}) []K {
	s := make([]K, 0, len(m))
	for k := range m {
		s = append(s, k)
	}
	return s
}
