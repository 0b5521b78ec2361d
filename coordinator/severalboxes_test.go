package coordinator

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

// Boxes are in the group of their centres: those that members load at their start, and those
// of clients, which stay after a failover.
func TestBoxesOfSeveralGroups(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	if _, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	const boxes = 100
	var all []rstar.Item
	var seen placement.Survey
	for i := range boxes {
		all = append(all, rstar.Item{Rect: catfishtest.Square(float64(i), 0), ID: uint64(i)})
		seen.Add(all[i].Rect)
	}
	largest := placement.Largest(10, 10)
	place := func(name string) {
		t.Helper()
		_, err := groupmap.PlaceBoxes(t.Context(), registry, name, func(m *placement.Map) (*placement.Map, error) {
			return m.AddBoxes(name, seen.Extent, seen.Positions(seen.Extent), &largest)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	place("loaded")
	load := func(_ context.Context, s *server.Server) error {
		tree, err := s.Collection("loaded")
		for _, it := range all {
			if err == nil && s.TakesBox("loaded", it.Rect, true) == nil {
				err = tree.Insert(it.Rect, it.ID)
			}
		}
		return err
	}
	members := map[string]*member{}
	for _, n := range []string{"a1", "a2", "b1"} {
		members[n] = startHere(t, memberOf{Coordinator: c.Addr(), Node: n, Dir: filepath.Join(t.TempDir(), "data"),
			set: func(o *daemon.Options) {
				o.Group.Name, o.Load, o.Server.Collections = n[:1], load, []string{"loaded"}
			}})
	}
	for _, n := range []string{"a1", "a2", "b1"} {
		if tree, err := members[n].daemon.Server().Collection("loaded"); err != nil || tree.Len() != boxes/2 {
			t.Errorf("%s has loaded %d boxes, %v", n, tree.Len(), err)
		}
	}
	catfishtest.Eventually(t, "both members of a are in sync", func() bool { return len(groupNamed(t, registry, "a").InSync) == 2 })
	client, err := catfish.Dial(t.Context(), members["b1"].addr, catfish.Options{Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	place("kept") // after the members have read the map
	catfishtest.Eventually(t, "the members have read the map", func() bool {
		return client.CreateBoxes(t.Context(), "kept", model.BoxesOptions{Keep: true}) == nil
	})
	count := func(name string, want int) {
		t.Helper()
		of, err := client.Collection(name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := of.Count(t.Context(), seen.Extent); n != want || err != nil {
			t.Errorf("%d boxes %s, %v, want %d", n, name, err, want)
		}
	}
	kept, err := client.Collection("kept")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := kept.InsertMany(t.Context(), all); n != boxes || err != nil {
		t.Fatal(n, err)
	}
	count("loaded", boxes)
	count("kept", boxes)
	for n, m := range members {
		catfishtest.Eventually(t, n+" has its group's boxes", func() bool {
			b, err := m.daemon.Server().Kept("kept")
			return err == nil && b.Tree().Len() == boxes/2
		})
	}
	members["a1"].close() // hands over
	count("loaded", boxes)
	count("kept", boxes)
	if ok, err := kept.Delete(t.Context(), all[3].Rect, all[3].ID); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := kept.Update(t.Context(), all[5].Rect, all[95].Rect, all[5].ID); !ok || err != nil {
		t.Error(ok, err)
	}
	count("kept", boxes-1)
}
