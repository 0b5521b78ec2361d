package offload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/rdma"
)

// A Channel, a read channel, is a queue pair with a completion queue and
// read buffers of its own. It carries one walk at a time, so nothing in it
// is locked and no completion changes goroutines: on shared memory a
// hand-over would cost more than the read.
//
//	Region:  | slot 0 | slot 1 | ... | slot window-1 |   block bytes each
//
// Where lines may be torn (rdma.Info.TornLines) every block is read twice,
// in order, into its slot and into a second region half of the same
// layout, and counts only if both are equal. That suffices for versioned
// lines, whatever order the bytes of a line were copied in. Let word a be
// new and word b old in both copies. While the second copy was made, b was
// still old, and a was new before the first copy ended. So a writer was in
// the middle of the line all the time between the two, and the version was
// odd. The second copy took the version in that state, or later, when it
// was an even one that the first copy cannot have.
//
// A slot belongs to the provider from Post until its completion was
// polled. Run returns only when all slots are back, in any case.
type Channel struct {
	qp     rdma.QueuePair
	cq     rdma.CompletionQueue
	region rdma.Region
	block  int      // bytes of a slot
	window int      // reads in flight at once
	free   []uint16 // slots that no read uses
	slots  []slot
	wrs    []rdma.WorkRequest  // scratch of walks
	done   [16]rdma.Completion // scratch of walks
	stop   *atomic.Bool        // StopBy
	twice  bool                // lines may be torn: see above
	failed error               // the channel is dead
	vague  bool                // failed is a flush, not its cause
}

type slot struct {
	ref   Ref
	tries int
}

// ChannelConfig configures Dial.
type ChannelConfig struct {
	BlockBytes int    // largest block
	Window     int    // reads in flight at once; 1 = single-issue
	Private    []byte // goes to the server's ConnRequest
}

// Dial opens a read channel to a listener.
func Dial(ctx context.Context, dev rdma.Device, addr string, cfg ChannelConfig) (*Channel, error) {
	window, info := cfg.Window, dev.Info()
	copies := 1
	if info.TornLines {
		copies = 2
	}
	if m := info.MaxReads; m > 0 {
		window = min(window, max(m/copies, 1))
	}
	if window < 1 || window > 1<<15 {
		return nil, fmt.Errorf("offload: window %d, want 1..%d", cfg.Window, 1<<15)
	}
	if cfg.BlockBytes < rdma.LineBytes || cfg.BlockBytes%rdma.LineBytes != 0 {
		return nil, fmt.Errorf("offload: block of %d bytes, want a multiple of %d", cfg.BlockBytes, rdma.LineBytes)
	}
	ch := &Channel{
		block:  cfg.BlockBytes,
		window: window,
		free:   make([]uint16, 0, window),
		slots:  make([]slot, window),
		wrs:    make([]rdma.WorkRequest, 0, copies*window),
		twice:  info.TornLines,
	}
	for i := range ch.slots {
		ch.free = append(ch.free, uint16(i))
	}
	var err error
	if ch.cq, err = dev.CreateCQ(copies*window + 1); err != nil {
		return nil, err
	}
	if ch.region, err = dev.Register(copies*window*cfg.BlockBytes, rdma.LocalWrite); err != nil {
		ch.cq.Close()
		return nil, err
	}
	ch.qp, err = dev.Dial(ctx, addr, rdma.QPConfig{
		SendCQ: ch.cq, RecvCQ: ch.cq, SendDepth: copies * window, RecvDepth: 1,
	}, cfg.Private)
	if err != nil {
		ch.region.Close()
		ch.cq.Close()
		return nil, err
	}
	return ch, nil
}

// Window is the number of reads that may be in flight at once.
func (ch *Channel) Window() int { return ch.window }

// StopBy makes walks end with ErrStopped when stop is true, as soon as the
// reads in flight are back; nil: nothing stops them. The channel can carry
// other walks afterwards. StopBy is for an owner that passes the channel from
// one user to the next, between walks.
func (ch *Channel) StopBy(stop *atomic.Bool) { ch.stop = stop }

// Err is nil while the channel is not known to be lost: it may have been
// lost since the last walk.
func (ch *Channel) Err() error {
	if ch.failed != nil {
		return ch.failed
	}
	if err := ch.qp.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrChannel, err)
	}
	return nil
}

// Close ends the connection. No walk may be running.
func (ch *Channel) Close() error {
	err := errors.Join(ch.qp.Close(), ch.cq.Close(), ch.region.Close())
	if ch.failed == nil {
		ch.failed = fmt.Errorf("%w: closed", ErrChannel)
	}
	return err
}
