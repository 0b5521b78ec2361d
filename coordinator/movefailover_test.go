package coordinator

import (
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
)

// The primary of the source, or of the destination, changes at a step of a move: the next one
// continues, and nothing is lost.
func TestSlotsMoveWhilePrimariesChange(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	if _, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{}
	begin := func(group, name string) *member {
		dir := dirs[group+name]
		if dir == "" {
			dir = filepath.Join(t.TempDir(), "data")
			dirs[group+name] = dir
		}
		return startHere(t, memberOf{Coordinator: c.Addr(), Node: name, Dir: dir, set: func(o *daemon.Options) { o.Group.Name = group }})
	}
	members := map[string]map[string]*member{"a": {}, "b": {}}
	for group, of := range members {
		for _, name := range []string{"n1", "n2"} {
			of[name] = begin(group, name)
		}
	}
	inSync := func() bool {
		return len(groupNamed(t, registry, "a").InSync) == 2 && len(groupNamed(t, registry, "b").InSync) == 2
	}
	catfishtest.Eventually(t, "all members are in sync", inSync)
	client, err := catfish.Dial(t.Context(), members["a"]["n1"].addr+","+members["a"]["n2"].addr, catfish.Options{Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	places, err := client.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	w := startWriters(t, places, 2)
	names := []string{"a", "b"}
	for i, c := range []struct {
		step placement.Step
		side int // whose primary changes: 0 the source's, 1 the destination's
	}{{placement.Copy, 0}, {placement.CatchUp, 1}, {placement.Freeze, 1}, {placement.Wait, 0}} {
		from := placement.Index(i % 2)
		moveHalf(t, registry, from, 1-from)
		catfishtest.Eventually(t, "the move is at "+c.step.String(), func() bool {
			m := readMap(t, registry)
			return len(m.Moves) == 0 || m.Moves[0].Step >= c.step
		})
		group := names[(i+c.side)%2]
		primary := groupNamed(t, registry, group).Primary
		members[group][primary].close()
		catfishtest.Eventually(t, "the moves have ended", func() bool { return len(readMap(t, registry).Moves) == 0 })
		members[group][primary] = begin(group, primary)
		catfishtest.Eventually(t, "all members are in sync", inSync)
	}
	w.end()
}
