package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// twoGroups starts a coordinator and groups with a map, of one member each. dirs are of
// data that exists, none: they begin empty.
func twoGroups(t *testing.T, is *placement.Map, dirs map[string]string) (*coord.Client, *catfish.Client) {
	t.Helper()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	if _, err := groupmap.Make(t.Context(), registry, is); err != nil {
		t.Fatal(err)
	}
	var addr string
	for _, name := range []string{"a", "b"} {
		dir := dirs[name]
		if dir == "" {
			dir = filepath.Join(t.TempDir(), "data")
		}
		m := startHere(t, memberOf{Coordinator: c.Addr(), Node: "n1", Dir: dir, set: func(o *daemon.Options) { o.Group.Name = name }})
		addr = m.addr
	}
	client, err := catfish.Dial(t.Context(), addr, catfish.Options{Shared: new(catfish.Shared), Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return registry, client
}

// A backup of two groups, restored into directories and with its map, is a store of the same
// features, which takes writes; its watchers of before learn that it is another one.
func TestBackupOfSeveralGroups(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	is, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 3}})
	if err != nil {
		t.Fatal(err)
	}
	registry, client := twoGroups(t, is, nil)
	if err := client.CreateFeatures(ctx, "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	places, err := client.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	const all = 100
	for i := range all {
		if _, _, err := places.Put(ctx, placeAt(fmt.Sprint(i)), model.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	position := ""
	for e, err := range places.Watch(ctx, model.WatchQuery{Progress: true}) {
		if position = e.Position; err != nil || position == "" {
			t.Fatalf("%+v, %v", e, err)
		}
		break
	}
	access := groupmap.Access{Logger: catfishtest.Quiet()}
	dir := filepath.Join(t.TempDir(), "backups", "monday")
	if _, err := groupmap.Backup(ctx, registry, dir, access); err != nil {
		t.Fatal(err)
	}
	if _, err := groupmap.Backup(ctx, registry, dir, access); !errors.Is(err, disk.ErrExists) {
		t.Errorf("a second backup in the same directory: %v", err)
	}
	if _, err := places.Delete(ctx, "7", model.Condition{}); err != nil { // is in the backup
		t.Fatal(err)
	}
	notBackedUp(t, registry, access)

	m, err := groupmap.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]uint64{}
	if err := m.Check(dir, func(g *groupmap.GroupCopy, _ string, r disk.Report) error {
		if has[g.Name] = g.Features; g.Revision != r.Last || g.Revision == 0 {
			t.Errorf("%+v, and the copy has revision %d", g, r.Last)
		}
		return nil
	}); err != nil || has["a"]+has["b"] != all || has["a"] == 0 || has["a"] > has["b"] {
		t.Fatalf("%v, %v", has, err)
	}
	data := t.TempDir()
	dirs := map[string]string{"a": filepath.Join(data, "a"), "b": filepath.Join(data, "b")}
	for name, to := range dirs {
		if _, err := m.Restore(dir, name, to); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Restore(dir, "c", filepath.Join(data, "c")); !errors.Is(err, placement.ErrUnknown) {
		t.Errorf("a group that is not there: %v", err)
	}
	again := m.Restored()
	if again.Slots != is.Slots || again.Epoch <= is.Epoch {
		t.Errorf("another map: %+v", again)
	}
	_, client = twoGroups(t, again, dirs)
	if places, err = client.Features("places"); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if f, err := places.Get(ctx, fmt.Sprint(i)); err != nil || f.ID != fmt.Sprint(i) {
			t.Errorf("%d: %+v, %v", i, f, err)
		}
	}
	if _, _, err := places.Put(ctx, placeAt("new"), model.Condition{}); err != nil {
		t.Error(err)
	}
	if n, err := places.Count(ctx, model.FeatureQuery{}); n != all+1 || err != nil {
		t.Errorf("%d features, %v, want %d", n, err, all+1)
	}
	for _, err := range places.Watch(ctx, model.WatchQuery{Position: position}) {
		if !errors.Is(err, catfish.ErrLagged) {
			t.Errorf("a watch from before the backup: %v", err)
		}
	}
	damaged(t, dir)
}

// notBackedUp wants that nothing is left of backups that fail: slots have another owner, or a
// copy fails.
func notBackedUp(t *testing.T, registry *coord.Client, access groupmap.Access) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fails")
	failed := errors.New("no key")
	access.Key = func() (string, error) { return "", failed }
	if _, err := groupmap.Backup(t.Context(), registry, dir, access); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
	access.Key = func() (string, error) { // while copies come
		v, err := registry.Get(context.Background(), groupmap.Key)
		if err != nil {
			return "", err
		}
		m, err := placement.Decode(v.Bytes)
		if err != nil {
			return "", err
		}
		n := *m
		n.Version, n.Epoch = m.Version+1, m.Version+1
		b, err := n.Encode()
		if err == nil {
			_, err = registry.Swap(context.Background(), groupmap.Key, v.Version, b)
		}
		if errors.Is(err, coord.ErrConflict) { // The other copy did it.
			err = nil
		}
		return "key", err
	}
	if _, err := groupmap.Backup(t.Context(), registry, dir, access); !errors.Is(err, groupmap.ErrRefused) {
		t.Errorf("while slots move: %v", err)
	}
	if l, err := os.ReadDir(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d entries are left, %v", len(l), err)
	}
}

// damaged changes files of a backup.
func damaged(t *testing.T, dir string) {
	t.Helper()
	m, err := groupmap.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	extra := filepath.Join(dir, "b", "extra")
	if err := os.WriteFile(extra, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(*groupmap.GroupCopy, string, disk.Report) error { return nil }
	if err := m.Check(dir, none); !errors.Is(err, groupmap.ErrBackup) {
		t.Errorf("a file more: %v", err)
	}
	if _, err := m.Restore(dir, "b", filepath.Join(t.TempDir(), "b")); !errors.Is(err, groupmap.ErrBackup) {
		t.Errorf("restored with a file more: %v", err)
	}
	name := filepath.Join(dir, "manifest.json")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, other := range map[string][]byte{"half": b[:len(b)/2], "empty": {}, "large": slices.Repeat(b, 100)} {
		if err := os.WriteFile(name, other, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := groupmap.ReadManifest(dir); !errors.Is(err, groupmap.ErrBackup) {
			t.Errorf("a manifest that is %s: %v", what, err)
		}
	}
}
