package mongo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench/features"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/latency"
)

// ErrWrong is wrapped by the error of a run whose answers were wrong.
var ErrWrong = errors.New("bench: wrong answers")

// Sample is one work of a run.
type Sample struct {
	Elapsed time.Duration         `json:"elapsed_ns"`
	Latency *latency.Distribution `json:"latency"`
}

// thread does the works of one client, one operation at a time.
type thread struct {
	f         *catfish.Features
	docs      []catfish.Feature
	revisions []uint64
}

// warmUps are operations before the measured ones.
const warmUps = 20

// newThread has documents from first on. They are made here, so that no time of theirs is
// measured.
func newThread(f *catfish.Features, data *features.Data, first, n int) *thread {
	t := &thread{f: f, docs: make([]catfish.Feature, n), revisions: make([]uint64, n)}
	for i := range t.docs {
		t.docs[i] = data.Feature(first + i)
		t.docs[i].ID = fmt.Sprintf("%09d", first+i)
	}
	return t
}

// do makes one operation.
func (t *thread) do(ctx context.Context, work string, i int) (err error) {
	d := &t.docs[i]
	switch work {
	case Insert:
		_, t.revisions[i], err = t.f.Put(ctx, *d, catfish.Condition{IfAbsent: true})
	case Query:
		var got catfish.Feature
		if got, err = t.f.Get(ctx, d.ID); err == nil && (got.ID != d.ID || got.Revision != t.revisions[i]) {
			return fmt.Errorf("%w: document %s of revision %d, want %s of %d", ErrWrong, got.ID, got.Revision, d.ID, t.revisions[i])
		}
	case Update:
		was := t.revisions[i]
		t.revisions[i], err = t.f.Patch(ctx, d.ID, change, catfish.Condition{IfRevision: was})
	case Delete:
		_, err = t.f.Delete(ctx, d.ID, catfish.Condition{IfRevision: t.revisions[i]})
	}
	return err
}

// change is the patch of an update.
var change = json.RawMessage(`{"properties":{"changed":true}}`)

// warmUp makes all works of the first document, which is away again afterwards.
func (t *thread) warmUp(ctx context.Context) error {
	for range warmUps {
		for _, work := range Works {
			if err := t.do(ctx, work, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// all makes an operation of each document.
func (t *thread) all(ctx context.Context, work string, l *latency.Distribution) error {
	for i := range t.docs {
		began := time.Now()
		if err := t.do(ctx, work, i); err != nil {
			return err
		}
		l.Record(time.Since(began))
	}
	return nil
}

// measure lets all threads work.
func measure(ctx context.Context, threads []*thread, work string) (*Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	begin := make(chan struct{})
	parts := make([]*latency.Distribution, len(threads))
	for i, t := range threads {
		parts[i] = latency.New()
		group.Go(func() {
			<-begin
			if err := t.all(ctx, work, parts[i]); err != nil {
				cancel(err)
			}
		})
	}
	began := time.Now()
	close(begin)
	group.Wait()
	s := &Sample{Elapsed: time.Since(began), Latency: latency.New()}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, p := range parts {
		s.Latency.Merge(p)
	}
	return s, nil
}
