package client

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// A server process that keeps boxes is killed under load, as TestKilledStore does with
// features, using the same process (serveUntilKilled).
//
// Each writer has ids of its own, and does its operations in order. So the boxes that
// are left of it must be the result of some number of its operations, from the first
// on: all that were acknowledged, with SyncAlways, and perhaps the one whose outcome is
// unknown, completely.

func TestKilledBoxes(t *testing.T) {
	for _, sync := range killSyncs() {
		rounds := *kills
		if sync != disk.SyncAlways {
			rounds = min(1, rounds)
		}
		t.Run("sync="+sync.String(), func(t *testing.T) {
			(&boxKilling{killedServer: newKilledServer(t, sync)}).run(rounds)
		})
	}
}

type boxKilling struct {
	*killedServer
	clients []*Client
	names   []string
	writers []*boxWriter

	mu       sync.Mutex
	observed map[rstar.Item]bool
}

// boxOp removes boxes and adds others.
type boxOp struct{ out, in []rstar.Item }

func (o boxOp) apply(b bag) {
	for _, it := range o.out {
		b.take(it)
	}
	for _, it := range o.in {
		b[it]++
	}
}

type boxWriter struct {
	t     *testing.T
	c     *Client
	name  string
	rng   *rand.Rand
	id    uint64 // upper half of its ids
	n     int    // number of the last write: no two share a rectangle
	begun bag    // at the start of this life
	is    bag    // begun, changed by ops
	ops   []boxOp
	maybe *boxOp
}

func (k *boxKilling) run(rounds int) {
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
		// A collection may be empty when the server was killed early.
		o.OnRestart = func(context.Context, ServerInfo, ServerInfo) error { return nil }
		conn, err := Dial(k.t.Context(), k.addr, o)
		if err != nil {
			k.t.Fatal(err)
		}
		defer conn.Close()
		c, err := conn.Collection(testKept)
		if err != nil {
			k.t.Fatal(err)
		}
		k.clients, k.names = append(k.clients, c), append(k.names, p.name)
		for range killWriters {
			i := uint64(len(k.writers))
			k.writers = append(k.writers, &boxWriter{
				t: k.t, c: c, name: p.name, rng: rand.New(rand.NewPCG(i, 4)), id: i << 32, begun: bag{}, is: bag{},
			})
		}
	}
	k.again(rounds, k.life, k.verify)
}

// life runs clients that write and read until the server is killed.
func (k *boxKilling) life() (writes int) {
	k.observed = map[rstar.Item]bool{}
	return k.untilKilled(func(ctx context.Context, done func(), writers, readers *sync.WaitGroup) {
		for _, w := range k.writers {
			writers.Go(func() { w.write(ctx, done) })
		}
		for _, c := range k.clients {
			readers.Go(func() { k.observe(ctx, c) })
		}
	})
}

// some returns one of the writer's boxes.
func (w *boxWriter) some() (it rstar.Item, ok bool) {
	for it = range w.is {
		return it, true
	}
	return it, false
}

func (w *boxWriter) new() rstar.Item {
	w.n++
	return rstar.Item{Rect: square(float64(w.n), float64(w.id>>32)), ID: w.id + uint64(w.rng.IntN(4))}
}

// write writes until an operation fails.
func (w *boxWriter) write(ctx context.Context, done func()) {
	for {
		var op boxOp
		var err error
		found := true
		at, some := w.some()
		switch n := w.rng.IntN(6); {
		case n == 0:
			it := w.new()
			for range 1 + w.rng.IntN(20) {
				op.in = append(op.in, it, w.new())
			}
			_, err = w.c.InsertMany(ctx, op.in)
		case n < 3 && some:
			op.out = []rstar.Item{at}
			found, err = w.c.Delete(ctx, at.Rect, at.ID)
		case n < 4 && some:
			to := w.new()
			to.ID = at.ID
			op = boxOp{[]rstar.Item{at}, []rstar.Item{to}}
			found, err = w.c.Update(ctx, at.Rect, to.Rect, at.ID)
		default:
			op.in = []rstar.Item{w.new()}
			err = w.c.Insert(ctx, op.in[0].Rect, op.in[0].ID)
		}
		switch {
		case err != nil:
			if !RetrySafe(err) {
				w.maybe = &op
			}
			return
		case !found:
			w.t.Errorf("%s: %v is not there", w.name, at)
			return
		}
		op.apply(w.is)
		w.ops = append(w.ops, op)
		done()
	}
}

// observe reads until the server is killed, and notes which boxes it saw: these must
// be durable.
func (k *boxKilling) observe(ctx context.Context, c *Client) {
	for {
		items, err := c.Search(ctx, allBoxes)
		if err != nil {
			return
		}
		k.mu.Lock()
		for _, it := range items {
			k.observed[it] = true
		}
		k.mu.Unlock()
	}
}

// verify compares the results of all paths with the known operations, and begins a new life.
func (k *boxKilling) verify() {
	k.t.Helper()
	var is bag
	for i, c := range k.clients {
		items, err := c.Search(k.t.Context(), allBoxes)
		if err != nil {
			k.t.Fatalf("%s: %v", k.names[i], err)
		}
		got := bagOf(items)
		if is == nil {
			is = got
		}
		if !maps.Equal(got, is) {
			k.t.Errorf("%s: %d boxes, others see %d", k.names[i], len(got), len(is))
		}
	}
	if err := k.clients[0].Check(k.t.Context()); err != nil {
		k.t.Error(err)
	}
	of := make([]bag, len(k.writers))
	for i := range of {
		of[i] = bag{}
	}
	for it, n := range is {
		of[it.ID>>32][it] = n
	}
	for i, w := range k.writers {
		if err := k.explain(w, of[i]); err != nil {
			k.t.Errorf("%s, writer %d: %v", w.name, i, err)
		}
		w.begun, w.is, w.ops, w.maybe = of[i], maps.Clone(of[i]), nil, nil
	}
}

// explain finds how many of the writer's operations result in the boxes got.
func (k *boxKilling) explain(w *boxWriter, got bag) error {
	always := k.sync == disk.SyncAlways
	if m := w.maybe; m != nil {
		seen := false
		for _, it := range m.in {
			seen = seen || k.observed[it]
		}
		with := maps.Clone(w.is)
		m.apply(with)
		if maps.Equal(got, with) {
			return nil
		}
		if seen && always {
			return fmt.Errorf("%+v was seen, and is not there", *m)
		}
	}
	if maps.Equal(got, w.is) {
		return nil
	}
	if !always {
		state := maps.Clone(w.begun)
		for i := range len(w.ops) + 1 {
			if maps.Equal(got, state) {
				k.lost += len(w.ops) - i
				return nil
			}
			if i < len(w.ops) {
				w.ops[i].apply(state)
			}
		}
	}
	return fmt.Errorf("no number of the %d operations explains %d boxes, want %d", len(w.ops), len(got), len(w.is))
}
