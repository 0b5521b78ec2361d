package micro

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
)

// requester makes the requests of one operation sequentially.
type requester interface {
	// begin prepares requests of size bytes, which end distinguishes from all
	// earlier ones by the seed.
	begin(ctx context.Context, size int, seed uint64) error
	// request makes one request, and returns when it is complete. It allocates
	// nothing.
	request(ctx context.Context) error
	// ways are the measured requests of one call of request: their time is its part.
	ways() int
	// end compares the bytes that the requests brought to the client, or makes
	// those that they wrote visible to the server. Errors wrap rdmaprobe.ErrCorrupt.
	end(ctx context.Context) error
	device() string
	// spun is the time spent spinning for completions so far.
	spun() time.Duration
	close()
}

// ClientMain runs a client child. It returns after the last measurement, when
// in ends, when ctx is done or a request fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer, open Opener) error {
	return harness.ClientMain(ctx, in, out, func(ctx context.Context, job clientJob, _ func(string), atEnd func(func())) (w harness.Work, err error) {
		r, err := dial(ctx, job, open)
		if err != nil {
			return w, err
		}
		atEnd(r.close)
		return harness.Work{Ready: clientReady{Device: r.device()}, Run: func(ctx context.Context, p *child.Pipe, again <-chan struct{}) error {
			return measureAll(ctx, job, r, p, again)
		}}, nil
	})
}

func dial(ctx context.Context, job clientJob, open Opener) (requester, error) {
	if job.Op == TCP {
		return newSocket(job), nil
	}
	v, err := newVerbs(ctx, job, open)
	if err != nil || job.Op != OneWay {
		return v, err
	}
	return newOneWay(v), nil
}

func measureAll(ctx context.Context, job clientJob, r requester, p *child.Pipe, again <-chan struct{}) error {
	began, seed := time.Now(), uint64(initial)
	for _, size := range job.Sizes {
		for range job.Repeat {
			if seed++; seed > initial+1 {
				// The server compares the last run's bytes first.
				if err := wait(ctx, again); err != nil {
					return err
				}
			}
			if err := r.begin(ctx, size, seed); err != nil {
				return err
			}
			if _, _, err := loop(ctx, r, job.Duration/warmup); err != nil {
				return err
			}
			if err := harness.Say(p, "warm", true); err != nil {
				return err
			}
			if err := wait(ctx, again); err != nil {
				return err
			}
			from, err := harness.UsageSince(began)
			if err != nil {
				return err
			}
			spun := r.spun()
			seen, elapsed, err := loop(ctx, r, job.Duration)
			if err != nil {
				return err
			}
			to, err := harness.UsageSince(began)
			if err != nil {
				return err
			}
			to.CPU = max(from.CPU, to.CPU-(r.spun()-spun)) // Ticks, as harness says.
			if err := r.end(ctx); err != nil {
				return err
			}
			o := &run{Bytes: size, Seed: seed, Elapsed: elapsed, Latency: seen, Util: to.Since(from).Util}
			if err := harness.Say(p, "run", o); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait blocks until the parent sends Go.
func wait(ctx context.Context, lets <-chan struct{}) error {
	select {
	case <-lets:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// loop makes requests for duration d, and at least least of them. Each latency
// ends where the next one begins.
func loop(ctx context.Context, r requester, d time.Duration) (*latency.Distribution, time.Duration, error) {
	seen := latency.New()
	begin := time.Now()
	last := begin
	for {
		if err := r.request(ctx); err != nil {
			return nil, 0, fmt.Errorf("request %d: %w", seen.Count()+1, err)
		}
		now := time.Now()
		for ways := r.ways(); ways > 0; ways-- {
			seen.Record(now.Sub(last) / time.Duration(r.ways()))
		}
		last = now
		if elapsed := now.Sub(begin); elapsed >= d && seen.Count() >= least {
			return seen, elapsed, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
	}
}
