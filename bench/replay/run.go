package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/querylog"
)

// Run makes every query of cfg.Queries once by each scheme, and calls done
// with each scheme's row. results gets a line per query, in the order of the
// list, if it is not nil: number, count of objects found, and with cfg.IDs
// their ids, separated by tabs and spaces. All schemes must find the same
// number, unless the list also writes; results has the first one's.
//
// Errors wrap harness.ErrConfig or ErrNothing (nothing was started),
// child.ErrFailed, bench.ErrResults (ErrVerify if it was the oracle), or are
// ctx's cause or a file's. No child outlives the call.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, known []string,
	results io.Writer, note func(string), done func(Row)) (err error) {
	if err := cfg.Validate(known); err != nil {
		return err
	}
	r := run{cfg: cfg.withDefaults(), spawn: spawn, note: note, results: results}
	if r.dir, err = os.MkdirTemp("", "catfish-replay-"); err != nil {
		return fmt.Errorf("replay: a directory for lists and answers: %w", err)
	}
	defer func() { _ = os.RemoveAll(r.dir) }() // No longer needed.
	if err := r.makeList(); err != nil {
		return err
	}
	for _, scheme := range r.cfg.Schemes {
		row, err := r.scheme(ctx, scheme)
		if err != nil {
			return fmt.Errorf("scheme %s: %w", scheme, err)
		}
		done(row)
	}
	return nil
}

// run is one call of Run.
type run struct {
	cfg     Config
	spawn   child.Spawn
	note    func(string)
	results io.Writer
	dir     string
	list    queryList
	first   []uint64 // found by the first scheme, by query
}

func (r *run) logPath() string { return filepath.Join(r.dir, "queries") }

func (r *run) answersPath(proc int) string {
	return filepath.Join(r.dir, "answers-"+strconv.Itoa(proc))
}

func (r *run) makeList() error {
	f, err := os.Create(r.logPath())
	if err != nil {
		return fmt.Errorf("replay: writing the list of queries: %w", err)
	}
	r.list, err = r.cfg.writeQueries(f, r.note)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if r.list.Torn != "" {
		r.note(fmt.Sprintf("WARNING: %s: %s; what is before that is replayed", r.cfg.Queries, r.list.Torn))
	}
	if r.list.Lost > 0 {
		r.note(fmt.Sprintf("WARNING: %s misses %d requests that its server did not record in time",
			r.cfg.Queries, r.list.Lost))
	}
	if r.list.Writes > 0 {
		if r.cfg.Addr != "" {
			r.note(fmt.Sprintf("WARNING: %s has %d writes, which are made to collection %s of %s",
				r.cfg.Queries, r.list.Writes, r.cfg.Collection, r.cfg.Addr))
		}
		switch {
		case r.cfg.Verify && !r.cfg.sequential():
			return fmt.Errorf("%w: %s has %d writes: what is found between them can be verified with"+
				" one client and one call in flight only", harness.ErrConfig, r.cfg.Queries, r.list.Writes)
		case len(r.cfg.Schemes) > 1 && r.cfg.Addr != "":
			return fmt.Errorf("%w: %s has %d writes, which several schemes would do to the same server",
				harness.ErrConfig, r.cfg.Queries, r.list.Writes)
		}
	}
	return nil
}

// scheme replays by one scheme.
func (r *run) scheme(ctx context.Context, scheme string) (Row, error) {
	note := func(s string) { r.note(scheme + ": " + s) }
	row := r.newRow(scheme)
	addr := r.cfg.Addr
	if addr == "" {
		began := time.Now()
		srv, ready, err := bench.Serve(ctx, r.spawn, r.cfg.ServerCPUs, r.cfg.serverJob(), note)
		if err != nil {
			return row, err
		}
		defer srv.Stop()
		addr = ready.Addr
		if r.cfg.Bulk {
			row.loaded(int64(ready.Objects), time.Since(began))
		}
	}
	if err := r.ask(ctx, scheme, addr, note, &row); err != nil {
		return row, err
	}
	return row, r.judge(&row, note)
}

// ask runs the children and puts their measurements into row.
func (r *run) ask(ctx context.Context, scheme, addr string, note func(string), row *Row) error {
	children, ready, err := harness.StartClients[replayReady](ctx, r.spawn, Role, r.cfg.ClientCPUs, r.cfg.Procs, func(i int) any {
		return r.cfg.clientJob(scheme, i, addr, r.logPath(), r.answersPath(i))
	}, note)
	if err != nil {
		return err
	}
	defer children.Stop()
	row.Transport, row.Device, row.NodeBytes = ready[0].Info.Transport, ready[0].Info.Device, ready[0].Info.NodeBytes
	if took := ready[0].Took; took > 0 {
		row.loaded(ready[0].Inserted, took)
		note(fmt.Sprintf("inserted %d objects in %v", ready[0].Inserted, took.Round(time.Millisecond)))
	}
	note(fmt.Sprintf("asking %d queries", r.list.Count))
	if err := children.Go(); err != nil {
		return err
	}
	parts, err := harness.Each[*replayed](ctx, children, "sample")
	if err != nil {
		return err
	}
	return row.fill(parts)
}

// judge walks over all answers in the order of the list: it counts the objects
// found, compares, verifies, and writes the results.
func (r *run) judge(row *Row, note func(string)) error {
	f, err := os.Open(r.logPath())
	if err != nil {
		return fmt.Errorf("replay: queries: %w", err)
	}
	defer f.Close() // only read: nothing to lose
	list, err := querylog.NewReader(f)
	if err != nil {
		return fmt.Errorf("replay: queries: %w", err)
	}
	var answers []*answersReader
	for i := range r.cfg.Procs {
		a, err := openAnswers(r.answersPath(i))
		if err != nil {
			return err
		}
		defer a.close()
		answers = append(answers, a)
	}
	var o *oracle
	if r.cfg.Verify {
		note("verifying")
		src, err := bench.OpenDataset(r.cfg.Data, r.cfg.Objects, r.cfg.Seed)
		if err != nil {
			return err
		}
		if o, err = newOracle(src); err != nil {
			return err
		}
	}
	// Only the first scheme's are written: the others' are the same.
	var w *bufio.Writer
	isFirst := r.first == nil
	if isFirst {
		r.first = make([]uint64, 0, r.list.Count)
		if r.results != nil {
			w = bufio.NewWriter(r.results)
		}
	}
	var ans answer
	noted := time.Now()
	for i := range r.list.Count {
		if o != nil && time.Since(noted) > noteEvery {
			noted = time.Now()
			note(fmt.Sprintf("verified %d of %d", i, r.list.Count))
		}
		rec, err := list.Next()
		if err != nil {
			return fmt.Errorf("replay: queries: %w", err)
		}
		if err := answers[i%len(answers)].next(&ans); err != nil {
			return err
		}
		if !rec.Kind.Writes() {
			row.Found += ans.count
		}
		row.compare(&rec, &ans)
		if isFirst {
			r.first = append(r.first, ans.count)
		} else if r.first[i] != ans.count && r.list.Writes == 0 {
			return fmt.Errorf("%w: request %d, %v %v, found %d objects by %s and %d by %s", bench.ErrResults,
				i, rec.Kind, rec.Rect, r.first[i], r.cfg.Schemes[0], ans.count, row.Scheme)
		}
		if o != nil {
			if err := o.check(i, &rec, &ans); err != nil {
				return err
			}
			row.Verified++
		}
		if w != nil {
			writeResult(w, i, &ans, r.cfg.IDs)
		}
	}
	row.Results = stats.Ratio(float64(row.Found), float64(r.list.Count-r.list.Writes))
	if w != nil {
		if err := w.Flush(); err != nil {
			return fmt.Errorf("replay: writing the results: %w", err)
		}
	}
	return nil
}

// writeResult writes one line; w keeps its first error.
func writeResult(w *bufio.Writer, i int, a *answer, ids bool) {
	var b []byte
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, '\t')
	b = strconv.AppendUint(b, a.count, 10)
	if ids {
		b = append(b, '\t')
		for j, id := range a.ids {
			if j > 0 {
				b = append(b, ' ')
			}
			b = strconv.AppendUint(b, id, 10)
		}
	}
	_, _ = w.Write(append(b, '\n')) // Flush returns the error.
}
