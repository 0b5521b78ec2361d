package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// ClientMain runs a client child. It returns after its sample, when in ends,
// when ctx is done or a call fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer, dial Dialer) error {
	began := time.Now()
	return harness.ClientMain(ctx, in, out, func(ctx context.Context, job ClientJob, note func(string), atEnd func(func())) (w harness.Work, err error) {
		if err := job.validate(); err != nil {
			return w, err
		}
		stores, err := harness.DialAll(job.Clients, func(i int) (Store, error) {
			s, err := dial(ctx, job)
			if err != nil {
				return nil, err
			}
			if err := try(ctx, s, fmt.Appendf(nil, "try-%012d", job.FirstClient+i)); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return s, nil
		})
		if err != nil {
			return w, err
		}
		atEnd(func() {
			for _, s := range stores {
				s.Close()
			}
		})
		l, err := newLoad(job, stores)
		if err != nil {
			return w, err
		}
		return harness.Work{
			Ready: ClientReady{Info: stores[0].Info()},
			Run: func(ctx context.Context, p *child.Pipe, _ <-chan struct{}) error {
				s, err := l.run(ctx, began)
				if err != nil {
					return err
				}
				return harness.Say(p, "sample", s)
			},
		}, fill(ctx, job, stores, note)
	})
}

// validate refuses a job that a parent of another version may have sent.
func (job *ClientJob) validate() error {
	if err := job.Workload.Validate(); err != nil {
		return err
	}
	if job.Clients < 1 || job.InFlight < 1 || job.Batch < 1 || job.Duration <= 0 {
		return fmt.Errorf("%w: %d clients with %d in flight, batches of %d, for %v",
			harness.ErrConfig, job.Clients, job.InFlight, job.Batch, job.Duration)
	}
	return nil
}

// try checks an operation that is not measured: a deleted key is not found.
// The key has the length of all others, but differs from them.
func try(ctx context.Context, s Store, key []byte) error {
	value := []byte("value of " + string(key))
	if err := s.Put(ctx, key, value); err != nil {
		return fmt.Errorf("bench: storing %s: %w", key, err)
	}
	got, err := s.Get(ctx, key, nil)
	if err != nil {
		return fmt.Errorf("bench: getting %s: %w", key, err)
	}
	if string(got) != string(value) {
		return fmt.Errorf("%w: %s is %.80q, want %q", ErrWrong, key, got, value)
	}
	if err := s.Delete(ctx, key); err != nil {
		return fmt.Errorf("bench: deleting %s: %w", key, err)
	}
	if got, err = s.Get(ctx, key, nil); !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %s was deleted and is %.80q, error %w", ErrWrong, key, got, err)
	}
	return nil
}
