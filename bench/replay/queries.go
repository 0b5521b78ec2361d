package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

// queryList is the list of a replay, in a query log of its own, whatever its
// source: children read one format.
type queryList struct {
	Count  int // requests
	Writes int // of them inserts, deletes and updates
	// Recorded: the requests are from a server's recording.
	Recorded bool
	// Lost is the number of requests that a recording reports missing, and
	// Torn why it ends early, "" if it does not. Neither is an error: the rest
	// is replayed, and reported as a part.
	Lost uint64
	Torn string
}

// needsData reports whether the queries are made from the data.
func (c Config) needsData() bool {
	if _, err := datasets.ParseQuerySet(c.Queries); err == nil {
		return true
	}
	_, err := datasets.ParseScale(c.Queries)
	return err == nil
}

// writeQueries writes the list to w.
func (c Config) writeQueries(w io.Writer, note func(string)) (queryList, error) {
	var l queryList
	b := querylog.AppendHeader(nil, time.Now())
	put := func(rec *querylog.Record) error {
		n := len(b)
		b = rec.Append(b)
		querylog.Seal(b[n:])
		l.Count++
		if rec.Kind.Writes() {
			l.Writes++
		}
		if len(b) < 256<<10 { // Few system calls.
			return nil
		}
		_, err := w.Write(b)
		b = b[:0]
		return err
	}
	search := func(r rstar.Rect) error {
		return put(&querylog.Record{Kind: querylog.Search, Found: querylog.NotKnown, Rect: r})
	}
	if err := c.eachQuery(note, &l, put, search); err != nil {
		return l, err
	}
	if c.Recorded != "" && !l.Recorded {
		return l, fmt.Errorf("%w: recorded is %s, but %s is no recording", harness.ErrConfig, c.Recorded, c.Queries)
	}
	if l.Count == 0 {
		return l, fmt.Errorf("%w in %s", ErrNothing, c.Queries)
	}
	if _, err := w.Write(b); err != nil {
		return l, fmt.Errorf("replay: writing the list of queries: %w", err)
	}
	return l, nil
}

// eachQuery calls search, or put for all other requests.
func (c Config) eachQuery(note func(string), l *queryList,
	put func(*querylog.Record) error, search func(rstar.Rect) error) error {
	if set, err := datasets.ParseQuerySet(c.Queries); err == nil {
		note("making " + c.Queries)
		src, err := bench.OpenDataset(c.Data, c.Objects, c.Seed)
		if err != nil {
			return err
		}
		g := datasets.Gather{BytesEach: datasets.QueryBytes}
		if err := g.Read(src); err != nil {
			return err
		}
		for q := range set.Queries(g.Items()) {
			if err := search(q); err != nil {
				return err
			}
		}
		return nil
	}
	if scale, err := datasets.ParseScale(c.Queries); err == nil {
		return c.drawQueries(scale, search)
	}
	if log, err := openLog(c.Queries); log != nil || err != nil {
		if err != nil {
			return err
		}
		defer log.Close() // only read: nothing to lose
		l.Recorded = true
		return c.readLog(log, l, put)
	}
	src, err := datasets.Open(c.Queries, datasets.Options{})
	if err != nil {
		return err
	}
	var failed error
	err = src.Items(func(it rstar.Item) bool {
		failed = search(it.Rect)
		return failed == nil
	})
	return errors.Join(err, failed)
}

// drawQueries draws the paper's queries within the bounds of the data.
func (c Config) drawQueries(scale datasets.Scale, search func(rstar.Rect) error) error {
	src, err := bench.OpenDataset(c.Data, c.Objects, c.Seed)
	if err != nil {
		return err
	}
	bounds, known := src.Bounds()
	if !known {
		if bounds, _, err = datasets.Bounds(src); err != nil {
			return err
		}
	}
	next, err := datasets.Queries(scale, bounds, c.Seed, 0)
	if err != nil {
		return err
	}
	for range c.QueryCount {
		if err := search(next()); err != nil {
			return err
		}
	}
	return nil
}

// openLog returns nil if the file does not exist or is no query log: package
// datasets reports the error then.
func openLog(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	var head [64]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || !querylog.IsLog(head[:n]) {
		f.Close()
		return nil, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("replay: queries: %w", err)
	}
	return f, nil
}

// readLog takes the requests of one collection from a recording.
func (c Config) readLog(f *os.File, l *queryList, put func(*querylog.Record) error) error {
	r, err := querylog.NewReader(f)
	if err != nil {
		return fmt.Errorf("replay: %s: %w", f.Name(), err)
	}
	names := map[uint32]string{}
	var have []string
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return c.checkNames(f.Name(), have)
		case errors.Is(err, querylog.ErrTorn):
			l.Torn = err.Error()
			return c.checkNames(f.Name(), have)
		case err != nil:
			return fmt.Errorf("replay: %s: %w", f.Name(), err)
		case rec.Kind == querylog.Collection:
			names[rec.Collection] = rec.Name
			have = append(have, rec.Name)
		case rec.Kind == querylog.Dropped:
			l.Lost += rec.Lost
		case c.Recorded == "" || c.Recorded == names[rec.Collection]:
			if err := put(&rec); err != nil {
				return err
			}
		}
	}
}

func (c Config) checkNames(file string, have []string) error {
	if c.Recorded == "" && len(have) > 1 {
		return fmt.Errorf("%w: %s has requests to %d collections (%s): choose one of them",
			harness.ErrConfig, file, len(have), strings.Join(have, ", "))
	}
	return nil
}
