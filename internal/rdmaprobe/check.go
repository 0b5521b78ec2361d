package rdmaprobe

import (
	"bytes"
	"context"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// rounds of Outstanding requests each, with different bytes every time.
const rounds = 8

// check runs requests whose bytes are compared at the side where they arrive,
// and returns their number.
func (p *pair) check(ctx context.Context, op rdma.Op, size int) (int, error) {
	from, to := p.near.mem.Bytes(), p.far.mem.Bytes()
	if op == rdma.OpRead {
		from, to = to, from
	}
	want := make([]byte, len(to))
	for round := range rounds {
		Fill(from, uint64(round))
		for i := range to {
			to[i] = ^from[i] // no byte is right by accident
		}
		copy(want, to)
		for i := range Outstanding {
			at := i * p.slot
			copy(want[at:at+size], from[at:])
		}
		if err := p.round(ctx, op, size); err != nil {
			return 0, err
		}
		if err := Compare(to, want, p.slot, size); err != nil {
			return 0, err
		}
	}
	return rounds * Outstanding, nil
}

// round posts one request for each slot and waits for all, and for their
// events. Written bytes are visible to the target's CPU only after an
// event, so one follows plain writes.
func (p *pair) round(ctx context.Context, op rdma.Op, size int) error {
	p.wrs = p.wrs[:0]
	for i := range Outstanding {
		p.wrs = append(p.wrs, p.request(op, i, size))
	}
	events := 0
	switch op {
	case rdma.OpWriteImm:
		events = Outstanding
	case rdma.OpWrite:
		p.wrs = append(p.wrs, rdma.WorkRequest{Op: rdma.OpWriteImm, ID: Outstanding, Imm: Outstanding})
		events = 1
	}
	for want, done := len(p.wrs), 0; done < want; {
		if err := p.post(ctx); err != nil {
			return err
		}
		got, err := p.next(ctx, p.near.send)
		if err != nil {
			return err
		}
		for _, c := range got {
			if c.ID != uint64(done) {
				return fmt.Errorf("%w: completion of request %d, want %d", ErrCorrupt, c.ID, done)
			}
			done++
		}
		p.out -= len(got)
	}
	for done := 0; done < events; {
		got, err := p.next(ctx, p.far.recv)
		if err != nil {
			return err
		}
		for _, c := range got {
			imm, n := uint32(done), uint32(size)
			if op == rdma.OpWrite {
				imm, n = Outstanding, 0
			}
			if c.Op != rdma.OpRecv || c.Imm != imm || c.Bytes != n {
				return fmt.Errorf("%w: event %v with immediate %d and %d bytes, want %d and %d",
					ErrCorrupt, c.Op, c.Imm, c.Bytes, imm, n)
			}
			done++
		}
	}
	return nil
}

// Fill writes bytes that differ by position and seed (xorshift64).
func Fill(b []byte, seed uint64) {
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
}

// Compare looks for a byte that requests of size bytes, each in a slot, lost, or changed
// outside their own. Errors wrap ErrCorrupt.
func Compare(got, want []byte, slot, size int) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range got {
		if got[i] == want[i] {
			continue
		}
		where := "of the request's bytes"
		if i%slot >= size {
			where = "behind the request's bytes"
		}
		return fmt.Errorf("%w: request %d, byte %d %s: %#x, want %#x", ErrCorrupt, i/slot, i%slot, where, got[i], want[i])
	}
	return fmt.Errorf("%w: %d of them, want %d", ErrCorrupt, len(got), len(want))
}
