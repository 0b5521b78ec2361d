package features

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
)

// ClientMain runs a client child. It returns after its sample, when in ends,
// when ctx is done or a call fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := child.NewPipe(in, out)
	var job LoadJob
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	if job.Clients < 1 || job.InFlight < 1 || job.Duration <= 0 {
		return p.Fail(fmt.Errorf("%w: %d clients with %d in flight for %v", bench.ErrConfig, job.Clients, job.InFlight, job.Duration))
	}
	s, err := open(ctx, job)
	if err != nil {
		return p.Fail(err)
	}
	defer s.close()
	if err := p.Write(fromChild{Ready: true}); err != nil {
		return err
	}
	var cmd toClient
	if err := p.Read(&cmd); err != nil || !cmd.Go {
		return p.Fail(err)
	}
	go func() { // The process ends with its input.
		for p.Read(&cmd) == nil {
		}
		cancel()
	}()
	var sample *Sample
	if job.Work == Load {
		sample, err = loadRing(ctx, job, p.Note, began)
	} else {
		sample, err = loop(ctx, job, s, began)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil // The parent has ended.
		}
		return p.Fail(err)
	}
	return p.Write(fromChild{Sample: sample})
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
