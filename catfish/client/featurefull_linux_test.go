package client

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// TestFullDataDir: the data directory's file system, of 8 MiB, fills up. Clients of all
// paths get an error for it, and can still read; when there is room again they can write,
// and all acknowledged writes are kept, also for the next server.
func TestFullDataDir(t *testing.T) {
	if os.Getuid() != 0 {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal("needs root, to mount a tmpfs")
		}
		t.Skip("needs root, to mount a tmpfs")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	// Recovery needs as much room as the log, once more.
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 6<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	l := newLives(t)
	l.stop()
	l.opts.SlabBytes, l.opts.DataDir = 64<<20, filepath.Join(dir, "data")
	l.opts.Features = map[string]model.FeaturesOptions{testFeatures: {}}
	l.start()
	if err := l.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	ps := kvPaths()
	var clients []*model.Features
	for _, p := range ps {
		clients = append(clients, dialFeatures(t, l.Server, p.options()))
	}
	const ids = 10
	var revisions [ids]uint64
	var writes [ids]int
	place := func(id, n int) model.Feature {
		return model.Feature{ID: fmt.Sprint(id), Geometry: orb.Point{float64(id), float64(n % 90)}, Properties: fmt.Appendf(nil, `{"n":%d,"pad":%q}`, n, strings.Repeat("x", 4000))}
	}
	put := func(f *model.Features, n int) error {
		id := n % ids
		_, rev, err := f.Put(ctx, place(id, n), kv.Condition{})
		if err == nil {
			revisions[id], writes[id] = rev, n
		}
		return err
	}
	verify := func(what string) {
		t.Helper()
		for i, f := range clients {
			for place, err := range f.Search(ctx, model.FeatureQuery{Area: query.Box(-1, -1, ids, 90)}) {
				var id int
				if _, scan := fmt.Sscan(place.ID, &id); err != nil || scan != nil || place.Revision != revisions[id] {
					t.Fatalf("%s, %s: %q, revision %d, %v", what, ps[i].name, place.ID, place.Revision, err)
				}
			}
			for id := range ids {
				got, err := f.Get(ctx, fmt.Sprint(id))
				if err != nil {
					t.Fatalf("%s, %s: %v", what, ps[i].name, err)
				}
				want := place(id, writes[id])
				want.Revision = revisions[id]
				samePlaces(t, what+", "+ps[i].name, []model.Feature{got}, []model.Feature{want}, true)
			}
			if n, err := f.Count(ctx, model.FeatureQuery{}); err != nil || n != ids {
				t.Fatalf("%s, %s: %d, %v", what, ps[i].name, n, err)
			}
		}
	}
	n, err := 0, error(nil)
	for ; err == nil; n++ {
		if err = put(clients[n%len(clients)], n); n > 10_000 {
			t.Fatal("the disk is never full")
		}
	}
	t.Log(n, "writes")
	if n < 150 {
		t.Errorf("full after %d writes of 4,000 bytes, with 2 MiB free", n)
	}
	for i, f := range clients {
		// Tables are smaller than the log, so it may have recovered.
		for err = nil; err == nil; n++ {
			fillUp(t, ballast)
			err = put(f, n)
		}
		if !errors.Is(err, disk.ErrReadOnly) || !strings.Contains(err.Error(), "no space left") && !strings.Contains(err.Error(), "bytes free") || !RetrySafe(err) {
			t.Errorf("%s, full: %v", ps[i].name, err)
		}
	}
	verify("full")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for i, f := range clients {
		err := put(f, n+i)
		for errors.Is(err, disk.ErrReadOnly) {
			err = put(f, n+i)
		}
		if err != nil {
			t.Fatalf("%s, room again: %v", ps[i].name, err)
		}
	}
	verify("room again")
	l.restart()
	if err := l.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	verify("restarted")
}

// fillUp appends to a file until its file system is full.
func fillUp(t *testing.T, name string) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for some := make([]byte, 4096); err == nil; {
		_, err = f.Write(some)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
