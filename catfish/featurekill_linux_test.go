package catfish

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
)

// A server process that keeps features is killed under load, again and again. What
// the clients were told is compared with what the next process has.
//
// Each id has one writer, which knows what it should be: the operations that were
// acknowledged, in order, and at most one whose outcome is unknown. With them a
// revision R is looked for that explains all ids:
//
//	id's operations    1 ok    5 ok    9 ok    ? unknown
//	                              R
//	what is left       the state after 5
//
// With SyncAlways R is above all that was acknowledged. Otherwise there must be
// one: what is left is a prefix of what was done, and what came after it is lost.

var kills = flag.Int("kills", 3, "how often TestKilledStore kills a server with sync always")

// Environment of the child: where it listens, its socket, data directory and sync.
const (
	killListen = "CATFISH_TEST_KILL_LISTEN"
	killSocket = "CATFISH_TEST_KILL_SOCKET"
	killDir    = "CATFISH_TEST_KILL_DIR"
	killSync   = "CATFISH_TEST_KILL_SYNC"
)

func killSyncs() []disk.Sync {
	return []disk.Sync{disk.SyncAlways, disk.SyncInterval(5 * time.Millisecond), disk.SyncOff}
}

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

// serveUntilKilled is the child. It ends with its parent.
func serveUntilKilled(t *testing.T) {
	o := ServerOptions{
		Listen: os.Getenv(killListen), SocketPath: os.Getenv(killSocket), DataDir: os.Getenv(killDir),
		Transports: offered, Fabric: testFabric, SlabBytes: 64 << 20, Logger: quiet(),
		Features: map[string]FeaturesOptions{testFeatures: {}},
	}
	for _, s := range killSyncs() {
		if s.String() == os.Getenv(killSync) {
			o.Sync = s
		}
	}
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listens", s.Addr())
	go func() {
		if err := s.WaitReady(t.Context()); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("ready")
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := s.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// killing is a data directory, its server processes, and their clients.
type killing struct {
	t    *testing.T
	sync disk.Sync
	rng  *rand.Rand
	env  []string
	addr string

	cmd   *exec.Cmd
	in    io.Closer
	lines *bufio.Reader

	clients []killClient
	writers []*killWriter
	first   uint64            // above the revisions of the lives before
	given   map[uint64]string // what each revision was given to
	lost    int

	mu       sync.Mutex
	observed map[string]map[uint64]bool // numbers of writes that readers saw, by id
}

type killClient struct {
	path
	*Features
}

func newKilling(t *testing.T, sync disk.Sync) *killing {
	dir := t.TempDir()
	return &killing{
		t: t, sync: sync, rng: rand.New(rand.NewPCG(18, 5)), addr: "127.0.0.1:0",
		env: append(os.Environ(), killSocket+"="+filepath.Join(dir, "s"),
			killDir+"="+filepath.Join(dir, "data"), killSync+"="+sync.String()),
		given: map[uint64]string{}, observed: map[string]map[uint64]bool{},
	}
}

// start starts a server process, and returns when it listens.
func (k *killing) start() {
	k.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledStore$")
	cmd.Env = append(slices.Clone(k.env), killListen+"="+k.addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.cmd, k.in, k.lines = cmd, in, bufio.NewReader(out)
	addr, ok := strings.CutPrefix(k.line(), "listens ")
	if !ok {
		k.t.Fatalf("the child said %q", addr)
	}
	k.addr = addr
}

func (k *killing) line() string {
	l, err := k.lines.ReadString('\n')
	if err != nil {
		k.t.Fatalf("the child said %q, and %v", l, err)
	}
	return strings.TrimSpace(l)
}

func (k *killing) ready() {
	k.t.Helper()
	if l := k.line(); l != "ready" {
		k.t.Fatalf("the child said %q", l)
	}
}

func (k *killing) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
	_ = k.in.Close()
}

const (
	killWriters = 2 // for each client
	killIDs     = 8 // for each writer
)

func (k *killing) run(rounds int) {
	k.start()
	defer func() { k.kill() }()
	k.ready()
	ps := []path{{name: "tcp", transport: TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "offload-cached"} {
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
	writes := 0
	for range rounds {
		writes += k.life()
		if k.t.Failed() {
			return
		}
		k.start()
		if k.rng.IntN(4) == 0 { // while it is loading
			k.kill()
			k.start()
		}
		k.ready()
		k.verify()
	}
	k.t.Logf("%d rounds, %d writes acknowledged, %d lost", rounds, writes, k.lost)
	if k.sync == disk.SyncAlways && writes < 10*rounds {
		k.t.Error("too few writes to say anything")
	}
}

// life has clients write and read until the server is killed, and returns how many
// writes were acknowledged.
func (k *killing) life() int {
	ctx, cancel := context.WithCancel(k.t.Context())
	defer cancel()
	var acked atomic.Int64
	until, reached := int64(20+k.rng.IntN(600)), make(chan struct{})
	done := func() {
		if acked.Add(1) == until {
			close(reached)
		}
	}
	var all, writers sync.WaitGroup
	for _, w := range k.writers {
		writers.Go(func() { w.write(ctx, done) })
	}
	for i, c := range k.clients {
		rng := rand.New(rand.NewPCG(uint64(i), k.rng.Uint64()))
		all.Go(func() { k.observe(ctx, c, rng) })
	}
	ended := make(chan struct{})
	go func() {
		writers.Wait()
		close(ended)
	}()
	select {
	case <-reached:
	case <-ended: // They have failed.
	}
	k.kill()
	cancel()
	writers.Wait()
	all.Wait()
	return int(acked.Load())
}

// killOp is what an operation made of an id.
type killOp struct {
	revision uint64 // 0: unknown, or nothing was there yet
	n, g     uint64 // numbers of the last write, and of the last that set the geometry; 0: absent
}

// killID is what is known of an id.
type killID struct {
	ops   []killOp // acknowledged in this life, after what was there at its begin
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

// killPlace is the feature of a write. It shows a mixture of two.
func killPlace(id string, n, g uint64) Feature {
	f := Feature{ID: id, Properties: fmt.Appendf(nil, `{"again":%d,"g":%d,"n":%d,"pad":%q}`, n, g, n, strings.Repeat("x", int(g%700)))}
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

// killOpOf is the operation that made a feature; it is an error if that is not one.
func killOpOf(f *Feature) (killOp, error) {
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

// write writes until something fails.
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

// ended does an operation and notes what became of it.
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

// many puts some in one message.
func (w *killWriter) many(ctx context.Context, done func()) error {
	var fs []Feature
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

// readOwn: a writer sees what it has written.
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

// observe reads until the server is gone, and notes which writes it saw: those must
// be durable, acknowledged or not.
func (k *killing) observe(ctx context.Context, c killClient, rng *rand.Rand) {
	see := func(f Feature) {
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
		for f, err := range c.Search(ctx, FeatureQuery{Area: store.Box(x, -90, x+30, 90)}) {
			if err != nil {
				return
			}
			see(f)
		}
	}
}

// verify compares what all paths read with what is known, and begins a new life.
func (k *killing) verify() {
	k.t.Helper()
	ctx := k.t.Context()
	var is map[string]killOp
	for _, c := range k.clients {
		got := map[string]killOp{}
		for what, q := range map[string]FeatureQuery{"by area": {Area: store.Box(-180, -90, 180, 90)}, "by id": {Order: store.ByID}} {
			found := map[string]killOp{}
			for f, err := range c.Search(ctx, q) {
				if err != nil {
					k.t.Fatalf("%s, %s: %v", c.name, what, err)
				}
				op, err := killOpOf(&f)
				if _, again := found[f.ID]; err != nil || again {
					k.t.Fatalf("%s, %s: %q: %v, again: %t", c.name, what, f.ID, err, again)
				}
				found[f.ID] = op
			}
			if is == nil {
				is = found
			}
			k.same(c.name+", "+what, found, is)
		}
		for _, w := range k.writers {
			fs, err := c.GetMany(ctx, w.ids)
			if err != nil {
				k.t.Fatalf("%s: get: %v", c.name, err)
			}
			for i := range fs {
				if fs[i].ID == "" {
					continue
				}
				op, err := killOpOf(&fs[i])
				if err != nil {
					k.t.Fatalf("%s: %v", c.name, err)
				}
				got[fs[i].ID] = op
			}
		}
		k.same(c.name+", get", got, is)
	}
	k.explain(is)
	k.begin(is)
}

func (k *killing) same(what string, got, want map[string]killOp) {
	k.t.Helper()
	for id, op := range want {
		if got[id] != op {
			k.t.Errorf("%s: %q is %+v, others see %+v", what, id, got[id], op)
		}
	}
	if len(got) != len(want) {
		k.t.Errorf("%s: %d features, others see %d", what, len(got), len(want))
	}
}

// explain looks for the revision up to which everything is there.
func (k *killing) explain(is map[string]killOp) {
	k.t.Helper()
	ends := []uint64{k.first}
	for _, w := range k.writers {
		for id, i := range w.know {
			for _, op := range i.ops[1:] {
				if op.revision <= k.first {
					k.t.Errorf("revision %d, of write %d to %q, was given before", op.revision, op.n, id)
				}
				k.give(op.revision, id, op)
				ends = append(ends, op.revision)
			}
		}
	}
	slices.Sort(ends)
	last := ends[len(ends)-1]
	why := k.upTo(last, is)
	if why == nil || k.sync == disk.SyncAlways {
		if why != nil {
			k.t.Error(why)
		}
		return
	}
	for i, r := range slices.Backward(ends) {
		if k.upTo(r, is) == nil {
			k.lost += len(ends) - 1 - i
			return
		}
	}
	k.t.Errorf("no revision explains what is left; up to the last, %d: %v", last, why)
}

// give notes whom a revision was given to.
func (k *killing) give(revision uint64, id string, op killOp) {
	to := fmt.Sprintf("write %d to %q", op.n, id)
	if was, ok := k.given[revision]; ok && was != to {
		k.t.Errorf("revision %d was given to %s and %s", revision, was, to)
	}
	k.given[revision] = to
}

// upTo is nil if all that was acknowledged up to a revision is there, and of what
// came later nothing.
func (k *killing) upTo(r uint64, is map[string]killOp) error {
	for _, w := range k.writers {
		for id, i := range w.know {
			want, n := i.ops[0], 1
			for ; n < len(i.ops) && i.ops[n].revision <= r; n++ {
				want = i.ops[n]
			}
			got := is[id]
			if got == want || want.n == 0 && got.n == 0 {
				// It was seen, so it was durable.
				if m := i.maybe; m != nil && m.n != 0 && k.observed[id][m.n] && k.sync == disk.SyncAlways {
					return fmt.Errorf("%q is %+v, and readers saw %+v before", id, got, *m)
				}
				continue
			}
			if m := i.maybe; n == len(i.ops) && m != nil && got.n == m.n && got.g == m.g && (m.n == 0 || got.revision > want.revision) {
				continue
			}
			return fmt.Errorf("%q is %+v, want %+v, or %+v", id, got, want, i.maybe)
		}
	}
	return nil
}

// begin takes what is there for the begin of the next life.
func (k *killing) begin(is map[string]killOp) {
	if k.sync != disk.SyncAlways {
		// Revisions of writes that are lost are given again.
		k.given, k.first = map[uint64]string{}, 0
	}
	for id, op := range is {
		k.give(op.revision, id, op)
	}
	for r := range k.given {
		k.first = max(k.first, r)
	}
	clear(k.observed)
	for _, w := range k.writers {
		for id, i := range w.know {
			*i = killID{ops: []killOp{is[id]}}
		}
	}
}
