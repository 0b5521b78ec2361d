package btree

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/internal/latency"
)

// access is a way to use a tree: a Client, or the tree itself.
type access interface {
	Scan(ctx context.Context, from, to uint64, dst []Item) ([]Item, error)
	Put(ctx context.Context, key, value uint64) error
	Delete(ctx context.Context, key uint64) (bool, error)
	Counts() Counts
	Close() error
}

// local is the access of scheme Local.
type local struct {
	*Tree
	counts Counts
}

func (l *local) Scan(_ context.Context, from, to uint64, dst []Item) ([]Item, error) {
	l.counts.Reads++
	return l.Tree.Scan(from, to, dst)
}
func (l *local) Put(_ context.Context, key, value uint64) error     { return l.Tree.Put(key, value) }
func (l *local) Delete(_ context.Context, key uint64) (bool, error) { return l.Tree.Delete(key) }
func (l *local) Counts() Counts                                     { return l.counts }
func (l *local) Close() error                                       { return nil }

// user is one client at work.
type user struct {
	access
	cfg    *Config
	oracle *oracle
	rng    *rand.Rand
	kinds  [kinds]kindCounts
	wrong  uint64
	first  string // wrong answer
	items  []Item
}

// Kinds of operations.
const (
	gets = iota
	scans
	writes
	kinds
)

// kindCounts is what the operations of a kind took.
type kindCounts struct {
	latency *latency.Distribution
	trips   uint64
	reads   uint64
	items   uint64
}

func newUser(cfg *Config, i int) *user {
	u := &user{cfg: cfg, oracle: newOracle(i, cfg.Clients), rng: rand.New(rand.NewPCG(cfg.Seed, uint64(i)+2))}
	for k := range u.kinds {
		u.kinds[k].latency = latency.New()
	}
	return u
}

func (u *user) run(ctx context.Context, until time.Time) error {
	for now := time.Now(); now.Before(until) && ctx.Err() == nil; {
		kind := gets
		switch p := u.rng.IntN(100); {
		case p < u.cfg.Scans:
			kind = scans
		case p < u.cfg.Scans+u.cfg.Writes:
			kind = writes
		}
		before := u.Counts()
		found, err := u.operate(ctx, kind)
		if err != nil {
			return err
		}
		ended, after, k := time.Now(), u.Counts(), &u.kinds[kind]
		k.latency.Record(ended.Sub(now))
		k.trips += after.RoundTrips - before.RoundTrips
		k.reads += after.Stats.Reads - before.Stats.Reads
		k.items += uint64(found)
		now = time.Now() // Comparing is not measured.
	}
	return ctx.Err()
}

// operate makes one operation, compares its answer, and returns how many items it has.
func (u *user) operate(ctx context.Context, kind int) (int, error) {
	places := 2 * uint64(u.cfg.Keys)
	switch kind {
	case writes:
		return 0, u.write(ctx, places)
	case scans:
		first := u.rng.Uint64N(places - 2*uint64(u.cfg.Range) + 1)
		return u.read(ctx, first, first+2*uint64(u.cfg.Range)-1)
	}
	p := u.rng.Uint64N(places)
	return u.read(ctx, p, p)
}

func (u *user) read(ctx context.Context, first, last uint64) (int, error) {
	var err error
	if u.items, err = u.Scan(ctx, keyAt(first), keyAt(last), u.items[:0]); err != nil {
		return 0, err
	}
	u.judge(u.oracle.check(u.items, first, last))
	return len(u.items), nil
}

func (u *user) judge(err error) {
	if err == nil {
		return
	}
	if u.wrong++; u.wrong == 1 {
		u.first = err.Error()
	}
}

// write puts an odd key of the client, or deletes it.
func (u *user) write(ctx context.Context, places uint64) error {
	n := uint64(u.cfg.Clients)
	turns := places / 2 / n
	if turns == 0 {
		return nil // More clients than keys: this one owns none for certain.
	}
	p := (u.rng.Uint64N(turns)*n+u.oracle.client)*2 + 1
	if !u.oracle.owned[p] {
		u.oracle.owned[p] = true
		return u.Put(ctx, keyAt(p), valueOf(keyAt(p)))
	}
	delete(u.oracle.owned, p)
	was, err := u.Delete(ctx, keyAt(p))
	if err == nil && !was {
		u.judge(fmt.Errorf("a delete did not find the key of place %d", p))
	}
	return err
}

// firstWrong is the first wrong answer of the users, and how many there are.
func firstWrong(users []*user, last string) (n uint64, first string) {
	for _, u := range users {
		n += u.wrong
		first = cmp.Or(first, u.first)
	}
	if last != "" {
		n++
	}
	return n, cmp.Or(first, last)
}
