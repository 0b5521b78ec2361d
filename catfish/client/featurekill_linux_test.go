package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// A server process that keeps features is killed under load, again and again. The
// answers to the clients are compared with the data of the next process.
//
// Each id has one writer, which knows its possible states: the operations that were
// acknowledged, in order, and at most one whose outcome is unknown. From these the test
// searches for a revision R that explains all ids:
//
//	id's operations    1 ok    5 ok    9 ok    ? unknown
//	                              R
//	what is left       the state after 5
//
// With SyncAlways R is above all acknowledged operations. Otherwise there must be
// one: a prefix of the operations is left, and all after it are lost.

func TestKilledStore(t *testing.T) {
	if os.Getenv(killDir) != "" {
		serveUntilKilled(t)
		return
	}
	for _, sync := range killSyncs() {
		rounds := *kills
		if sync != disk.SyncAlways {
			rounds = min(2, rounds)
		}
		t.Run("sync="+sync.String(), func(t *testing.T) { newKilling(t, sync).run(rounds) })
	}
}

// killing is a data directory, its server processes, and their clients.
type killing struct {
	*killedServer
	clients []killClient
	writers []*killWriter
	first   uint64            // above the revisions of the lives before
	given   map[uint64]string // the write that got each revision

	mu       sync.Mutex
	observed map[string]map[uint64]bool // numbers of writes that readers saw, by id
}

type killClient struct {
	path
	*model.Features
}

func newKilling(t *testing.T, sync disk.Sync) *killing {
	return &killing{
		killedServer: newKilledServer(t, sync),
		given:        map[uint64]string{}, observed: map[string]map[uint64]bool{},
	}
}

const (
	killWriters = 2 // for each client
	killIDs     = 8 // for each writer
)

func (k *killing) run(rounds int) {
	k.start()
	defer func() { k.kill() }()
	k.ready()
	ps := []path{{name: "tcp", transport: model.TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "fetch", "offload-cached"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
	}
	for _, p := range ps {
		o := p.options()
		o.Logger = quiet()
		c, err := Dial(k.t.Context(), k.addr, o)
		if err != nil {
			k.t.Fatal(err)
		}
		defer c.Close()
		f, err := c.Features(testFeatures)
		if err != nil {
			k.t.Fatal(err)
		}
		k.clients = append(k.clients, killClient{p, f})
		for range killWriters {
			k.writers = append(k.writers, newKillWriter(k, len(k.writers), k.clients[len(k.clients)-1]))
		}
	}
	k.again(rounds, k.life, k.verify)
}

// life runs clients that write and read until the server is killed.
func (k *killing) life() (writes int) {
	return k.untilKilled(func(ctx context.Context, done func(), writers, readers *sync.WaitGroup) {
		for _, w := range k.writers {
			writers.Go(func() { w.write(ctx, done) })
		}
		for i, c := range k.clients {
			rng := rand.New(rand.NewPCG(uint64(i), k.rng.Uint64()))
			readers.Go(func() { k.observe(ctx, c, rng) })
		}
	})
}

// killOp is the state of an id after an operation.
type killOp struct {
	revision uint64 // 0: unknown, or there was no feature yet
	n, g     uint64 // numbers of the last write, and of the last that set the geometry; 0: absent
}

// killID is the knowledge about an id.
type killID struct {
	ops   []killOp // the state at the start of this life, then acknowledged ones
	maybe *killOp  // nil: no outcome is unknown
}

func (i *killID) last() killOp { return i.ops[len(i.ops)-1] }

type killWriter struct {
	k    *killing
	c    killClient
	rng  *rand.Rand
	n    uint64 // of the last write
	step uint64
	ids  []string
	know map[string]*killID
}

func newKillWriter(k *killing, i int, c killClient) *killWriter {
	w := &killWriter{k: k, c: c, rng: rand.New(rand.NewPCG(uint64(i), 3)), n: uint64(i), step: 100, know: map[string]*killID{}}
	for j := range killIDs {
		id := fmt.Sprintf("%d of %d", j, i)
		w.ids = append(w.ids, id)
		w.know[id] = &killID{ops: []killOp{{}}}
	}
	return w
}

func (w *killWriter) number() uint64 {
	w.n += w.step
	return w.n
}

// killPlace is the feature of a write. A mixture of two writes can be recognised.
func killPlace(id string, n, g uint64) model.Feature {
	f := model.Feature{ID: id, Properties: fmt.Appendf(nil, `{"again":%d,"g":%d,"n":%d,"pad":%q}`, n, g, n, strings.Repeat("x", int(g%700)))}
	x, y := float64(g%3000)/10-150, float64(g%1001)/10-50
	f.Geometry = orb.Point{x, y}
	if g%3 == 0 {
		var all orb.MultiPolygon
		for i := range 3 {
			x, y := x/2+float64(i)*20, y+float64(i)
			all = append(all, orb.Polygon{{{x, y}, {x + 1, y}, {x + 1, y + 1}, {x, y + 1}, {x, y}}})
		}
		f.Geometry = all
	}
	return f
}

// killOpOf returns the operation that made a feature; an error if no operation did.
func killOpOf(f *model.Feature) (killOp, error) {
	var p struct{ Again, G, N uint64 }
	if err := json.Unmarshal(f.Properties, &p); err != nil {
		return killOp{}, fmt.Errorf("%q: %w", f.ID, err)
	}
	want := killPlace(f.ID, p.N, p.G)
	if !bytes.Equal(f.Properties, want.Properties) || !orb.Equal(f.Geometry, want.Geometry) {
		return killOp{}, fmt.Errorf("%q, revision %d, is half written: %v, %.80s", f.ID, f.Revision, f.Geometry, f.Properties)
	}
	return killOp{f.Revision, p.N, p.G}, nil
}

// write writes until an operation fails.
func (w *killWriter) write(ctx context.Context, done func()) {
	for {
		id := w.ids[w.rng.IntN(len(w.ids))]
		at, n := w.know[id].last(), w.number()
		var err error
		switch op := w.rng.IntN(8); {
		case op == 0:
			err = w.many(ctx, done)
		case op < 3 && at.n != 0:
			err = w.ended(id, killOp{n: n, g: at.g}, done, func() (uint64, error) {
				return w.c.Patch(ctx, id, fmt.Appendf(nil, `{"n":%d,"again":%[1]d}`, n), kv.Condition{IfRevision: at.revision})
			})
		case op < 4 && at.n != 0:
			err = w.ended(id, killOp{}, done, func() (uint64, error) { return w.c.Delete(ctx, id, kv.Condition{}) })
		default:
			err = w.ended(id, killOp{n: n, g: n}, done, func() (uint64, error) {
				_, rev, err := w.c.Put(ctx, killPlace(id, n, n), kv.Condition{IfAbsent: at.n == 0})
				return rev, err
			})
		}
		if err == nil && w.rng.IntN(4) == 0 {
			err = w.readOwn(ctx, id)
		}
		if err != nil {
			return
		}
	}
}

// ended does an operation and notes its outcome.
func (w *killWriter) ended(id string, op killOp, done func(), do func() (uint64, error)) error {
	rev, err := do()
	w.note(id, op, rev, err)
	if err == nil {
		done()
	}
	return err
}

func (w *killWriter) note(id string, op killOp, rev uint64, err error) {
	is := w.know[id]
	switch {
	case err == nil:
		op.revision = rev
		is.ops = append(is.ops, op)
	case errors.Is(err, kv.ErrNotFound), errors.Is(err, kv.ErrExists), errors.Is(err, kv.ErrConflict), errors.Is(err, store.ErrFeature):
		w.k.t.Errorf("%s: %q, which should be %+v: %v", w.c.name, id, is.last(), err)
	case !RetrySafe(err):
		is.maybe = &op
	}
}

// many puts some features in one message.
func (w *killWriter) many(ctx context.Context, done func()) error {
	var fs []model.Feature
	var ops []killOp
	for _, i := range w.rng.Perm(len(w.ids))[:3] {
		n := w.number()
		fs, ops = append(fs, killPlace(w.ids[i], n, n)), append(ops, killOp{n: n, g: n})
	}
	results, err := w.c.PutMany(ctx, fs)
	for i, r := range results {
		if r.Err == nil && r.Revision == 0 {
			r.Err = err
		}
		w.note(fs[i].ID, ops[i], r.Revision, r.Err)
		if r.Err == nil {
			done()
		}
	}
	return err
}

// readOwn checks that a writer sees its own writes.
func (w *killWriter) readOwn(ctx context.Context, id string) error {
	want := w.know[id].last()
	f, err := w.c.Get(ctx, id)
	if errors.Is(err, kv.ErrNotFound) {
		if want.n != 0 {
			w.k.t.Errorf("%s: %q is not there, should be %+v", w.c.name, id, want)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if got, err := killOpOf(&f); err != nil || got != want {
		w.k.t.Errorf("%s: %q is %+v, %v, should be %+v", w.c.name, id, got, err, want)
	}
	return nil
}

// observe reads until the server is killed, and notes which writes it saw: those must
// be durable, acknowledged or not.
func (k *killing) observe(ctx context.Context, c killClient, rng *rand.Rand) {
	see := func(f model.Feature) {
		op, err := killOpOf(&f)
		if err != nil {
			k.t.Errorf("%s: %v", c.name, err)
		}
		k.mu.Lock()
		if k.observed[f.ID] == nil {
			k.observed[f.ID] = map[uint64]bool{}
		}
		k.observed[f.ID][op.n] = true
		k.mu.Unlock()
	}
	for {
		w := k.writers[rng.IntN(len(k.writers))]
		switch f, err := c.Get(ctx, w.ids[rng.IntN(len(w.ids))]); {
		case err == nil:
			see(f)
		case !errors.Is(err, kv.ErrNotFound):
			return
		}
		x := rng.Float64()*300 - 150
		for f, err := range c.Search(ctx, model.FeatureQuery{Area: query.Box(x, -90, x+30, 90)}) {
			if err != nil {
				return
			}
			see(f)
		}
	}
}
