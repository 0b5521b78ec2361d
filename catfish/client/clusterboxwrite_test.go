package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// halves are two groups with the western and the eastern half of what is around (0, 0).
func halves(t *testing.T) (k *testCluster, c *Client) {
	t.Helper()
	k = startCluster(t, "a", "b")
	var some []rstar.Item
	for i := range 100 {
		some = append(some, rstar.Item{Rect: squareAt(float64(i)/10-4.95, 0.5, 1)})
	}
	k.place(t, testRoads, some, k.groups...)
	c = k.dial(t, k.addr(0), Options{})
	if err := c.CreateBoxes(t.Context(), testRoads, model.BoxesOptions{Keep: true}); err != nil {
		t.Fatal(err)
	}
	c, err := c.Collection(testRoads)
	if err != nil {
		t.Fatal(err)
	}
	return k, c
}

func (k *testCluster) boxesOf(t *testing.T, g int) int {
	t.Helper()
	b, err := k.groups[g].s.Kept(testRoads)
	if err != nil {
		t.Fatal(err)
	}
	return b.Tree().Len()
}

// A box is written in the group of its centre; one that moves to another group is in one of
// them, and one that is not there is put nowhere.
func TestWritesOfBoxesToSeveralGroups(t *testing.T) {
	k, c := halves(t)
	ctx := t.Context()
	west, east, farther := squareAt(-3, 0.5, 1), squareAt(3, 0.5, 1), squareAt(4, 0.5, 0.5)
	in := func(a, b int, of ...rstar.Rect) {
		t.Helper()
		if a != k.boxesOf(t, 0) || b != k.boxesOf(t, 1) {
			t.Errorf("the groups have %d and %d boxes, want %d and %d", k.boxesOf(t, 0), k.boxesOf(t, 1), a, b)
		}
		items, err := c.Search(ctx, world)
		if err != nil || len(items) != len(of) {
			t.Fatalf("%v, %v", items, err)
		}
		for _, r := range of {
			if !slices.ContainsFunc(items, func(it rstar.Item) bool { return it.Rect == r }) {
				t.Errorf("%v is not among %v", r, items)
			}
		}
	}
	did := func(want bool, is bool, err error) {
		t.Helper()
		if is != want || err != nil {
			t.Errorf("%v, %v, want %v", is, err, want)
		}
	}
	if err := c.Insert(ctx, west, 1); err != nil {
		t.Fatal(err)
	}
	in(1, 0, west)
	found, err := c.Update(ctx, west, east, 1)
	did(true, found, err)
	in(0, 1, east)
	found, err = c.Update(ctx, east, farther, 1)
	did(true, found, err)
	in(0, 1, farther)
	found, err = c.Update(ctx, east, west, 1) // it is not there
	did(false, found, err)
	in(0, 1, farther)
	found, err = c.Delete(ctx, east, 1)
	did(false, found, err)
	if err := c.Insert(ctx, squareAt(-3, 0, 1.01), 2); !errors.Is(err, rstar.ErrBadRect) || !RetrySafe(err) {
		t.Errorf("a box that searches do not expect: %v", err)
	}
	found, err = c.Update(ctx, farther, squareAt(-3, 0, 1.01), 1)
	if found || !errors.Is(err, rstar.ErrBadRect) {
		t.Errorf("a box that grows: %v, %v", found, err)
	}
	in(0, 1, farther)
	found, err = c.Delete(ctx, squareAt(-3, 0, 2), 1) // larger than any
	did(false, found, err)
	n, err := c.InsertMany(ctx, []rstar.Item{{Rect: west, ID: 1}, {Rect: east, ID: 2}, {Rect: west, ID: 1}})
	if n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	in(2, 2, west, west, east, farther)
	if n, err := c.InsertMany(ctx, []rstar.Item{{Rect: east}, {Rect: squareAt(-1, 0, 3)}}); n != 0 || !errors.Is(err, model.ErrUnknownOutcome) || !errors.Is(err, rstar.ErrBadRect) {
		t.Errorf("one group refuses its part: %d, %v", n, err)
	}
	found, err = c.Delete(ctx, farther, 1)
	did(true, found, err)
	if _, err := c.Count(ctx, rstar.Rect{MinX: 1}); !errors.Is(err, rstar.ErrBadRect) {
		t.Error(err)
	}
}

// A write waits for a group that has not read the map yet, and a group refuses what is not its
// own.
func TestGroupsTakeTheirOwnBoxes(t *testing.T) {
	k, c := halves(t)
	ctx := t.Context()
	west, east := squareAt(-3, 0.5, 1), squareAt(3, 0.5, 1)
	group := func(g int) *Client {
		v := c.conn.cluster.view.Load()
		conn, err := c.conn.cluster.conn(ctx, v, g)
		if err != nil {
			t.Fatal(err)
		}
		return &Client{conn: conn, collection: testRoads}
	}
	for what, do := range map[string]func(c *Client) error{
		"insert": func(c *Client) error { return c.Insert(ctx, east, 1) },
		"delete": func(c *Client) error { _, err := c.Delete(ctx, east, 1); return err },
		"update": func(c *Client) error { _, err := c.Update(ctx, west, east, 1); return err },
		"move":   func(c *Client) error { _, err := c.Update(ctx, east, west, 1); return err },
		"many": func(c *Client) error {
			_, err := c.InsertMany(ctx, []rstar.Item{{Rect: west}, {Rect: east}})
			return err
		},
	} {
		if err := do(group(0)); !errors.Is(err, model.ErrMoved) || !RetrySafe(err) {
			t.Errorf("%s at another group: %v", what, err)
		}
	}
	if k.boxesOf(t, 0) != 0 {
		t.Errorf("%d boxes", k.boxesOf(t, 0))
	}
	for g, s := range []*server.Server{k.groups[0].s, k.groups[1].s} {
		for of, r := range []rstar.Rect{west, east} {
			if err := s.TakesBox(testRoads, r, true); (err == nil) != (of == g) || err != nil && !errors.Is(err, model.ErrMoved) {
				t.Errorf("group %d, of %d: %v", g, of, err)
			}
		}
		if err := s.TakesBox("rails", west, true); !errors.Is(err, placement.ErrUnknown) {
			t.Error(err)
		}
	}
	// One group reads the next map later than the other.
	k.place(t, "rails", []rstar.Item{{Rect: west}, {Rect: east}}, k.groups[0])
	time.AfterFunc(30*time.Millisecond, func() { k.publish(t, k.groups[1]) })
	if err := c.CreateCollection(ctx, "rails"); err != nil {
		t.Fatal(err)
	}
	rails, err := c.Collection("rails")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := rails.InsertMany(ctx, []rstar.Item{{Rect: west}, {Rect: east}}); n != 2 || err != nil {
		t.Error(n, err)
	}
	if n, err := rails.Count(ctx, world); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// Groups that do not have an area are not needed for a search of it.
func TestSearchesOfBoxesWhileAGroupIsDown(t *testing.T) {
	k, c := halves(t)
	ctx := t.Context()
	west, east := squareAt(-3, 0.5, 1), squareAt(3, 0.5, 1)
	for i, r := range []rstar.Rect{west, east} {
		if err := c.Insert(ctx, r, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	k.groups[1].s.Close()
	if n, err := c.Count(ctx, west); n != 1 || err != nil {
		t.Error(n, err)
	}
	if near, err := c.Nearest(ctx, -3, 0.5, 1); len(near) != 1 || err != nil {
		t.Error(near, err)
	}
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	n, err := c.InsertMany(soon, []rstar.Item{{Rect: east}, {Rect: west}})
	var part *wire.PartlyDone
	if n != 0 || !errors.Is(err, model.ErrUnknownOutcome) || errors.As(err, &part) || RetrySafe(err) {
		t.Errorf("a group is down: %d, %v", n, err)
	}
	if _, err := c.Search(soon, world); err == nil {
		t.Error("a search without a group that has a part")
	}
}

// A write to several groups may have been done if that is not known of one of them, although
// another one was never reached, and failed before.
func TestUnknownOutcomeOfOneGroup(t *testing.T) {
	k, f, all := oneOfEach(t)
	ctx := t.Context()
	k.groups[1].s.Close()
	k.groups[0].s.PauseWorkers()
	defer k.groups[0].s.ResumeWorkers()
	var under sync.WaitGroup // Each waits for a second until the group that is down counts as such.
	for what, write := range map[string]func(ctx context.Context) error{
		"put":    func(ctx context.Context) error { _, err := f.PutMany(ctx, all); return err },
		"delete": func(ctx context.Context) error { _, err := f.DeleteWhere(ctx, model.FeatureQuery{}); return err },
	} {
		under.Go(func() {
			soon, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			if err := write(soon); !errors.Is(err, model.ErrUnknownOutcome) || RetrySafe(err) {
				t.Errorf("%s: %v, safe to repeat: %v", what, err, RetrySafe(err))
			}
		})
	}
	under.Wait()
}
