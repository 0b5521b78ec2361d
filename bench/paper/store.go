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
type Store = store.Lines[Point]

// Open reads the points of a directory, which it creates if it is missing.
// With fresh it discards them; else points under other settings are an error
// that wraps ErrSettings. It cuts off a line that a killed run left
// unfinished; torn reports this.
func Open(dir string, s Settings, fresh bool) (_ *Store, torn bool, err error) {
	return open(dir, PointsFile, s, fresh, func(p Point) (string, Settings) { return p.Key, p.Settings })
}

func open[P any](dir, file string, s Settings, fresh bool, of func(P) (key string, under Settings)) (*store.Lines[P], bool, error) {
	key := func(p P) string { key, _ := of(p); return key }
	lines, torn, err := store.Open(filepath.Join(dir, file), fresh, key, func(p P) error {
		_, under := of(p)
		if diff := under.Differences(s); len(diff) > 0 {
			return fmt.Errorf("%w: point %s has %s", ErrSettings, key(p), strings.Join(diff, "; "))
		}
		return nil
	})
	if errors.Is(err, store.ErrLine) {
		err = fmt.Errorf("%w (--fresh discards what is there)", err)
	}
	if err != nil {
		return nil, false, fmt.Errorf("paper: %w", err)
	}
	return lines, torn, nil
}
