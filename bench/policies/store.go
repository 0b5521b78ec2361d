package policies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/store"
)

// Record is one run of a cell by a candidate: a line of the file.
type Record struct {
	Cell      string             `json:"cell"`
	Candidate Candidate          `json:"candidate"`
	Round     int                `json:"round"` // from 1; of simulated cells the seed
	Args      string             `json:"args"`
	Simulated bool               `json:"simulated"`
	Values    map[string]float64 `json:"values"` // by the metrics' labels
	Units     map[string]string  `json:"units"`
	TookS     float64            `json:"took_s"`
	Measured  time.Time          `json:"measured"`
}

// ErrOther is wrapped when a file holds records of another build, scheme or
// size under the names of this run.
var ErrOther = errors.New("measured by another build or under other settings")

// Store keeps records, in a file if it has one.
type Store struct {
	Records []Record // in the order of their measurement
	lines   *store.Lines[Record]
}

// OpenStore opens a file to append to, and locks it against other runs. With
// resume it reads the existing records, and cuts off the line that a killed
// run left unfinished; else they are an error. Without a name records are kept
// in memory only.
func OpenStore(name string, resume bool) (*Store, error) {
	s := &Store{}
	if name == "" {
		if resume {
			return nil, fmt.Errorf("%w: nothing to resume from without a file", ErrUsage)
		}
		return s, nil
	}
	if _, err := os.Stat(filepath.Dir(name)); err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	if there, err := os.Stat(name); err == nil && there.Size() > 0 && !resume {
		return nil, fmt.Errorf("%w: %s is there: go on from it with --resume, or name another file", ErrUsage, name)
	}
	var err error
	s.lines, _, err = store.Open(name, false,
		func(r Record) string { return fmt.Sprintf("%s/%s/%d", r.Cell, r.Candidate.Name, r.Round) },
		func(r Record) error { s.Records = append(s.Records, r); return nil })
	if err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	return s, nil
}

// Add keeps a record, on disk when it returns.
func (s *Store) Add(r Record) error {
	if s.lines != nil {
		if err := s.lines.Add(r); err != nil {
			return fmt.Errorf("policies: %w", err)
		}
	}
	s.Records = append(s.Records, r)
	return nil
}

// find returns the record of a task. If it was measured differently, the error
// wraps ErrOther.
func (s *Store) find(cell *Cell, c *Candidate, round int, args []string) (*Record, error) {
	i := slices.IndexFunc(s.Records, func(r Record) bool {
		return r.Cell == cell.Name && r.Candidate.Name == c.Name && r.Round == round
	})
	if i < 0 {
		return nil, nil
	}
	r := &s.Records[i]
	for _, v := range []struct{ what, have, want string }{
		{"build", r.Candidate.Digest, c.Digest}, {"scheme", r.Candidate.Scheme, c.Scheme},
		{"arguments", r.Args, strings.Join(args, " ")},
	} {
		if v.have != v.want {
			return nil, fmt.Errorf("%w: candidate %s, cell %q: %s %q there, %q here; name another file or candidate",
				ErrOther, c.Name, cell.Name, v.what, v.have, v.want)
		}
	}
	return r, nil
}

// Close unlocks and closes the file.
func (s *Store) Close() error {
	if s.lines == nil {
		return nil
	}
	return s.lines.Close()
}
