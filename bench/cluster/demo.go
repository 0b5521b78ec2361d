package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
)

// Config says what Demo shows.
type Config struct {
	// Program is the command of catfish, which runs servers, the coordinator and the load.
	Program  []string
	Map      string        // file of features
	Duration time.Duration // of the show, without start and end
	Seed     uint64
	Groups   int // that have the map together, at most MaxGroups; 0 or 1: one
}

// MaxGroups bounds the processes on one machine.
const MaxGroups = 8

// MinDuration leaves time for a failover, and for the killed member to come back.
const MinDuration = 4 * time.Second

// Show receives what happens, from one goroutine.
type Show interface {
	// Note receives what is being prepared, and what has happened.
	Note(string)
	// Begin is called once when everything runs.
	Begin(Started)
	// Frame is called once a second.
	Frame(Frame)
}

// Started is what runs.
type Started struct {
	Coordinator string   `json:"coordinator"`
	Groups      []string `json:"groups,omitempty"` // if there are several
	Members     []string `json:"members"`          // addresses, the primary's first
	Paths       []string `json:"paths"`            // of reads
	Features    int      `json:"features"`
	Transport   string   `json:"transport"` // of the Go clients
}

// Paths of reads, as people know them.
const (
	Message  = "message"
	OneSided = "one-sided"
	HTTP     = "HTTP"
)

// Paths lists them.
var Paths = []string{Message, OneSided, HTTP}

// Frame is one second of the show.
type Frame struct {
	At     time.Duration
	Writes float64            // acknowledged, a second
	Reads  map[string]float64 // by path, a second
}

// Summary is the whole show.
type Summary struct {
	Started
	Killed string `json:"killed"` // the member that was the primary, of the first group
	Next   string `json:"next"`   // the one that took over
	// WithoutWrites is the time from the last write that was acknowledged before the primary
	// was killed to the first one after it. Of several groups: of ids of the first one.
	WithoutWrites time.Duration  `json:"without_writes_ns"`
	WritesInGap   int            `json:"writes_in_gap"`    // of ids of other groups, acknowledged meanwhile
	Spread        map[string]int `json:"spread,omitempty"` // of features: those of each of several groups, in the end
	Reads         map[string]int `json:"reads"`            // answers, by path
	ReadsInGap    map[string]int `json:"reads_in_gap"`     // of these, while no write was acknowledged
	Failed        map[string]int `json:"failed_reads"`     // that ended with an error
	Wrong         int            `json:"wrong_answers"`    // of reads
	Acknowledged  int            `json:"acknowledged"`     // writes
	Unknown       int            `json:"unknown_outcome"`  // writes
	Lost          int            `json:"lost"`             // acknowledged writes that are not there
	Doubled       int            `json:"doubled"`          // boxes that exist more than once
	Invented      int            `json:"invented"`         // boxes that were refused, and exist
	FirstLost     string         `json:"first_lost,omitempty"`
	InSync        int            `json:"in_sync"` // members in the end
}

// Good reports whether all promises were kept.
func (s *Summary) Good() bool { return s.Lost+s.Doubled+s.Invented+s.Wrong == 0 }

// ErrInterrupted: the show ended before anything was checked.
var ErrInterrupted = errors.New("interrupted: nothing was checked")

// Demo shows a failover. No process and no directory outlives the call.
func Demo(ctx context.Context, cfg Config, show Show) (_ *Summary, err error) {
	if cfg.Duration < MinDuration {
		return nil, fmt.Errorf("%w: duration is %v, want at least %v", harness.ErrConfig, cfg.Duration, MinDuration)
	}
	if cfg.Groups < 0 || cfg.Groups > MaxGroups {
		return nil, fmt.Errorf("%w: %d groups, want 1 to %d", harness.ErrConfig, cfg.Groups, MaxGroups)
	}
	dir, err := os.MkdirTemp("", "catfish-demo")
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	g, err := newServers(cfg, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		err = errors.Join(err, g.stop(), os.RemoveAll(dir))
		if ctx.Err() != nil {
			err = ErrInterrupted
		}
	}()
	if err := g.start(ctx, show.Note); err != nil {
		return nil, err
	}
	u, err := newUsers(ctx, g)
	if err != nil {
		return nil, err
	}
	defer u.close()
	show.Begin(u.started())
	s, err := u.show(ctx, show)
	if err != nil {
		return nil, err
	}
	show.Note("reading everything back")
	return s, u.check(ctx, s)
}
