package rdmaprobe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Next waits until cq has completions, at most patience, and takes as many
// as fit into dst. A failed one is an error, with the reason why qp, if it is
// not nil, failed. It allocates nothing.
func Next(ctx context.Context, qp rdma.QueuePair, cq rdma.CompletionQueue, dst []rdma.Completion,
	patience time.Duration) ([]rdma.Completion, error) {
	deadline := time.Time{}
	for {
		got, err := take(qp, cq, dst)
		if err != nil || len(got) > 0 {
			return got, err
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(patience)
		}
		// May return without a completion.
		if err := wait(ctx, cq, time.Until(deadline), patience); err != nil {
			return nil, err
		}
	}
}

// take polls cq once; a failed request is an error.
func take(qp rdma.QueuePair, cq rdma.CompletionQueue, dst []rdma.Completion) ([]rdma.Completion, error) {
	got := dst[:cq.Poll(dst)]
	for i := range got {
		if err := got[i].Err(); err != nil {
			if qp == nil {
				return nil, err
			}
			if why := qp.Err(); why != nil {
				err = fmt.Errorf("%w (%w)", err, why)
			}
			return nil, err
		}
	}
	return got, nil
}

// wait is CompletionQueue.Wait with an error that says what is missing.
func wait(ctx context.Context, cq rdma.CompletionQueue, d, patience time.Duration) error {
	err := cq.Wait(ctx, max(0, d))
	if errors.Is(err, rdma.ErrTimeout) {
		return fmt.Errorf("%w: no completion within %v", err, patience)
	}
	return err
}
