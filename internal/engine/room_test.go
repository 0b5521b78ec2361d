package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// clientArg makes this test binary a client of a load.
const clientArg = "engine-client"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == clientArg {
		if err := ClientMain(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func spawn(child.Role, affinity.Set) *exec.Cmd { return exec.Command(os.Args[0], clientArg) }

// newRoom returns the room of a server with 100 boxes and 200 points, all quick
// to find.
func newRoom(t *testing.T, o Options) *Room {
	t.Helper()
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Transports: []string{catfish.TransportSHM}, Logger: slog.New(slog.DiscardHandler),
		Features: map[string]catfish.FeaturesOptions{"points": {}, "empty": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx) }()
	o.Server = srv
	r := New(o)
	t.Cleanup(func() {
		r.Close()
		cancel()
		if err := errors.Join(<-served, srv.Close()); err != nil {
			t.Error(err)
		}
	})
	tree, err := srv.Collection(catfish.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	points, err := srv.Features("points")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		x, y := float64(i%20), float64(i/20)
		if i < 100 {
			if err := tree.Insert(rstar.Rect{MinX: x, MinY: y, MaxX: x + 1, MaxY: y + 1}, uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := points.Put(t.Context(), store.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{x, y}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// next is the first snapshot that satisfies wanted. The test's own timeout bounds it.
func next(t *testing.T, from <-chan web.EngineSnapshot, wanted func(*web.EngineSnapshot) bool) web.EngineSnapshot {
	t.Helper()
	for s := range from {
		if s.Run == nil && strings.Contains(s.Ended, "failed") {
			t.Fatal(s.Ended)
		}
		if wanted(&s) {
			return s
		}
	}
	panic("unreachable: the channel is not closed")
}

func atWork(s *web.EngineSnapshot) bool {
	return slices.ContainsFunc(s.Clients, func(c web.EngineClient) bool { return c.Messages+c.Offloaded > 0 })
}

// TestLoad: the figures of a load's clients show searches of boxes and of
// features, by messages and by reads, until it is stopped.
func TestLoad(t *testing.T) {
	r := newRoom(t, Options{Spawn: spawn, Every: 50 * time.Millisecond})
	snapshots, stop := r.Follow()
	defer stop()
	for collection, policy := range map[string]string{"points": "offload", catfish.DefaultCollection: "fast"} {
		l, err := r.Start(web.EngineLoad{Clients: 3, Seconds: MaxSeconds, Collection: collection, Policy: policy}, "")
		if err != nil || l.Clients != 4 || l.Collection != collection {
			t.Fatalf("%s: %+v, %v", collection, l, err)
		}
		if _, err := r.Start(web.EngineLoad{}, ""); !errors.Is(err, web.ErrEngineBusy) {
			t.Errorf("a second load: %v, want ErrEngineBusy", err)
		}
		s := next(t, snapshots, atWork)
		if s.Run == nil || s.Run.State != "running" || len(s.Clients) != 4 || s.Seconds <= 0 {
			t.Fatalf("%s: %+v", collection, s)
		}
		for _, c := range s.Clients {
			var n int64
			for _, h := range c.Histogram {
				n += h
			}
			offloads := policy == "offload"
			if c.Transport != catfish.TransportSHM || c.Policy != policy || n > 0 && c.P99 <= 0 ||
				offloads && (c.Messages > 0 || (c.Reads > 0) != (c.Offloaded > 0)) || !offloads && c.Offloaded+c.Reads > 0 {
				t.Errorf("%s: %+v", collection, c)
			}
		}
		if at := slices.IndexFunc(s.Server.Channels, func(c web.EngineChannels) bool { return c.Name == catfish.TransportSHM }); at < 0 ||
			s.Server.Channels[at].Connections < 4 {
			t.Errorf("%s: the server sees %+v", collection, s.Server)
		}
		r.Stop()
		if s := next(t, snapshots, func(s *web.EngineSnapshot) bool { return s.Run == nil }); s.Ended != "the load was stopped" || len(s.Clients) > 0 {
			t.Errorf("%s: after Stop %+v", collection, s)
		}
		r.Stop() // There is none, which is no error.
	}
}

// A snapshot has the map of several groups.
func TestMapOfGroups(t *testing.T) {
	r := newRoom(t, Options{Every: 10 * time.Millisecond})
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r.o.Server.SetCluster(func() *wire.Cluster { return &wire.Cluster{Version: 1, Epoch: 1, Map: b} })
	snapshots, stop := r.Follow()
	defer stop()
	if s := <-snapshots; s.Map == nil || len(s.Map.Groups) != 2 || s.Map.Groups[1].Slots != 2048 {
		t.Errorf("%+v", s.Map)
	}
}

// TestLoadEnds after its time, with the server, and with a client that fails.
func TestLoadEnds(t *testing.T) {
	r := newRoom(t, Options{Spawn: spawn, Every: 50 * time.Millisecond})
	snapshots, stop := r.Follow()
	defer stop()
	if _, err := r.Start(web.EngineLoad{Clients: 1, Seconds: 1}, ""); err != nil {
		t.Fatal(err)
	}
	next(t, snapshots, func(s *web.EngineSnapshot) bool { return s.Run == nil && s.Ended == "the load has ended" })
	r.o.Spawn = func(child.Role, affinity.Set) *exec.Cmd { return exec.Command("/does/not/exist") }
	if _, err := r.Start(web.EngineLoad{}, ""); err != nil {
		t.Fatal(err)
	}
	for s := range snapshots {
		if s.Ended == "" {
			continue
		}
		if !strings.Contains(s.Ended, "/does/not/exist") {
			t.Errorf("ended: %s", s.Ended)
		}
		break
	}
	r.o.Spawn = spawn
	if _, err := r.Start(web.EngineLoad{Seconds: MaxSeconds}, ""); err != nil {
		t.Fatal(err)
	}
	next(t, snapshots, atWork)
	r.Close() // The load ends with the room, and no process stays (goleak).
	if _, err := r.Start(web.EngineLoad{}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: %v", err)
	}
}

func TestLoadRefused(t *testing.T) {
	r := newRoom(t, Options{Spawn: spawn})
	for says, l := range map[string]web.EngineLoad{
		"clients is 17, want 1 to 16":    {Clients: 17},
		"clients is -1":                  {Clients: -1},
		"seconds is 121, want 1 to 120":  {Seconds: 121},
		`policy is "tcp", want one of`:   {Policy: "tcp"},
		`collection "none"`:              {Collection: "none"},
		`collection "empty" has nothing`: {Collection: "empty"},
	} {
		if _, err := r.Start(l, ""); !errors.Is(err, web.ErrEngineLoad) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want ErrEngineLoad saying %q", l, err, says)
		}
	}
	info := r.Describe()
	if !info.Load.Allowed || !slices.Equal(info.Load.Collections, []string{"default", "empty", "points"}) || info.Transports[0].Name != "shm" ||
		!strings.Contains(info.Transports[0].Words, "no RDMA hardware") || info.Workers < 1 {
		t.Errorf("%+v", info)
	}
	var l web.EngineLoad
	if on, err := r.target(&l.Collection); err != nil || l.Collection != "points" || on.Bounds != (rstar.Rect{MaxX: 19, MaxY: 9}) {
		t.Errorf("the largest is %q, %+v, %v", l.Collection, on, err)
	}
	name := catfish.DefaultCollection
	if on, err := r.target(&name); err != nil || on.Bounds != (rstar.Rect{MaxX: 20, MaxY: 5}) {
		t.Errorf("boxes: %+v, %v", on, err)
	}
	off := newRoom(t, Options{})
	if _, err := off.Start(web.EngineLoad{}, ""); !errors.Is(err, web.ErrEngineOff) || off.Describe().Load.Allowed {
		t.Errorf("without a load: %v", err)
	}
}
