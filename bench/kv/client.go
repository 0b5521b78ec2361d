package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
)

// ClientMain runs a client child. It returns after its sample, when in ends,
// when ctx is done or a call fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer, dial Dialer) error {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := child.NewPipe(in, out)
	var job ClientJob
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	if err := job.validate(); err != nil {
		return p.Fail(err)
	}
	stores, err := dialAll(ctx, job, dial)
	defer func() {
		for _, s := range stores {
			s.Close()
		}
	}()
	if err != nil {
		return p.Fail(err)
	}
	l, err := newLoad(job, stores)
	if err == nil {
		err = fill(ctx, job, stores, p.Note)
	}
	if err != nil {
		return p.Fail(err)
	}
	if err := p.Write(fromChild{Client: &ClientReady{Info: stores[0].Info()}}); err != nil {
		return err
	}
	var cmd toChild
	if err := p.Read(&cmd); err != nil || !cmd.Go {
		return p.Fail(err)
	}
	go func() { // The process ends with its input.
		for p.Read(&cmd) == nil {
		}
		cancel()
	}()
	s, err := l.run(ctx, began)
	if err != nil {
		if ctx.Err() != nil {
			return nil // The parent has ended.
		}
		return p.Fail(err)
	}
	return p.Write(fromChild{Sample: s})
}

// validate refuses a job that a parent of another version may have sent.
func (job *ClientJob) validate() error {
	if err := job.Workload.Validate(); err != nil {
		return err
	}
	if job.Clients < 1 || job.InFlight < 1 || job.Batch < 1 || job.Duration <= 0 {
		return fmt.Errorf("%w: %d clients with %d in flight, batches of %d, for %v",
			bench.ErrConfig, job.Clients, job.InFlight, job.Batch, job.Duration)
	}
	return nil
}

// dialAtOnce is how many connections are opened at a time: each waits for the
// server, which may have a busy thread for every other one.
const dialAtOnce = 16

// dialAll opens and tries the job's connections. With an error it returns those
// that are open.
func dialAll(ctx context.Context, job ClientJob, dial Dialer) ([]Store, error) {
	var (
		stores = make([]Store, job.Clients)
		errs   = make([]error, job.Clients)
		slots  = make(chan struct{}, dialAtOnce)
		group  sync.WaitGroup
	)
	for i := range stores {
		slots <- struct{}{}
		group.Go(func() {
			if stores[i], errs[i] = dial(ctx, job); errs[i] == nil {
				errs[i] = try(ctx, stores[i], fmt.Appendf(nil, "try-%012d", job.FirstClient+i))
			}
			<-slots
		})
	}
	group.Wait()
	open := slices.DeleteFunc(stores, func(s Store) bool { return s == nil })
	for _, err := range errs {
		if err != nil {
			return open, err // The other errors are the same.
		}
	}
	return open, nil
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
