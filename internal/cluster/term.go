package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/coord"
)

// One planner at a time begins moves without a command. It has a term: a value at the coordinators, which
// it changes at every beat. Another planner that has seen no change of it for lostAfter, by its own
// clock, takes the next term by compare-and-set.
//
// No clock decides which planner may begin moves. Each change of the map compares the term's value, too, so a
// planner that was stopped, and continues after another has taken the term, changes nothing.

// PlannerKey is that of the term.
const PlannerKey = "planner"

const (
	beatEvery = 5 * time.Second
	lostAfter = 30 * time.Second
)

// ErrTermEnded: another planner has the term now. Nothing was changed.
var ErrTermEnded = errors.New("cluster: another planner has taken the term")

// Planner is the one that begins moves without a command.
type Planner struct {
	Name string `json:"name"`
	Term uint64 `json:"term"`
	// ID is of one planner in one term; empty: it has ended, and the next term may begin.
	ID   string `json:"id,omitempty"`
	Beat uint64 `json:"beat"`
	// Planned is when the last plan began, by the clock of its planner.
	Planned time.Time `json:"planned,omitzero"`
}

// ReadPlanner returns the planner of the latest term, nil: there was none.
func ReadPlanner(ctx context.Context, r Reader) (*Planner, error) {
	v, err := r.Get(ctx, PlannerKey)
	if err != nil {
		return nil, err
	}
	return parsePlanner(v)
}

func parsePlanner(v coord.Value) (*Planner, error) {
	if v.Version == 0 {
		return nil, nil
	}
	p := new(Planner)
	if err := json.Unmarshal(v.Bytes, p); err != nil {
		return nil, fmt.Errorf("cluster: value of %s: %w", v.Key, err)
	}
	return p, nil
}

// term is a Registry whose changes count in the term alone.
type term struct {
	Registry
	one     chan struct{} // held during changes: a beat changes what they compare
	is      Planner       // as it was written last
	version int64
}

// candidate waits for its term.
type candidate struct {
	seen  int64 // the term's version
	since time.Time
}

// take takes the term if it is free, or its planner is lost; nil: another one has it.
func (c *candidate) take(ctx context.Context, r Registry, name string) (*term, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	v, err := r.Get(ctx, PlannerKey)
	if err != nil {
		return nil, err
	}
	p, err := parsePlanner(v)
	if err != nil {
		return nil, err
	}
	if v.Version != c.seen {
		c.seen, c.since = v.Version, time.Now()
	}
	next := Planner{Name: name, Term: 1, ID: rand.Text()}
	if p != nil {
		if p.ID != "" && time.Since(c.since) < lostAfter {
			return nil, nil
		}
		next.Term, next.Planned = p.Term+1, p.Planned
	}
	t := &term{Registry: r, one: make(chan struct{}, 1), is: Planner{ID: next.ID}, version: v.Version}
	next.Beat = 1
	if err := t.write(ctx, next); err != nil {
		if errors.Is(err, ErrTermEnded) {
			return nil, nil // Another candidate was faster.
		}
		return nil, err
	}
	return t, nil
}

// alone waits for the changes of others, and returns what ends one's own. It is no mutex, since tests
// with a clock of their own stop a planner here.
func (t *term) alone() (end func()) {
	t.one <- struct{}{}
	return func() { <-t.one }
}

// SwapIf compares the term, too.
func (t *term) SwapIf(ctx context.Context, key string, version int64, value []byte, others ...coord.Value) (int64, error) {
	defer t.alone()()
	others = append(others[:len(others):len(others)], coord.Value{Key: PlannerKey, Version: t.version})
	n, err := t.Registry.SwapIf(ctx, key, version, value, others...)
	if errors.Is(err, coord.ErrConflict) {
		if ended := t.look(ctx); ended != nil {
			return 0, ended
		}
	}
	return n, err
}

// beat shows that the planner runs; planned is when its last plan began.
func (t *term) beat(ctx context.Context, planned time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	defer t.alone()()
	next := t.is
	next.Beat++
	if !planned.IsZero() {
		next.Planned = planned
	}
	return t.write(ctx, next)
}

// end lets the next planner begin at once.
func (t *term) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	defer t.alone()()
	next := t.is
	next.ID = ""
	if err := t.write(ctx, next); !errors.Is(err, ErrTermEnded) {
		return err
	}
	return nil // By this write, or another planner has the term.
}

// write changes the term's value. The caller is alone.
func (t *term) write(ctx context.Context, next Planner) error {
	b, err := json.Marshal(next)
	if err != nil {
		return err
	}
	version, err := t.Registry.SwapIf(ctx, PlannerKey, t.version, b)
	switch {
	case err == nil:
		t.is, t.version = next, version
		return nil
	case errors.Is(err, coord.ErrConflict), errors.Is(err, coord.ErrUnknown):
		if ended := t.look(ctx); ended != nil {
			return ended
		}
		if t.is.Beat == next.Beat && t.is.ID == next.ID {
			return nil
		}
	}
	return err
}

// look reads the term again: an earlier write of this planner may come late. The caller
// is alone.
func (t *term) look(ctx context.Context) error {
	v, err := t.Registry.Get(ctx, PlannerKey)
	if err != nil {
		return err
	}
	switch p, err := parsePlanner(v); {
	case err != nil:
		return err
	case p == nil:
		return fmt.Errorf("%w: its value was deleted", ErrTermEnded)
	case p.ID != t.is.ID:
		return fmt.Errorf("%w: %q has term %d", ErrTermEnded, p.Name, p.Term)
	default:
		t.is, t.version = *p, v.Version
		return nil
	}
}
