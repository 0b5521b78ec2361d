package kv

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

const (
	// fillChunk is how many keys a loading goroutine takes at a time, and a
	// Pipeliner sends together.
	fillChunk = 256
	// fillAtOnce is the least number of in-flight Puts of a process: more do
	// not load faster.
	fillAtOnce = 64
	// noteKeys is the number of keys between two progress notes: a second or
	// two.
	noteKeys = 1 << 20
)

// fill loads the job's keys over its connections. note is called by one
// goroutine at a time.
func fill(ctx context.Context, job ClientJob, stores []Store, note func(string)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := filler{job: job, note: note}
	f.next.Store(job.LoadFrom)
	var group sync.WaitGroup
	for _, s := range stores {
		n := max(job.InFlight, (fillAtOnce+len(stores)-1)/len(stores))
		if _, ok := s.(Pipeliner); ok {
			n = 1
		}
		for range n {
			group.Go(func() {
				if err := f.work(ctx, s); err != nil {
					cancel(err) // The first error is the cause.
				}
			})
		}
	}
	group.Wait()
	return context.Cause(ctx)
}

// filler is the state that loading goroutines share.
type filler struct {
	job    ClientJob
	next   atomic.Uint64 // the first key that no goroutine has taken
	loaded atomic.Uint64
	mu     sync.Mutex // of note
	note   func(string)
}

// work takes chunks of keys and loads them.
func (f *filler) work(ctx context.Context, s Store) error {
	rs := make([]Request, fillChunk)
	for ctx.Err() == nil {
		from := f.next.Add(fillChunk) - fillChunk
		if from >= f.job.LoadTo {
			return nil
		}
		n := min(fillChunk, f.job.LoadTo-from)
		for i := range rs[:n] {
			op := f.job.Workload.Load(from + uint64(i))
			rs[i] = Request{Key: op.Key, Value: op.AppendValue(rs[i].Value[:0]), Put: true}
		}
		if err := put(ctx, s, rs[:n]); err != nil {
			return fmt.Errorf("bench: loading keys %d to %d of %d: %w", from, from+n-1, f.job.Workload.Keys, err)
		}
		f.tell(f.loaded.Add(n), n)
	}
	return nil
}

// put stores all, together if the store is a Pipeliner.
func put(ctx context.Context, s Store, rs []Request) error {
	if p, ok := s.(Pipeliner); ok {
		return p.Do(ctx, rs)
	}
	for i := range rs {
		if err := s.Put(ctx, rs[i].Key[:], rs[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// tell reports the progress of loading, if n more keys passed the next mark.
func (f *filler) tell(loaded, n uint64) {
	if loaded/noteKeys == (loaded-n)/noteKeys {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(fmt.Sprintf("loaded %d of %d keys", loaded, f.job.LoadTo-f.job.LoadFrom))
}
