package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/querylog/querylogtest"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

const testKept = "kept"

var allBoxes = rstar.Rect{MinX: -1e9, MinY: -1e9, MaxX: 1e9, MaxY: 1e9}

// newKeptLives is lives of a server that keeps boxes.
func newKeptLives(t *testing.T) *lives {
	l := newLives(t)
	l.stop()
	l.opts.SlabBytes, l.opts.DataDir = 64<<20, filepath.Join(t.TempDir(), "data")
	l.opts.Keep, l.opts.BackupDir = []string{testKept}, filepath.Join(t.TempDir(), "backups")
	l.start()
	l.waitReady()
	return l
}

func (l *lives) waitReady() {
	l.t.Helper()
	if err := l.WaitReady(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// bag is a multiset of boxes.
type bag map[rstar.Item]int

func bagOf(items []rstar.Item) bag {
	b := bag{}
	for _, it := range items {
		b[it]++
	}
	return b
}

func (b bag) take(it rstar.Item) bool {
	if b[it] == 0 {
		return false
	}
	if b[it]--; b[it] == 0 {
		delete(b, it)
	}
	return true
}

func (b bag) verify(t *testing.T, c *Client, what string) {
	t.Helper()
	items, err := c.Search(t.Context(), allBoxes)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got := bagOf(items); !maps.Equal(got, b) {
		t.Fatalf("%s: %d boxes, %d different, want %d", what, len(items), len(got), len(b))
	}
}

func dialKept(t *testing.T, s *server.Server, o Options) *Client {
	t.Helper()
	c, err := dial(t, s, o).Collection(testKept)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKeptBoxes: boxes that clients of all paths and the process itself write, equal ones
// among them, exist after each restart, and clients continue without an error: the
// collection is not empty, as one in memory alone would be.
func TestKeptBoxes(t *testing.T) {
	l := newKeptLives(t)
	var clients []*Client
	ps := paths()
	for _, p := range ps {
		clients = append(clients, dialKept(t, l.Server, p.options()))
	}
	ctx, want, r := t.Context(), bag{}, rand.New(rand.NewPCG(18, 4))
	some := func() rstar.Item {
		return rstar.Item{Rect: square(float64(r.IntN(8)), float64(r.IntN(3))), ID: uint64(r.IntN(3))}
	}
	is := func(what string, ok bool, err error, has bool) {
		t.Helper()
		if err != nil || ok != has {
			t.Fatalf("%s: %t, %v, want %t", what, ok, err, has)
		}
	}
	for life := range 3 {
		for i, c := range clients {
			for range 5 {
				a, b, d := some(), some(), some()
				if err := c.Insert(ctx, a.Rect, a.ID); err != nil {
					t.Fatal(err)
				}
				want[a]++
				n, err := c.InsertMany(ctx, []rstar.Item{b, d, b})
				if n != 3 || err != nil {
					t.Fatal(n, err)
				}
				want[b] += 2
				want[d]++
				ok, err := c.Delete(ctx, d.Rect, d.ID)
				is("delete", ok, err, want.take(d))
				from, to := some(), some()
				ok, err = c.Update(ctx, from.Rect, to.Rect, from.ID)
				had := want.take(from)
				is("update", ok, err, had)
				if had {
					to.ID = from.ID
					want[to]++
				}
			}
			want.verify(t, c, fmt.Sprintf("life %d, %s", life, ps[i].name))
		}
		in, err := l.Kept(testKept)
		if err != nil {
			t.Fatal(err)
		}
		it := some()
		if err := in.Insert(it.Rect, it.ID); err != nil {
			t.Fatal(err)
		}
		want[it]++
		l.restart()
		l.waitReady()
		for i, c := range clients {
			want.verify(t, c, fmt.Sprintf("restarted %d, %s", life, ps[i].name))
		}
	}
	if err := clients[0].Check(ctx); err != nil {
		t.Error(err)
	}
}

// TestKeptLoad: a client's Load, and a bulk load by the process.
func TestKeptLoad(t *testing.T) {
	l := newKeptLives(t)
	l.opts.Keep = append(l.opts.Keep, model.DefaultCollection)
	l.restart()
	l.waitReady()
	items := make([]rstar.Item, 3000)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i%700), 0), ID: uint64(i % 1400)} // each twice and more
	}
	c := dialKept(t, l.Server, Options{})
	if n, err := c.Load(t.Context(), slices.Values(items), nil); n != len(items) || err != nil {
		t.Fatal(n, err)
	}
	b, err := l.Kept(model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Load(items); err != nil {
		t.Fatal(err)
	}
	l.restart()
	l.waitReady()
	bagOf(items).verify(t, c, "loaded by a client")
	d, err := c.Collection(model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	bagOf(items).verify(t, d, "loaded by the process")
}

// TestKeptCollections: clients create and drop kept collections durably, and these are
// not the collections in memory alone.
func TestKeptCollections(t *testing.T) {
	l := newKeptLives(t)
	ctx := t.Context()
	c := dial(t, l.Server, Options{Transport: model.TransportTCP})
	keep := model.BoxesOptions{Keep: true}
	for _, name := range []string{"roads", "roads", "rivers"} {
		if err := c.CreateBoxes(ctx, name, keep); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CreateBoxes(ctx, "clouds", model.BoxesOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateBoxes(ctx, "clouds", keep); !errors.Is(err, store.ErrCollectionExists) || !RetrySafe(err) {
		t.Error(err)
	}
	if err := c.CreateFeatures(ctx, "roads", model.FeaturesOptions{}); !errors.Is(err, model.ErrKind) {
		t.Error(err)
	}
	if err := c.CreateFeatures(ctx, "cafes", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateBoxes(ctx, "cafes", keep); !errors.Is(err, model.ErrKind) {
		t.Error(err)
	}
	roads, err := c.Collection("roads")
	if err != nil {
		t.Fatal(err)
	}
	if err := roads.Insert(ctx, square(1, 1), 1); err != nil {
		t.Fatal(err)
	}
	if ok, err := c.DropCollection(ctx, "rivers"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := c.DropCollection(ctx, testKept); ok || !errors.Is(err, model.ErrNotPermitted) {
		t.Error("the server's own: ", ok, err)
	}
	for _, tree := range []func(string) (*rstar.Tree, error){l.Collection, l.CreateCollection} {
		if _, err := tree("roads"); !errors.Is(err, model.ErrNotPermitted) {
			t.Error(err)
		}
	}
	for name, want := range map[string]error{"clouds": model.ErrKind, "cafes": model.ErrKind, "none": model.ErrUnknownCollection} {
		if _, err := l.Kept(name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.restart()
	l.waitReady()
	all, err := c.Collections(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range all {
		names = append(names, fmt.Sprint(i.Name, " ", i.Kept))
	}
	if got := strings.Join(names, ", "); got != "cafes false, default false, kept true, roads true" {
		t.Error(got)
	}
	if items, err := roads.Search(ctx, allBoxes); len(items) != 1 || err != nil {
		t.Error(items, err)
	}
	// A client made it, so a client may drop it, also in another life.
	if ok, err := c.DropCollection(ctx, "roads"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := roads.Insert(ctx, square(1, 1), 1); !errors.Is(err, model.ErrUnknownCollection) {
		t.Error(err)
	}
	l.restart()
	l.waitReady()
	if got := l.Collections(); !slices.Equal(got, []string{"cafes", model.DefaultCollection, testKept}) {
		t.Error(got)
	}
}

// TestKeptOptions: the start fails for a collection that cannot be kept.
func TestKeptOptions(t *testing.T) {
	for what, o := range map[string]server.Options{
		"no directory": {Keep: []string{"a"}},
		"twice":        {DataDir: "d", Keep: []string{"a", "a"}},
		"two kinds":    {DataDir: "d", Keep: []string{"a"}, Records: []string{"a"}, Collections: []string{"a"}},
		"features":     {DataDir: "d", Keep: []string{"a"}, Features: map[string]model.FeaturesOptions{"a": {}}},
		"no name":      {DataDir: "d", Keep: []string{""}},
	} {
		o.Logger = quiet()
		if s, err := server.NewServer(o); !errors.Is(err, model.ErrOption) {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				s.Close()
			}
		}
	}
	s := startServer(t, server.Options{})
	if err := dial(t, s, Options{}).CreateBoxes(t.Context(), "a", model.BoxesOptions{Keep: true}); !errors.Is(err, model.ErrNotPermitted) || !RetrySafe(err) {
		t.Error(err)
	}
	if _, err := s.CreateKept("a"); !errors.Is(err, model.ErrNotPermitted) {
		t.Error(err)
	}
}

// TestKeptCollectionIsNotReplacedByEmpty: if a collection in memory alone has the name of
// one kept in the data directory, the server does not begin to serve an empty one.
func TestKeptCollectionIsNotReplacedByEmpty(t *testing.T) {
	l := newKeptLives(t)
	l.opts.Keep, l.opts.Collections = nil, []string{testKept}
	l.restart()
	if err := l.WaitReady(t.Context()); !errors.Is(err, store.ErrCollectionExists) || !strings.Contains(err.Error(), "--keep") {
		t.Error(err)
	}
	l.opts.Collections = nil // Then it is adopted.
	l.restart()
	l.waitReady()
	if _, err := l.Kept(testKept); err != nil {
		t.Error(err)
	}
}

// TestKeptBackup: boxes are in backups, which can be checked and served.
func TestKeptBackup(t *testing.T) {
	l := newKeptLives(t)
	c := dialKept(t, l.Server, Options{})
	items := []rstar.Item{{Rect: square(1, 1), ID: 1}, {Rect: square(1, 1), ID: 1}, {Rect: square(2, 2), ID: 2}}
	if _, err := c.InsertMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	b, err := c.Backup(t.Context(), "monday")
	if err != nil || b.Collections != 1 || b.Features != 0 || b.Boxes != 2 {
		t.Fatal(b, err)
	}
	if err := c.Insert(t.Context(), square(3, 3), 3); err != nil { // after it
		t.Fatal(err)
	}
	l.stop()
	if r, err := disk.Check(l.opts.DataDir); err != nil || r.Keys != 3 {
		t.Error(r, err)
	}
	to := filepath.Join(t.TempDir(), "restored")
	if r, err := disk.Restore(b.Dir, to); err != nil || r.Keys != 2 {
		t.Fatal(r, err)
	}
	l.opts.DataDir = to
	l.start()
	l.waitReady()
	bagOf(items).verify(t, c, "restored")
}

// TestKeptRecorded: writes that are answered later are in a recording.
func TestKeptRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	s := startServer(t, server.Options{DataDir: t.TempDir(), Keep: []string{testKept}, Record: server.RecordOptions{File: file, Writes: true}})
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, o := range []Options{{Transport: model.TransportTCP}, {Transport: model.TransportSoft, Policy: "fast"}} {
		c := dialKept(t, s, o)
		if _, err := c.InsertMany(ctx, []rstar.Item{{Rect: square(1, 1), ID: 1}, {Rect: square(2, 2), ID: 2}}); err != nil {
			t.Fatal(err)
		}
		if ok, err := c.Update(ctx, square(1, 1), square(3, 3), 1); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if ok, err := c.Delete(ctx, square(2, 2), 2); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := c.Insert(ctx, square(4, 4), 4); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	asked, _, _ := querylogtest.ReadFile(t, file)
	var got []string
	for _, a := range asked {
		got = append(got, fmt.Sprintf("%v %d %v %v %d", a.Kind, a.ID, a.Rect.MinX, a.To.MinX, a.Found))
	}
	one := []string{
		fmt.Sprintf("%v 1 1 0 1", querylog.Insert), fmt.Sprintf("%v 2 2 0 1", querylog.Insert),
		fmt.Sprintf("%v 1 1 3 1", querylog.Update), fmt.Sprintf("%v 2 2 0 1", querylog.Delete), fmt.Sprintf("%v 4 4 0 1", querylog.Insert),
	}
	if want := slices.Concat(one, one); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestKeptWriteDoesNotBlockWorker: while a write waits, for the disk or in the commit queue, its
// connection is served, and no read sees the write.
func TestKeptWriteDoesNotBlockWorker(t *testing.T) {
	l := newKeptLives(t)
	l.opts.Workers = 1
	l.restart()
	l.waitReady()
	b, err := l.Kept(testKept)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range []path{{transport: model.TransportTCP, policy: "tcp"}, {transport: oneSided[0], policy: "fast"}, {transport: oneSided[0], policy: "offload"}} {
		c := dialKept(t, l.Server, p.options())
		inside, release := make(chan struct{}), make(chan struct{})
		b.DeleteLater(square(-1, -1), 1, func(bool, error) { // the commit leader calls it
			close(inside)
			<-release
		})
		<-inside
		done := make(chan error)
		go func() { done <- c.Insert(t.Context(), square(1, 1), 1) }()
		// Before and after the insert joins the commit queue.
		for range 200 {
			if n, err := c.Count(t.Context(), allBoxes); n != i || err != nil {
				t.Error(n, err)
			}
		}
		select {
		case err := <-done:
			t.Error("acknowledged, ", err)
		default:
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n, err := c.Count(t.Context(), allBoxes); n != i+1 || err != nil {
			t.Error(n, err)
		}
	}
}

// TestKeptInFlight: writes of one connection wait for the disk at the same time.
func TestKeptInFlight(t *testing.T) {
	l := newKeptLives(t)
	for _, p := range paths()[:2] {
		c := dialKept(t, l.Server, p.options())
		const n = 300
		errs := make(chan error, n)
		for i := range n {
			go func() { errs <- c.Insert(context.WithoutCancel(t.Context()), square(float64(i), 0), uint64(i)) }()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := l.Kept(testKept)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Tree().Len(); got != 600 {
		t.Errorf("%d boxes, want 600", got)
	}
}
