package btree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// Local is the scheme that reads and writes the tree in the owner's memory, without
// messages: what the others are compared with.
const Local = "local"

// Schemes are those that Run knows. A tree has no sockets, and no cache of nodes.
func Schemes() []string {
	names := []string{Local}
	for _, n := range policy.Schemes()[1:] {
		if s, err := policy.SchemeByName(n); err == nil && !s.TCP && n != "offload-cached" {
			names = append(names, n)
		}
	}
	return names
}

// Config says what Run measures.
type Config struct {
	Schemes   []string
	Keys      int // loaded before
	Range     int // loaded keys of a range read
	Clients   int
	Scans     int // percent of operations that read a range; the rest are gets
	Writes    int // percent of operations that put or delete a key
	Duration  time.Duration
	Transport string // shm or soft
	Seed      uint64
	Commit    string
}

// maxKeys bounds the slab to some 8 GiB.
const maxKeys = 50_000_000

// Validate checks every value. Errors wrap harness.ErrConfig.
func (c *Config) Validate() error {
	percent := error(nil)
	if c.Scans < 0 || c.Writes < 0 || c.Scans+c.Writes > 100 {
		percent = fmt.Errorf("%w: scans %d %% and writes %d %%, want 0 to 100 together", harness.ErrConfig, c.Scans, c.Writes)
	}
	return cmp.Or(
		harness.CheckNames("scheme", c.Schemes, Schemes()),
		harness.CheckNames("transport", []string{c.Transport}, []string{"shm", "soft"}),
		harness.CheckRange("keys", c.Keys, 1, maxKeys),
		harness.CheckRange("range", c.Range, 1, c.Keys),
		harness.CheckRange("clients", c.Clients, 1, 1024),
		harness.CheckDuration(c.Duration),
		percent,
	)
}

// Run loads a tree for each scheme, lets clients use it, compares every answer with what it
// must be, and calls done with the scheme's row. Server and clients are in this process.
// Wrong answers are counted in the row. note gets the progress.
func Run(ctx context.Context, cfg Config, note func(string), done func(Row)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	for _, scheme := range cfg.Schemes {
		r, err := runOne(ctx, cfg, scheme, note)
		if err != nil {
			return fmt.Errorf("scheme %s: %w", scheme, err)
		}
		done(r)
		if r.Wrong > 0 {
			return fmt.Errorf("%w: scheme %s, %d, the first: %s", ErrWrong, scheme, r.Wrong, r.FirstWrong)
		}
	}
	return nil
}

// ErrWrong: answers differ from what they must be.
var ErrWrong = errors.New("btree: wrong answers")

func open(transport string) (rdma.Device, error) {
	if transport == "soft" {
		return soft.Open(soft.Options{})
	}
	return shm.Open(shm.Options{})
}

func runOne(ctx context.Context, cfg Config, scheme string, note func(string)) (_ Row, err error) {
	sch := policy.Scheme{Name: Local}
	if scheme != Local {
		if sch, err = policy.SchemeByName(scheme); err != nil {
			return Row{}, err
		}
	}
	s, end, err := loaded(&cfg, sch, note)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return Row{}, err
	}
	dev, err := open(cfg.Transport)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	g := policy.NewGroup()
	users, err := harness.DialAll(cfg.Clients, func(i int) (*user, error) {
		u := newUser(&cfg, i)
		if scheme == Local {
			u.access = &local{Tree: s.Tree}
			return u, nil
		}
		var err error
		u.access, err = Dial(ctx, dev, s.Places(), sch, g, cfg.Seed+uint64(i))
		return u, err
	})
	if err != nil {
		return Row{}, err
	}
	defer func() {
		for _, u := range users {
			err = errors.Join(err, u.Close())
		}
	}()
	note(scheme + ": measuring")
	began := time.Now()
	all, ctx := errgroup.WithContext(ctx)
	for _, u := range users {
		all.Go(func() error { return u.run(ctx, began.Add(cfg.Duration)) })
	}
	if err := all.Wait(); err != nil {
		return Row{}, err
	}
	took := time.Since(began)
	last, err := compareAll(s.Tree, users)
	if err != nil {
		return Row{}, err
	}
	return newRow(&cfg, scheme, took, users, last), nil
}

// loaded is a server with the keys that are loaded before, in random order. end closes all
// of it, also after an error.
func loaded(cfg *Config, sch policy.Scheme, note func(string)) (_ *Server, end func() error, err error) {
	var ends []func() error
	end = func() error {
		var err error
		for _, f := range slices.Backward(ends) {
			err = errors.Join(err, f())
		}
		return err
	}
	dev, err := open(cfg.Transport)
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, dev.Close)
	at := Places{"127.0.0.1:0", "127.0.0.1:0"}
	if cfg.Transport == "shm" {
		dir, err := os.MkdirTemp("", "catfish-btree-")
		if err != nil {
			return nil, end, fmt.Errorf("btree: %w", err)
		}
		ends = append(ends, func() error { return os.RemoveAll(dir) })
		at = Places{filepath.Join(dir, "rings"), filepath.Join(dir, "reads")}
	}
	s, err := Serve(dev, at, SlabBytes(2*cfg.Keys), sch.Poll)
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, s.Close)
	note(fmt.Sprintf("%s: loading %d keys", sch.Name, cfg.Keys))
	for _, i := range rand.New(rand.NewPCG(cfg.Seed, 1)).Perm(cfg.Keys) {
		k := keyAt(2 * uint64(i))
		if err := s.Tree.Put(k, valueOf(k)); err != nil {
			return nil, end, err
		}
	}
	return s, end, nil
}

// compareAll compares the whole tree with what all clients have left in it. An error is the
// tree's; a difference is the text.
func compareAll(t *Tree, users []*user) (wrong string, err error) {
	items, err := t.Scan(0, maxKey, nil)
	if err != nil {
		return "", err
	}
	all := newOracle(0, 1)
	for _, u := range users {
		for p := range u.oracle.owned {
			all.owned[p] = true
		}
	}
	if err := all.check(items, 0, 2*uint64(users[0].cfg.Keys)-1); err != nil {
		return "in the end: " + err.Error(), nil
	}
	return "", nil
}
