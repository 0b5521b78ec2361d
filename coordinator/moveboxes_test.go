package coordinator

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

// boxAnswers are what searches, counts and nearest of boxes return.
func boxAnswers(t *testing.T, c *catfish.Client) (answers []string) {
	t.Helper()
	ctx, rng := t.Context(), rand.New(rand.NewPCG(5, 5))
	for i := range 24 {
		x, y, size := rng.Float64(), rng.Float64(), []float64{.01, .1, .4}[i%3]
		area := rstar.Rect{MinX: x, MinY: y, MaxX: x + size, MaxY: y + size}
		items, err := c.Search(ctx, area)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(items, func(a, b rstar.Item) int { return int(a.ID) - int(b.ID) })
		n, err := c.Count(ctx, area)
		if err != nil {
			t.Fatal(err)
		}
		near, err := c.Nearest(ctx, x, y, 1+i)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, fmt.Sprint(items, n, near))
	}
	return answers
}

// A server, and two groups while a range of boxes is divided and moves, and while one of them gives all
// of its ranges away, give the same answers, by message and one-sidedly; of what is written
// meanwhile nothing is lost, or there twice.
func TestBoxesOfServerAndGroupsAreEqual(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 1))
	var all []rstar.Item
	var seen placement.Survey
	for i := range 3000 {
		x, y := rng.Float64()*rng.Float64(), rng.Float64()
		all = append(all, rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + rng.Float64()*.01, MaxY: y + rng.Float64()*.01}, ID: uint64(i)})
		seen.Add(all[i].Rect)
	}
	open := func(addr string, o catfish.Options) *catfish.Client {
		t.Helper()
		o.Logger = catfishtest.Quiet()
		c, err := catfish.Dial(t.Context(), addr, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.CreateBoxes(t.Context(), "roads", model.BoxesOptions{Keep: true}); err != nil {
			t.Fatal(err)
		}
		of, err := c.Collection("roads")
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	alone := startHere(t, memberOf{Dir: filepath.Join(t.TempDir(), "data"), set: func(o *daemon.Options) { o.Group = daemon.Group{} }})
	c := open(alone.addr, catfish.Options{})
	if n, err := c.InsertMany(t.Context(), all); n != len(all) || err != nil {
		t.Fatal(n, err)
	}
	want := boxAnswers(t, c)

	co := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, co.Addr())
	if _, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	_, err := groupmap.PlaceBoxes(t.Context(), registry, "roads", func(m *placement.Map) (*placement.Map, error) {
		largest := placement.Largest(.01, .01)
		return m.AddBoxes("roads", seen.Extent, seen.Positions(seen.Extent), &largest)
	})
	if err != nil {
		t.Fatal(err)
	}
	addr := inGroupOf(t, co.Addr(), "a", "n1")["n1"].addr
	inGroupOf(t, co.Addr(), "b", "n1")
	clients := map[string]*catfish.Client{
		"by message": open(addr, catfish.Options{Policy: "fast"}),
		"one-sided":  open(addr, catfish.Options{Policy: "offload"}),
	}
	if n, err := clients["by message"].InsertMany(t.Context(), all); n != len(all) || err != nil {
		t.Fatal(n, err)
	}
	same := func(when string) {
		t.Helper()
		for how, c := range clients {
			for i, got := range boxAnswers(t, c) {
				if got != want[i] {
					t.Errorf("%s, %s: answer %d is\n%.300s, a server alone gives\n%.300s", when, how, i, got, want[i])
				}
			}
		}
	}
	same("before")
	// Boxes that are written meanwhile are elsewhere on the plane, and so in the last, or first, place of the curve.
	far := rstar.Rect{MinX: 7, MinY: 7, MaxX: 9, MaxY: 9}
	written := map[uint64]bool{}
	write := func() {
		t.Helper()
		for range 5 {
			id := uint64(1<<20 + len(written))
			r := rstar.Rect{MinX: 8, MinY: 8, MaxX: 8.005, MaxY: 8.005}
			if err := clients["by message"].Insert(t.Context(), r, id); err != nil {
				t.Fatal(err)
			}
			written[id] = true
		}
	}
	moving := func(what string, do func() error) {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- do() }()
		for {
			same("while " + what)
			write()
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(what, err)
				}
				same("after " + what)
				return
			default:
			}
		}
	}
	o := groupmap.Options{Boxes: groupmap.AskBoxLoads(registry, catfish.Options{Transport: catfish.TransportTCP, Logger: catfishtest.Quiet()})}
	_, at, err := groupmap.Split(t.Context(), registry, "roads", groupmap.Cut{Start: new(uint64(0))}, o.Boxes)
	if err != nil {
		t.Fatal(err)
	}
	same("after a range was divided")
	moving("a range moves", func() error {
		_, err := groupmap.Move(t.Context(), registry, []placement.Part{{Collection: "roads", Start: at}}, "a", "b", o)
		return err
	})
	moving("all ranges of a group move", func() error {
		m := readMap(t, registry)
		_, err := groupmap.Move(t.Context(), registry, m.RangesOfOthers(0), "b", "a", o)
		return err
	})
	for how, c := range clients {
		items, err := c.Search(t.Context(), far)
		if err != nil || len(items) != len(written) {
			t.Errorf("%s: %d boxes of %d were found, %v", how, len(items), len(written), err)
		}
		for _, it := range items {
			if !written[it.ID] {
				t.Errorf("%s: box %d was not written", how, it.ID)
			}
		}
		if n, err := c.Count(t.Context(), rstar.Rect{MinX: -9, MinY: -9, MaxX: 9, MaxY: 9}); n != len(all)+len(written) || err != nil {
			t.Errorf("%s: %d boxes, %v", how, n, err)
		}
	}
	m := readMap(t, registry)
	if n := len(m.RangesOfOthers(0)); n != 0 || m.Epoch == 1 {
		t.Errorf("%d ranges are not of a, epoch %d", n, m.Epoch)
	}
}
