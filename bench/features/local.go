package features

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// local runs a work in the server's process: with its store, or its disk alone.
func (s *catfishServer) local(ctx context.Context, job LoadJob, began time.Time) (*Sample, error) {
	w, err := newWrites(job)
	if err != nil {
		return nil, err
	}
	st := &steps{}
	if job.Way == Disk {
		next, file, err := diskStep(w, job)
		if err != nil {
			return nil, err
		}
		defer func() {
			_ = file.Close()
			_ = os.Remove(file.Name()) // The directory will be removed too.
		}()
		st.all = []step{next}
	} else {
		for range job.Clients * job.InFlight {
			st.all = append(st.all, s.writeStep(w))
		}
	}
	return loop(ctx, job, st, began)
}

// writeStep writes a feature, and waits for the end of the write.
func (s *catfishServer) writeStep(w *writes) step {
	written := make(chan error, 1)
	tell := func(_ uint64, err error) { written <- err }
	return func(_ context.Context, rng *rand.Rand) (done, error) {
		id, value, err := query.Encode(store.Feature(w.feature(rng)), s.features.Options().Space)
		if err != nil {
			return done{}, err
		}
		s.features.PutEncoded(id, value, 0, kv.Condition{}, tell)
		return done{ops: 1, features: 1}, <-written
	}
}

// diskStep writes the bytes of all in-flight features to a file, and makes
// them durable: the bound that the disk sets to a group commit of them. It
// writes a new part of the file each time, like a log.
func diskStep(w *writes, job LoadJob) (step, *os.File, error) {
	file, err := os.Create(filepath.Join(job.Dir, "fsync.bench"))
	if err != nil {
		return nil, nil, err
	}
	together := job.Clients * job.InFlight
	var buf []byte
	return func(_ context.Context, rng *rand.Rand) (done, error) {
		buf = buf[:0]
		for range together {
			id, value, err := query.Encode(store.Feature(w.feature(rng)), 0)
			if err != nil {
				return done{}, err
			}
			buf = append(append(buf, id...), value...)
		}
		if _, err := file.Write(buf); err != nil {
			return done{}, err
		}
		if err := file.Sync(); err != nil {
			return done{}, err
		}
		if at, err := file.Seek(0, 1); err != nil || at > diskBytes {
			_, err = file.Seek(0, 0)
			return done{ops: together, features: together}, err
		}
		return done{ops: together, features: together}, nil
	}, file, nil
}

// diskBytes is where writing wraps to the begin: a log's files are reused too.
const diskBytes = 1 << 30

// ErrWrong is wrapped when answers are wrong.
var ErrWrong = errors.New("bench: wrong answers")

// LocalMain runs a child that works alone: what it is ready with is its sample.
func LocalMain(ctx context.Context, in io.Reader, out io.Writer) error {
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, job LocalJob, _ func(string)) (harness.Served[command], error) {
		work := map[string]func(context.Context, LocalJob) (*Sample, error){Country: countries, Fences: fences}[job.Work]
		if work == nil {
			return harness.Served[command]{}, fmt.Errorf("%w: no work %q in a process of its own", harness.ErrConfig, job.Work)
		}
		s, err := work(ctx, job)
		return harness.Served[command]{Ready: s, Close: func() {}}, err
	})
}
