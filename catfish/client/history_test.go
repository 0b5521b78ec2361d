package client

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/history"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/faulty"
	"github.com/catfish-index/catfish/rstar"
)

// crowds is how many crowded arenas there are.
const crowds = 3

// TestHistories: clients of every path search while writers insert,
// delete and update; the observed states of each object must be linearizable
// (DESIGN section 4, the three promises). In the crowded arenas objects
// are few and nodes small, so that nearly every write splits, reinserts,
// condenses or moves something under the readers; the others are pieces
// of real and generated maps.
func TestHistories(t *testing.T) {
	ps := paths()
	for _, tr := range oneSided {
		for _, p := range []string{"offload", "offload-single", "offload-cached", "paper"} {
			ps = append(ps, path{name: tr + "/torn/" + p, transport: tr, policy: p, wrap: tearing})
		}
	}
	for seed := range uint64(crowds+catfishtest.RaceFactor-1) / catfishtest.RaceFactor {
		if testing.Short() && seed == 1 {
			return // an emulated machine is slow, and small
		}
		testHistory(t, ps, seed, crowded(seed), server.Options{Workers: 2})
	}
	for i, d := range some(exactSets()) {
		seed := uint64(crowds + i)
		testHistory(t, ps, seed, piece(d, seed), server.Options{Workers: 2})
	}
}

// TestPollingHistories: the same when workers poll, and when each connection
// has a worker of its own.
func TestPollingHistories(t *testing.T) {
	testHistory(t, pollingPaths(), seeds, crowded(seeds), server.Options{Workers: 2})
}

func TestWorkerPerConnectionHistories(t *testing.T) {
	moreProcs(t, 20)
	ps := pollingPaths()
	for _, tr := range oneSided {
		ps = append(ps, path{name: tr + "/fast", transport: tr, policy: "fast"},
			path{name: tr + "/fetch", transport: tr, policy: "fetch"})
	}
	testHistory(t, ps, seeds+1, crowded(seeds+1), server.Options{WorkerPerConnection: true})
}

// TestKeptHistories: the same for a kept collection. No reader sees a write that
// is not durable yet, nor misses one that was acknowledged.
func TestKeptHistories(t *testing.T) {
	seed := uint64(seeds + 2)
	testHistory(t, paths(), seed, crowded(seed), server.Options{
		Workers: 2, DataDir: t.TempDir(), Keep: []string{model.DefaultCollection},
	})
}

// writable returns the default collection, and its functions to write.
func writable(t *testing.T, s *server.Server) (tr *rstar.Tree, load func([]rstar.Item) error, insert func(rstar.Rect, uint64) error) {
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Kept(model.DefaultCollection)
	if errors.Is(err, model.ErrKind) {
		tr = tree(t, s)
		return tr, tr.Load, tr.Insert
	}
	if err != nil {
		t.Fatal(err)
	}
	return kept.Tree(), kept.Load, kept.Insert
}

// arena is where a history takes place: tracked objects come and go in
// box, among untracked ones that stay.
type arena struct {
	name      string
	nodeBytes int
	box       rstar.Rect
	stay      []rstar.Item
}

func crowded(seed uint64) arena {
	a := arena{name: "crowded", nodeBytes: 704, box: rstar.Rect{MaxX: 1, MaxY: 1}}
	r := rand.New(rand.NewPCG(seed, 3))
	for range 600 {
		a.stay = append(a.stay, rstar.Item{Rect: a.place(r), ID: untracked + uint64(len(a.stay))})
	}
	return a
}

// piece is a whole data set, in which the history takes place in a box with some
// 1,000 objects.
func piece(d exactSet, seed uint64) arena {
	r := rand.New(rand.NewPCG(seed, 4))
	items := d.groups[0].items
	a := arena{name: d.name, box: items[r.IntN(len(items))].Rect}
	for in := 0; in < 1000; {
		a.box = rstar.Rect{MinX: a.box.MinX - 1e-3, MinY: a.box.MinY - 1e-3, MaxX: a.box.MaxX + 1e-3, MaxY: a.box.MaxY + 1e-3}
		in = 0
		for _, it := range items {
			if it.Rect.Intersects(a.box) {
				in++
			}
		}
	}
	for i, it := range items {
		a.stay = append(a.stay, rstar.Item{Rect: it.Rect, ID: untracked + uint64(i)})
	}
	return a
}

// place returns a small random rectangle in the arena.
func (a *arena) place(r *rand.Rand) rstar.Rect {
	return a.part(r, 0.01*r.Float64(), 0.01*r.Float64())
}

// part is a rectangle in the box with the given shares of its edges.
func (a *arena) part(r *rand.Rand, w, h float64) rstar.Rect {
	dx, dy := a.box.MaxX-a.box.MinX, a.box.MaxY-a.box.MinY
	x, y := a.box.MinX+dx*(1-w)*r.Float64(), a.box.MinY+dy*(1-h)*r.Float64()
	return rstar.Rect{MinX: x, MinY: y, MaxX: x + dx*w, MaxY: y + dy*h}
}

// tearOptions tears most reads into pieces, and lets completions arrive
// late and out of order between read channels.
var tearOptions = faulty.Options{Seed: 1, TornRead: 0.7, MaxPieces: 6, LateCompletion: 0.1, Reorder: 0.5}

func tearing(d rdma.Device) rdma.Device {
	return faulty.Wrap(d, tearOptions)
}

// pace keeps quick paths from filling the history while writers do little:
// a path makes at most two searches per step of the writers.
type pace struct {
	mu    sync.Mutex
	cond  *sync.Cond
	steps int64
	final bool // writers are done
}

func newPace() *pace {
	p := &pace{}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *pace) step(final bool) {
	p.mu.Lock()
	p.steps, p.final = p.steps+1, p.final || final
	p.mu.Unlock()
	p.cond.Broadcast()
}

// wait delays a path that has made n searches.
func (p *pace) wait(n int64) (final bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n > 2*p.steps+5 && !p.final {
		p.cond.Wait()
	}
	return p.final
}

// Objects 0..tracked-1 are checked; ids from untracked on only make the
// tree deep.
const (
	tracked   = 36 // of which the first 24 exist from the start
	present   = 24
	untracked = 1 << 20
)

func testHistory(t *testing.T, ps []path, seed uint64, a arena, opts server.Options) {
	opts.NodeBytes = a.nodeBytes
	s := startServer(t, opts)
	r := rand.New(rand.NewPCG(seed, 2))
	tr, load, insert := writable(t, s)
	if err := load(a.stay); err != nil {
		t.Fatal(err)
	}
	initial := make(map[uint64]rstar.Rect)
	for id := range uint64(present) {
		initial[id] = a.place(r)
		if err := insert(initial[id], id); err != nil {
			t.Fatal(err)
		}
	}
	h := history.New()
	ctx := t.Context()
	pace := newPace()
	var searches sync.WaitGroup
	var writers sync.WaitGroup
	counts := make([]atomic.Int64, len(ps))
	for i, p := range ps {
		c := dial(t, s, p.options())
		searches.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(100+i)))
			for left := 2; left > 0; { // two more when writers are done
				if pace.wait(counts[i].Load()) {
					left--
				}
				q := a.part(r, 0.6, 0.6)
				if r.IntN(3) == 0 {
					q = a.box
				}
				call := h.Now()
				items, err := c.Search(ctx, q)
				if err != nil {
					t.Errorf("%s: %v", p.name, err)
					return
				}
				h.Search(i, call, q, tracked, items)
				counts[i].Add(1)
			}
		})
	}
	// Each writer owns some objects, so it knows where they are.
	const perWriter = max(30/catfishtest.RaceFactor, 12)
	for w, p := range []path{{transport: model.TransportSHM}, {transport: model.TransportSoft}, {transport: model.TransportTCP, policy: "tcp"}} {
		c := dial(t, s, p.options())
		r := rand.New(rand.NewPCG(seed, uint64(200+w)))
		writers.Go(func() {
			at := make(map[uint64]rstar.Rect)
			for id, p := range initial {
				if id%3 == uint64(w) {
					at[id] = p
				}
			}
			var fresh []uint64
			for id := uint64(present); id < tracked; id++ {
				if id%3 == uint64(w) {
					fresh = append(fresh, id)
				}
			}
			extra := uint64(untracked + 10_000_000*(w+1))
			for range perWriter {
				pace.step(false)
				writeTracked(t, h, c, r, 1000+w, uint64(w), at, &fresh, &a)
				// And a crowd of untracked ones comes and goes.
				var crowd []rstar.Rect
				for range 5 {
					crowd = append(crowd, a.place(r))
					if err := c.Insert(ctx, crowd[len(crowd)-1], extra+uint64(len(crowd))); err != nil {
						t.Errorf("insert: %v", err)
					}
				}
				for i, at := range crowd {
					if ok, err := c.Delete(ctx, at, extra+uint64(i)+1); err != nil || !ok {
						t.Errorf("delete: %v, %v", ok, err)
					}
				}
			}
		})
	}
	writers.Wait()
	pace.step(true)
	searches.Wait()
	for i, p := range ps {
		if counts[i].Load() < 3 { // two come after the writers
			t.Errorf("%s: only %d searches", p.name, counts[i].Load())
		}
	}
	ran := time.Now()
	if err := h.Check(initial); err != nil {
		t.Errorf("%s, seed %d: %v", a.name, seed, err)
	}
	t.Logf("%s, seed %d: %d operations, checked in %v", a.name, seed, h.Len(), time.Since(ran))
	for i, p := range ps {
		t.Logf("  %-28s %6d searches", p.name, counts[i].Load())
	}
	if err := tr.Check(); err != nil {
		t.Error(err)
	}
}

// writeTracked changes one of the writer's tracked objects. A deleted object does not
// come back: inserted again it would be another object, and a search may see the end
// of the first and the begin of the second.
func writeTracked(t *testing.T, h *history.Recorder, c *Client, r *rand.Rand, client int, w uint64, at map[uint64]rstar.Rect, fresh *[]uint64, a *arena) {
	ids := slices.Sorted(maps.Keys(at))
	id := ids[r.IntN(len(ids))]
	from, to := at[id], a.place(r)
	var err error
	ok := true
	call := h.Now()
	switch n := r.IntN(8); {
	case n == 0 && len(*fresh) > 0:
		id, from = (*fresh)[0], history.Absent
		*fresh = (*fresh)[1:]
		err = c.Insert(t.Context(), to, id)
	case n == 1 && len(ids) > 3:
		to = history.Absent
		ok, err = c.Delete(t.Context(), from, id)
	default:
		if n < 4 { // stay near: an update within the leaf
			to = from
			to.MaxX += 0.001 * (a.box.MaxX - a.box.MinX)
		}
		ok, err = c.Update(t.Context(), from, to, id)
	}
	unknown := errors.Is(err, model.ErrUnknownOutcome)
	if err != nil && !unknown {
		t.Errorf("write: %v", err)
		return
	}
	h.Write(client, call, id, from, to, ok, unknown)
	if to == history.Absent {
		delete(at, id)
	} else {
		at[id] = to
	}
}
