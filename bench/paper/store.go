package paper

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/store"
)

// Point is a measured point with everything that identifies it: a line of
// PointsFile.
type Point struct {
	Key        string    `json:"key"`
	Experiment string    `json:"experiment"`
	Panel      string    `json:"panel"`
	Network    Network   `json:"network"`
	Series     string    `json:"series"`
	Measured   time.Time `json:"measured"`
	Settings   Settings  `json:"settings"`
	Row        bench.Row `json:"row"`
}

// PointsFile is where a Store keeps its points, in its directory.
const PointsFile = "points.jsonl"

// ErrSettings is wrapped when a directory holds points that were measured
// under other settings.
var ErrSettings = errors.New("measured under other settings")

// Store is the points of one directory by key, all under the same settings.
type Store struct{ *store.Lines[Point] }

// Open reads the points of a directory, which it creates if it is missing.
// With fresh it discards them; else points under other settings are an error
// that wraps ErrSettings. It cuts off a line that a killed run left
// unfinished; torn reports this.
func Open(dir string, s Settings, fresh bool) (_ *Store, torn bool, err error) {
	lines, torn, err := store.Open(filepath.Join(dir, PointsFile), fresh,
		func(p Point) string { return p.Key },
		func(p Point) error {
			if diff := p.Settings.Differences(s); len(diff) > 0 {
				return fmt.Errorf("%w: point %s has %s", ErrSettings, p.Key, strings.Join(diff, "; "))
			}
			return nil
		})
	if err != nil {
		return nil, false, fmt.Errorf("paper: %w", err)
	}
	return &Store{lines}, torn, nil
}

// Points returns all points by key.
func (s *Store) Points() map[string]Point { return s.All() }
