package docs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/store"
)

// Settings are common to all results of a page.
type Settings struct {
	Commit  string        `json:"commit"`
	Machine bench.Machine `json:"machine"`
}

// Result is the output of one process: a line of ResultsFile.
type Result struct {
	Key      string        `json:"key"`
	Settings Settings      `json:"settings"`
	Took     time.Duration `json:"took_ns"`
	Output   string        `json:"output"`
}

// ResultsFile is the name of the results' file, in the directory of a store.
const ResultsFile = "benchmarks.jsonl"

// ErrSettings is wrapped when a store belongs to another commit or machine.
var ErrSettings = errors.New("measured by another commit or on another machine")

// Store keeps results by the keys of their steps.
type Store = store.Lines[Result]

// Open reads the results in a directory, or with fresh discards them.
func Open(dir string, s Settings, fresh bool) (_ *Store, torn bool, err error) {
	all, torn, err := store.Open(filepath.Join(dir, ResultsFile), fresh,
		func(r Result) string { return r.Key },
		func(r Result) error {
			if r.Settings != s {
				return fmt.Errorf("%w: %s has commit %s, here %s", ErrSettings, r.Key, r.Settings.Commit, s.Commit)
			}
			return nil
		})
	if errors.Is(err, store.ErrLine) {
		err = fmt.Errorf("%w (--fresh discards what is there)", err)
	}
	return all, torn, err
}

// ErrMissing is wrapped by Exec's error for a command that cannot run here.
// The page says so in place of the table.
var ErrMissing = errors.New("not to be had here")

// Runner runs the steps that are missing in a store.
type Runner struct {
	Sizes    Sizes
	Settings Settings
	Store    *Store
	// Exec runs a command and returns its standard output.
	Exec func(ctx context.Context, args []string) (string, error)
	// Begin and End are called around each process, with its number and the total.
	Begin func(n, of int, s Step)
	End   func(n, of int, s Step, took, left time.Duration)
	// Now is a clock; nil: time.Now.
	Now func() time.Time
}

// Run runs all missing steps. It returns why benchmarks were left out, by
// name; other errors end it.
func (r *Runner) Run(ctx context.Context) (leftOut map[string]string, err error) {
	now := r.Now
	if now == nil {
		now = time.Now
	}
	type todo struct {
		Step
		of *Benchmark
	}
	var all []todo
	for i := range Benchmarks {
		b := &Benchmarks[i]
		for _, s := range b.Steps(r.Sizes) {
			if !r.Store.Has(s.Key) {
				all = append(all, todo{s, b})
			}
		}
	}
	leftOut = map[string]string{}
	var spent time.Duration
	for i, s := range all {
		if leftOut[s.of.Name] != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return leftOut, context.Cause(ctx)
		}
		r.Begin(i+1, len(all), s.Step)
		began := now()
		out, err := r.Exec(ctx, s.Args)
		took := now().Sub(began)
		switch {
		case ctx.Err() != nil: // Its output is incomplete.
			return leftOut, context.Cause(ctx)
		case errors.Is(err, ErrMissing):
			leftOut[s.of.Name] = err.Error()
			continue
		case err != nil:
			return leftOut, fmt.Errorf("%s: %w", s.Command, err)
		}
		if s.of.Kind == Trees {
			out = lastTable(out) // The rest are single runs.
		}
		if err := r.Store.Add(Result{Key: s.Key, Settings: r.Settings, Took: took, Output: out}); err != nil {
			return leftOut, err
		}
		spent += took
		r.End(i+1, len(all), s.Step, took, spent/time.Duration(i+1)*time.Duration(len(all)-i-1))
	}
	return leftOut, nil
}
