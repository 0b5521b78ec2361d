package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

// noteEvery is the time between a child's progress notes.
const noteEvery = 5 * time.Second

// Main runs a replay child. It returns when all requests are answered, when in
// ends, when ctx is done or a call fails.
func Main(ctx context.Context, in io.Reader, out io.Writer, dial Dialer) error {
	return harness.ClientMain(ctx, in, out, func(ctx context.Context, job Job, note func(string), atEnd func(func())) (w harness.Work, err error) {
		if job.Clients < 1 || job.InFlight < 1 || job.Procs < 1 {
			return w, fmt.Errorf("%w: a process without clients", harness.ErrConfig)
		}
		a := &asking{job: job}
		if a.conns, err = harness.DialAll(job.Clients, func(int) (Conn, error) { return dial(ctx, job) }); err != nil {
			return w, err
		}
		atEnd(func() {
			for _, c := range a.conns {
				c.Close()
			}
		})
		ready := replayReady{Info: a.conns[0].Info()}
		if job.Insert {
			if ready.Inserted, ready.Took, err = insertAll(ctx, job, a.conns[0], note); err != nil {
				return w, err
			}
		}
		if a.list, err = readShare(job); err != nil {
			return w, err
		}
		a.answers = make([]answer, len(a.list))
		return harness.Work{Ready: ready, Run: func(ctx context.Context, p *child.Pipe, _ <-chan struct{}) error {
			done, err := a.measure(ctx, note)
			if err != nil {
				return err
			}
			if err := writeAnswers(job, a.answers); err != nil {
				return err
			}
			return harness.Say(p, "sample", done)
		}}, nil
	})
}

// measure makes all requests and measures them.
func (a *asking) measure(ctx context.Context, note func(string)) (*replayed, error) {
	before := a.counters()
	from, err := a.conns[0].Server(ctx)
	if err != nil {
		return nil, err
	}
	stop := a.progress(note)
	askers, took, err := a.run(ctx)
	stop()
	if err != nil {
		return nil, err
	}
	to, err := a.conns[0].Server(ctx)
	if err != nil {
		return nil, err
	}
	done := &replayed{
		Elapsed: took, Latency: map[string]*latency.Distribution{},
		Counters: a.counters().Sub(before), Util: from.util(to), Objects: to.Objects,
	}
	for kind := querylog.Search; kind <= querylog.Update; kind++ {
		all := latency.New()
		for _, w := range askers {
			if l := w.latency[kind]; l != nil {
				all.Merge(l)
			}
		}
		if all.Count() > 0 {
			done.Latency[kind.String()] = all
		}
	}
	return done, nil
}

func (a *asking) counters() bench.Counters {
	var sum bench.Counters
	for _, c := range a.conns {
		sum = sum.Add(c.Counters())
	}
	return sum
}

// progress reports from time to time the progress of the first process, which
// is about that of the others.
func (a *asking) progress(note func(string)) (stop func()) {
	if a.job.Proc != 0 {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(noteEvery)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				n := a.done.Load()
				note(fmt.Sprintf("asked %d of %d, %d%%", n*int64(a.job.Procs),
					len(a.list)*a.job.Procs, 100*n/int64(max(len(a.list), 1))))
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// insertAll inserts the data in order. Each batch follows the answer to the
// previous one: with several in flight their order at the server would be
// undefined, and a tree has one writer at a time anyway.
func insertAll(ctx context.Context, job Job, c Conn, note func(string)) (int64, time.Duration, error) {
	src, err := bench.OpenDataset(job.Dataset, job.Objects, job.Seed)
	if err != nil {
		return 0, 0, err
	}
	if err := wantEmpty(ctx, job, c); err != nil {
		return 0, 0, err
	}
	// The number that the library puts into one message.
	const batchItems = 256
	batch := make([]rstar.Item, 0, batchItems)
	var n int64
	var failed error
	start := time.Now()
	told := start
	send := func() {
		var in int
		in, failed = c.InsertMany(ctx, batch)
		n += int64(in)
		batch = batch[:0]
		if now := time.Now(); now.Sub(told) > noteEvery {
			told = now
			done, total, unit := src.Progress()
			of := ""
			if total > 0 {
				of = fmt.Sprintf(", %d%% of %d %s", 100*done/total, total, unit)
			}
			note(fmt.Sprintf("inserted %d objects%s", n, of))
		}
	}
	err = src.Items(func(it rstar.Item) bool {
		if batch = append(batch, it); len(batch) == batchItems {
			send()
		}
		return failed == nil
	})
	if err == nil && failed == nil && len(batch) > 0 {
		send()
	}
	if err = errors.Join(err, failed); err != nil {
		err = fmt.Errorf("%w\nat least %d objects were inserted before that and stay", err, n)
	}
	return n, time.Since(start), err
}

// wantEmpty refuses to insert among existing objects, unless Force is set.
func wantEmpty(ctx context.Context, job Job, c Conn) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	if n := server.Objects; n > 0 && !job.Force {
		return fmt.Errorf("%w: collection %s of %s holds %d objects, and nothing was inserted;"+
			" ask them with --no-load, or insert %s among them with --force",
			ErrNotEmpty, job.Collection, job.Addr, n, job.Dataset)
	}
	return nil
}

// readShare reads this process's part of the list.
func readShare(job Job) ([]querylog.Record, error) {
	f, err := os.Open(job.Queries)
	if err != nil {
		return nil, fmt.Errorf("replay: queries: %w", err)
	}
	defer f.Close() // only read: nothing to lose
	r, err := querylog.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("replay: queries: %w", err)
	}
	var list []querylog.Record
	for i := 0; ; i++ {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("replay: queries: %w", err)
		case i%job.Procs == job.Proc:
			list = append(list, rec)
		}
	}
}
