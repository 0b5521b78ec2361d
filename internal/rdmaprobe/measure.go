package rdmaprobe

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/rdma"
)

// warmup is the share of a measurement's duration that precedes it: spin
// budgets adapt, caches and branch predictors fill.
const warmup = 5

// latency measures single requests.
func (p *pair) latency(ctx context.Context, op rdma.Op, size int, d time.Duration) (*latency.Distribution, error) {
	hist := latency.New()
	wr := p.request(op, 0, size)
	begin := time.Now()
	end := begin.Add(d/warmup + d)
	begin = begin.Add(d / warmup)
	for now := time.Now(); now.Before(end); {
		took, err := p.one(ctx, wr)
		if err != nil {
			return nil, err
		}
		if now.After(begin) || hist.Count() == 0 {
			hist.Record(took)
		}
		now = time.Now()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return hist, nil
}

// one runs a request; the package comment defines its time.
func (p *pair) one(ctx context.Context, wr rdma.WorkRequest) (took time.Duration, err error) {
	begin := time.Now()
	p.wrs = append(p.wrs[:0], wr)
	if err := p.post(ctx); err != nil {
		return 0, err
	}
	if wr.Op == rdma.OpWriteImm {
		if _, err := p.next(ctx, p.far.recv); err != nil {
			return 0, p.cause(err)
		}
		took = time.Since(begin)
	}
	got, err := p.next(ctx, p.near.send)
	if err != nil {
		return 0, err
	}
	p.out -= len(got)
	if took == 0 {
		took = time.Since(begin)
	}
	return took, nil
}

// cause prefers the request's own error to that of the event that did not
// arrive.
func (p *pair) cause(err error) error {
	if _, own := p.take(p.near.send); own != nil {
		return own
	}
	return err
}

// rate measures requests per second with Outstanding of them in flight.
func (p *pair) rate(ctx context.Context, op rdma.Op, size int, d time.Duration) (float64, error) {
	p.wrs = p.wrs[:0]
	for i := range Outstanding {
		p.wrs = append(p.wrs, p.request(op, i, size))
	}
	start := time.Now().Add(d / warmup)
	end := start.Add(d)
	measuring, done := false, 0
	for {
		if err := p.post(ctx); err != nil {
			return 0, err
		}
		got, err := p.next(ctx, p.near.send)
		if err != nil {
			return 0, err
		}
		now := time.Now()
		if measuring {
			done += len(got)
			if !now.Before(end) && done > 0 {
				p.out -= len(got)
				return float64(done) / now.Sub(start).Seconds(), p.settle(ctx)
			}
		} else if !now.Before(start) {
			measuring, start = true, now
			end = now.Add(d)
		}
		p.out -= len(got)
		for i := range got {
			p.wrs = append(p.wrs, p.request(op, int(got[i].ID), size))
		}
		// Events that are not taken would stop the writes.
		if _, err := p.take(p.far.recv); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
}

// settle waits for what is in flight, and takes all events: an event of our
// own posted last shows that the target has seen all before it.
func (p *pair) settle(ctx context.Context) error {
	const last = ^uint32(0)
	p.wrs = append(p.wrs[:0], rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: last})
	for posted := false; !posted || p.out > 0; {
		if err := p.post(ctx); err != nil {
			return err
		}
		posted = len(p.wrs) == 0
		got, err := p.next(ctx, p.near.send)
		if err != nil {
			return err
		}
		p.out -= len(got)
	}
	for {
		got, err := p.next(ctx, p.far.recv)
		if err != nil {
			return err
		}
		for i := range got {
			if got[i].Imm == last {
				return nil
			}
		}
	}
}
