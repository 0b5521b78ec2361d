package features

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// ClientMain runs a client child. It returns after its sample, when in ends,
// when ctx is done or a call fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	began := time.Now()
	return harness.ClientMain(ctx, in, out, func(ctx context.Context, job LoadJob, note func(string), atEnd func(func())) (w harness.Work, err error) {
		if job.Clients < 1 || job.InFlight < 1 || job.Duration <= 0 {
			return w, fmt.Errorf("%w: %d clients with %d in flight for %v", harness.ErrConfig, job.Clients, job.InFlight, job.Duration)
		}
		s, err := open(ctx, job)
		if err != nil {
			return w, err
		}
		atEnd(s.close)
		return harness.Work{Run: func(ctx context.Context, p *child.Pipe, _ <-chan struct{}) error {
			var sample *Sample
			var err error
			if job.Work == Load {
				sample, err = loadRing(ctx, job, note, began)
			} else {
				sample, err = loop(ctx, job, s, began)
			}
			if err != nil {
				return err
			}
			return harness.Say(p, "sample", sample)
		}}, nil
	})
}

// open connects in the job's way.
func open(ctx context.Context, job LoadJob) (*steps, error) {
	if job.Work == Load {
		return &steps{close: func() {}}, nil
	}
	switch job.Way {
	case GRPC, Echo:
		return openGRPC(job)
	case Tile38:
		return openTile38(ctx, job)
	}
	return openRings(ctx, job)
}
