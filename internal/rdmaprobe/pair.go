package rdmaprobe

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// side is a device with its queues and one region of Outstanding slots.
type side struct {
	dev        rdma.Device
	send, recv rdma.CompletionQueue
	mem        rdma.Region
}

// pair is two sides; near dialed far, and posts all requests.
type pair struct {
	near, far side
	lis       rdma.Listener
	qp        rdma.QueuePair // near's
	slot      int            // bytes from one slot to the next
	out       int            // requests in flight
	wrs       []rdma.WorkRequest
	got       [2 * Outstanding]rdma.Completion
}

// open makes a pair with slots for requests of size bytes.
func open(ctx context.Context, cfg Config, size int) (*pair, error) {
	// Whole lines, and one more between any two, to detect writes beside
	// their place.
	p := &pair{slot: (size+rdma.LineBytes-1)&^(rdma.LineBytes-1) + rdma.LineBytes}
	err := p.far.open(cfg, rdma.RemoteRead|rdma.RemoteWrite, Outstanding*p.slot)
	if err == nil {
		err = p.near.open(cfg, rdma.LocalWrite, Outstanding*p.slot)
	}
	if err == nil {
		p.lis, err = p.far.dev.Listen(cfg.Addr)
	}
	if err == nil {
		err = p.connect(ctx)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (s *side) open(cfg Config, access rdma.Access, size int) (err error) {
	if s.dev, err = cfg.Open(); err != nil {
		return err
	}
	if s.send, err = s.dev.CreateCQ(rdma.DefaultDepth); err != nil {
		return err
	}
	if s.recv, err = s.dev.CreateCQ(rdma.DefaultDepth); err != nil {
		return err
	}
	s.mem, err = s.dev.Register(size, access)
	return err
}

func (p *pair) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		req, err := p.lis.Accept(ctx)
		if err == nil {
			_, err = req.Accept(p.far.config(), nil)
		}
		accepted <- err
	}()
	var err error
	if p.qp, err = p.near.dev.Dial(ctx, p.lis.Addr(), p.near.config(), nil); err != nil {
		ended := ctx.Err()
		cancel() // No peer will connect any more.
		if other := <-accepted; other != nil && ended == nil && !errors.Is(other, context.Canceled) {
			err = fmt.Errorf("%w (the other side: %w)", err, other)
		}
		return err
	}
	return <-accepted
}

func (s *side) config() rdma.QPConfig {
	return rdma.QPConfig{SendCQ: s.send, RecvCQ: s.recv, SendDepth: 2 * Outstanding}
}

// close ends near first: it may have requests to far in flight.
func (p *pair) close() {
	for _, s := range []*side{&p.near, &p.far} {
		if s.dev != nil {
			_ = s.dev.Close()
		}
	}
}

// request returns one on slot i.
func (p *pair) request(op rdma.Op, i, size int) rdma.WorkRequest {
	at := i * p.slot
	return rdma.WorkRequest{
		Op: op, ID: uint64(i), Imm: uint32(i),
		Local:  rdma.Buffer{Region: p.near.mem, Offset: at, Len: size},
		Remote: p.far.mem.Remote().At(uint64(at)),
	}
}

// post posts p.wrs, or as many as there is room for; the others stay.
// After it requests are in flight.
func (p *pair) post(ctx context.Context) error {
	for {
		n, err := p.qp.Post(p.wrs)
		p.out += n
		p.wrs = p.wrs[:copy(p.wrs, p.wrs[n:])]
		switch {
		case err != nil && !errors.Is(err, rdma.ErrQueueFull):
			return err
		case err == nil || p.out > 0:
			return nil
		}
		// The target has not yet reported that its events were taken.
		if err := wait(ctx, p.near.send, patience, patience); err != nil {
			return err
		}
	}
}

// take polls cq once; a failed request is an error.
func (p *pair) take(cq rdma.CompletionQueue) ([]rdma.Completion, error) {
	return take(p.qp, cq, p.got[:])
}

// next waits until cq has completions, and takes them.
func (p *pair) next(ctx context.Context, cq rdma.CompletionQueue) ([]rdma.Completion, error) {
	return Next(ctx, p.qp, cq, p.got[:], patience)
}
