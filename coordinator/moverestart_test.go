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

// A member that was away while slots moved to its group applies their copies with the latest map. It
// serves them when it becomes the primary.
func TestMemberAwayDuringMoves(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	if _, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	addr := inGroupOf(t, c.Addr(), "a", "n1")["n1"].addr
	inGroupOf(t, c.Addr(), "b", "n1")
	second := memberOf{Coordinator: c.Addr(), Node: "n2", Dir: filepath.Join(t.TempDir(), "data"), set: func(o *daemon.Options) { o.Group.Name = "b" }}
	inSync := func(n int) func() bool {
		return func() bool { return len(groupNamed(t, registry, "b").InSync) == n }
	}
	away := startHere(t, second)
	catfishtest.Eventually(t, "both members are in sync", inSync(2))
	client, err := catfish.Dial(t.Context(), addr, catfish.Options{Logger: catfishtest.Quiet()})
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
	catfishtest.Eventually(t, "there are writes", func() bool { return w.writes.Load() > 400 })
	away.close()
	catfishtest.Eventually(t, "one is away", inSync(1))
	moveHalf(t, registry, 0, 1)
	catfishtest.Eventually(t, "the moves have ended", func() bool { return len(readMap(t, registry).Moves) == 0 })
	startHere(t, second)
	catfishtest.Eventually(t, "both members are in sync again", inSync(2))
	switchTo(t, registry, "b", "n2")
	catfishtest.Eventually(t, "it is the primary", func() bool { return groupNamed(t, registry, "b").Primary == "n2" })
	w.end()
}
