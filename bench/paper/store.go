package paper

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/bench"
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

// ErrBusy is wrapped when another run uses a directory.
var ErrBusy = errors.New("another run uses this directory")

// Store is the points of one directory, all under the same settings. It
// locks them against other runs until it is closed.
type Store struct {
	file   *os.File
	points map[string]Point
}

// Open reads the points of a directory, which it makes if need be. With
// fresh it discards them; else points under other settings are an error
// that wraps ErrSettings. A line that a killed run left unfinished is cut
// off; torn says so.
func Open(dir string, s Settings, fresh bool) (store *Store, torn bool, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, false, fmt.Errorf("paper: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, PointsFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, false, fmt.Errorf("paper: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, false, fmt.Errorf("paper: locking %s: %w", f.Name(), err)
	}
	if fresh {
		if err := f.Truncate(0); err != nil {
			return nil, false, fmt.Errorf("paper: %w", err)
		}
	}
	points, end, err := read(f)
	if err != nil {
		return nil, false, err
	}
	store = &Store{file: f, points: map[string]Point{}}
	for _, p := range points {
		if diff := p.Settings.Differences(s); len(diff) > 0 {
			return nil, false, fmt.Errorf("%w: %s: point %s has %s",
				ErrSettings, f.Name(), p.Key, strings.Join(diff, "; "))
		}
		store.points[p.Key] = p
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size > end {
		torn = true
		if err = f.Truncate(end); err == nil {
			_, err = f.Seek(end, io.SeekStart)
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("paper: %w", err)
	}
	return store, torn, nil
}

// read returns the points of whole lines, and where the last one ends.
func read(r io.Reader) (points []Point, end int64, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return points, end, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("paper: %w", err)
		}
		var p Point
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields() // An older or newer program's.
		if err := d.Decode(&p); err != nil {
			return nil, 0, fmt.Errorf("paper: %s, line %d: %w (--fresh discards the points)",
				PointsFile, n, err)
		}
		points = append(points, p)
		end += int64(len(line))
	}
}

// Add appends a point, on disk when it returns.
func (s *Store) Add(p Point) error {
	b, err := json.Marshal(p)
	if err == nil {
		_, err = s.file.Write(append(b, '\n'))
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("paper: keeping point %s: %w", p.Key, err)
	}
	s.points[p.Key] = p
	return nil
}

// Has tells whether a point was measured.
func (s *Store) Has(key string) bool {
	_, ok := s.points[key]
	return ok
}

// Points returns all points by key.
func (s *Store) Points() map[string]Point { return s.points }

// Close ends the use of the store.
func (s *Store) Close() error { return s.file.Close() }
