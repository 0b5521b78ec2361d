package coordinator

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/store/disk"
)

func inGroup(name, backups string) func(*daemon.Options) {
	return func(o *daemon.Options) { o.Group.Name, o.Server.BackupDir = name, backups }
}

// places puts places with numbers, and counts all.
func places(t *testing.T, addr string, from, to int) {
	t.Helper()
	c, err := catfish.Dial(t.Context(), addr, catfish.Options{Shared: new(catfish.Shared), Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if from == 0 {
		if err := c.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := c.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < to; i++ {
		catfishtest.Eventually(t, "the group takes writes", func() bool {
			_, _, err = p.Put(t.Context(), placeAt(fmt.Sprint(i)), model.Condition{})
			return err == nil
		})
	}
	if n, err := p.Count(t.Context(), model.FeatureQuery{Area: model.Box(-1, -1, 1, 1)}); n != to || err != nil {
		t.Errorf("%d places, %v, want %d", n, err, to)
	}
}

// groupWithTerms makes a group of two members whose log has several terms, and returns the
// directories of the members, of which the first is the primary's, and that of a backup.
func groupWithTerms(t *testing.T) (dirs []string, backup string, term uint64) {
	t.Helper()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry, dir := dial(t, c.Addr()), t.TempDir()
	var members []*member
	for _, name := range []string{"n1", "n2"} {
		members = append(members, startHere(t, memberOf{Coordinator: c.Addr(), Node: name, Dir: filepath.Join(dir, name), set: inGroup("g", filepath.Join(dir, "backups"))}))
	}
	catfishtest.Eventually(t, "two members are in sync", func() bool { return len(groupOf(t, registry).InSync) == 2 })
	places(t, members[0].addr, 0, 5)
	for i, to := range []string{"n2", "n1"} {
		switchTo(t, registry, "g", to)
		places(t, members[0].addr, 5+i, 6+i)
	}
	client, err := catfish.Dial(t.Context(), members[0].addr, catfish.Options{Shared: new(catfish.Shared), Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Backup(t.Context(), "monday"); err != nil {
		t.Fatal(err)
	}
	term = groupOf(t, registry).Term
	members[1].close()
	members[0].close()
	return []string{filepath.Join(dir, "n1"), filepath.Join(dir, "n2")}, filepath.Join(dir, "backups", "monday"), term
}

// A backup of a group, restored into a directory, is the beginning of another group.
func TestRestoredGroup(t *testing.T) {
	t.Parallel()
	_, backup, _ := groupWithTerms(t)
	dir := t.TempDir()
	restored := filepath.Join(dir, "n1")
	if _, err := disk.Restore(backup, restored); err != nil {
		t.Fatal(err)
	}
	beginAnew(t, "h", 0, restored, filepath.Join(dir, "n2"))
}

// A group whose coordinators have lost everything begins again with the directory of its
// last primary.
func TestCoordinatorsLost(t *testing.T) {
	t.Parallel()
	dirs, _, term := groupWithTerms(t)
	beginAnew(t, "g", term, dirs...)
}

// beginAnew wants a group of a later term than that.
func beginAnew(t *testing.T, group string, term uint64, dirs ...string) {
	t.Helper()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	var members []*member
	for i, dir := range dirs {
		members = append(members, startHere(t, memberOf{Coordinator: c.Addr(), Node: fmt.Sprintf("n%d", i+1), Dir: dir, set: inGroup(group, "")}))
	}
	catfishtest.Eventually(t, "two members are in sync, in a later term", func() bool {
		v, err := registry.Get(t.Context(), node.Key(group))
		if err != nil {
			t.Fatal(err)
		}
		g, err := node.Parse(v)
		return err == nil && len(g.InSync) == 2 && g.Term > term
	})
	places(t, members[0].addr, 7, 9)
	switchTo(t, registry, group, "n2")
	places(t, members[1].addr, 9, 10)
}
