package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"golang.org/x/sync/errgroup"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Groups are tested with their clients here, since they need a coordinator.

// memberArg makes this test binary a member of a group.
const memberArg = "member"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == memberArg {
		if err := serveMember(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// memberOf is one member of the group g.
type memberOf struct {
	Coordinator, Node, Dir string
	Transports             []string              // empty, and with Lane tcp: soft
	Lane                   string                // transport of lanes, empty: auto
	set                    func(*daemon.Options) // in this process only
}

func (o memberOf) start(ctx context.Context) (*daemon.Daemon, error) {
	if len(o.Transports) == 0 || o.Lane == model.TransportTCP {
		o.Transports = []string{model.TransportSoft}
	}
	opts := daemon.Options{
		Server: server.Options{
			DataDir: o.Dir, Transports: o.Transports, Meter: true, Logger: catfishtest.Quiet(),
		},
		HTTP: daemon.HTTP{Addr: "127.0.0.1:0"}, GRPC: daemon.GRPC{Addr: "127.0.0.1:0"},
		Group: daemon.Group{Coordinators: []string{o.Coordinator}, Name: "g", Node: o.Node, LaneTransport: o.Lane, LaneRing: 64 << 10},
	}
	if o.set != nil {
		o.set(&opts)
	}
	d, err := daemon.New(opts)
	if err != nil {
		return nil, err
	}
	if err := d.Start(ctx); err != nil {
		return nil, errors.Join(err, d.Close(ctx))
	}
	return d, nil
}

// serveMember is a member in a process of its own, which ends with its standard input.
func serveMember(options string) error {
	var o memberOf
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		return err
	}
	ctx := context.Background()
	d, err := o.start(ctx)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(d.Addrs()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, d.Close(ctx))
}

// member is a running one.
type member struct {
	addr   string
	at     daemon.Addrs
	close  func()         // hands over, if it is the primary
	child  *os.Process    // nil: it is in this process
	daemon *daemon.Daemon // nil: it is in another one
}

func startHere(t *testing.T, o memberOf) *member {
	t.Helper()
	d, err := o.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := &member{addr: d.Addrs().Server, at: d.Addrs(), daemon: d, close: func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}}
	t.Cleanup(m.close)
	return m
}

func startChild(t *testing.T, o memberOf) *member {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], memberArg, string(b))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // It was killed.
		in.Close()
	})
	m := &member{child: c.Process}
	if err := json.NewDecoder(out).Decode(&m.at); err != nil {
		t.Fatal(err)
	}
	m.addr = m.at.Server
	return m
}

// laneOf is the transport of lanes between servers with these: tcp alone means streams.
func laneOf(transports []string) string {
	switch {
	case len(transports) == 1:
		return transports[0]
	case len(transports) == 0:
		return model.TransportSoft
	}
	return model.TransportAuto
}

// startGroup returns three members, the first of which is the primary, all in sync.
func startGroup(t *testing.T, start1 func(*testing.T, memberOf) *member, transports ...string) (*coord.Client, map[string]*member, string) {
	t.Helper()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	members := map[string]*member{}
	var addrs []string
	dir := t.TempDir()
	for _, name := range []string{"n1", "n2", "n3"} {
		m := start1(t, memberOf{Coordinator: c.Addr(), Node: name, Dir: filepath.Join(dir, name), Transports: transports, Lane: laneOf(transports)})
		members[name], addrs = m, append(addrs, m.addr)
	}
	registry := dial(t, c.Addr())
	catfishtest.Eventually(t, "three members are in sync", func() bool { return len(groupOf(t, registry).InSync) == 3 })
	for name, m := range members {
		h, err := wire.AskHello(t.Context(), m.addr)
		if err != nil {
			t.Fatal(err)
		}
		lane := laneOf(transports)
		if is := h.Group.Lane; lane != model.TransportAuto && h.Group.Node != h.Group.Primary && (is == nil || is.Transport != lane || (is.RingBytes > 0) == (lane == model.TransportTCP)) {
			t.Errorf("the log comes to %s by %+v, want %s", name, is, lane)
		}
	}
	return registry, members, strings.Join(addrs, ",")
}

func groupOf(t *testing.T, c *coord.Client) *node.Group {
	t.Helper()
	v, err := c.Get(t.Context(), node.Key("g"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := node.Parse(v)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// switchTo makes a member of a group the primary. One that has fallen behind, as it may on
// a busy machine, is in sync again first.
func switchTo(t *testing.T, c *coord.Client, group, to string) {
	t.Helper()
	var refused error
	defer func() {
		if t.Failed() {
			t.Log(refused)
		}
	}()
	catfishtest.Eventually(t, to+" may become the primary", func() bool {
		refused = node.Switch(t.Context(), c, group, to)
		if refused != nil && !errors.Is(refused, node.ErrRefused) {
			t.Fatal(refused)
		}
		return refused == nil
	})
}

// users write, search and watch a group without a pause.
type users struct {
	t       *testing.T
	client  *catfish.Client
	places  *model.Features
	written atomic.Int64 // places with numbers below it were acknowledged
	found   atomic.Int64 // by the last search
	seen    []string     // ids of events, in order

	stopping atomic.Bool
	stop     func() // ends all of them
}

func startUsers(t *testing.T, addrs, transport string) *users {
	t.Helper()
	c, err := catfish.Dial(t.Context(), addrs, catfish.Options{
		Transport: transport, Shared: new(catfish.Shared), Logger: catfishtest.Quiet(),
		OnRestart: func(context.Context, catfish.ServerInfo, catfish.ServerInfo) error {
			t.Error("another member counts as a restarted server")
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateBoxes(t.Context(), "kept", model.BoxesOptions{Keep: true}); err != nil {
		t.Fatal(err)
	}
	places, err := c.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	u := &users{t: t, client: c, places: places}
	ctx, cancel := context.WithCancel(t.Context())
	stands, ended := catfishtest.Follow(ctx, places, model.WatchQuery{Query: model.FeatureQuery{Area: model.Box(-1, -1, 1, 1)}},
		func(e model.FeatureEvent) bool {
			u.seen = append(u.seen, e.ID)
			return e.ID != "last"
		})
	<-stands
	t.Cleanup(cancel)
	done := make(chan struct{}, 2)
	go func() { u.write(ctx); done <- struct{}{} }()
	go func() { u.search(ctx); done <- struct{}{} }()
	u.stop = func() {
		u.stopping.Store(true)
		<-done
		<-done
		if _, _, err := places.Put(ctx, placeAt("last"), model.Condition{}); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("watching: %v", err)
		}
	}
	return u
}

func placeAt(id string) model.Feature { return model.Feature{ID: id, Geometry: orb.Point{0, 0}} }

func (u *users) write(ctx context.Context) {
	for n := int64(0); !u.stopping.Load(); n++ {
		_, _, err := u.places.Put(ctx, placeAt(fmt.Sprint(n)), model.Condition{})
		if err != nil {
			u.t.Errorf("writing %d: %v", n, err)
			return
		}
		u.written.Add(1)
	}
}

// search wants all places that were acknowledged before it began.
func (u *users) search(ctx context.Context) {
	for !u.stopping.Load() {
		want := u.written.Load()
		n, err := u.places.Count(ctx, model.FeatureQuery{Area: model.Box(-1, -1, 1, 1)})
		if err != nil {
			u.t.Errorf("searching: %v", err)
			return
		}
		if int64(n) < want {
			u.t.Errorf("found %d places, %d were acknowledged", n, want)
		}
		u.found.Store(int64(n))
	}
}

// load loads boxes, with an event in the middle. Those of a collection in memory alone are
// lost with their server.
func (u *users) load(collection string, want error, event func()) {
	u.t.Helper()
	c, err := u.client.Collection(collection)
	if err != nil {
		u.t.Fatal(err)
	}
	const all = 1000
	_, err = c.Load(u.t.Context(), func(yield func(rstar.Item) bool) {
		for i := range uint64(all) {
			if i == all/2 {
				event()
				u.goOn()
			}
			if !yield(rstar.Item{Rect: catfishtest.Square(0, 0), ID: i}) {
				return
			}
		}
	}, nil)
	if !errors.Is(err, want) {
		u.t.Errorf("loading %s: %v, want %v", collection, err, want)
	}
	if n, err := c.Count(u.t.Context(), catfishtest.Square(0, 0)); want == nil && (n != all || err != nil) {
		u.t.Errorf("%d boxes, %v, want %d", n, err, all)
	}
}

// goOn waits for writes and searches that began after now.
func (u *users) goOn() {
	u.t.Helper()
	w := u.written.Load()
	catfishtest.Eventually(u.t, "writes and searches continue", func() bool {
		return u.t.Failed() || u.written.Load() > w+10 && u.found.Load() > w
	})
}

// check wants all that was acknowledged, and its events, once and in order.
func (u *users) check() {
	u.t.Helper()
	u.stop()
	var ids []string
	for i := range u.written.Load() {
		ids = append(ids, fmt.Sprint(i))
	}
	places, err := u.places.GetMany(u.t.Context(), ids)
	if err != nil {
		u.t.Fatal(err)
	}
	var want []string
	for i, p := range places {
		if want = append(want, fmt.Sprint(i)); p.ID == "" {
			u.t.Errorf("place %d was acknowledged and is missing", i)
		}
	}
	if want = append(want, "last"); strings.Join(u.seen, " ") != strings.Join(want, " ") {
		u.t.Errorf("events of\n%v, want\n%v", u.seen, want)
	}
}

// When an operator switches to another member, and when the primary is closed, no call of a
// client fails, on any path.
func TestClientsFollowThePrimary(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			registry, members, addrs := startGroup(t, startHere)
			u := startUsers(t, addrs, transport)
			u.goOn()
			u.load("kept", nil, func() {
				switchTo(t, registry, "g", "n2")
			})
			// On a busy machine n2 may have lost the lease again.
			primary := func() *member { return members[groupOf(t, registry).Primary] }
			catfishtest.Eventually(t, "the client is at the primary", func() bool { return u.client.Info().Addr == primary().addr })
			u.goOn()
			u.load(catfish.DefaultCollection, catfish.ErrRestarted, primary().close)
			u.goOn()
			u.check()
		})
	}
}

// When the primary is killed or stands still, calls continue with the next one, and none
// fails. A primary that continues later follows: what it writes into rings of before reaches
// no log.
func TestClientsSurviveTheLossOfThePrimary(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lane   string
		signal os.Signal
	}{
		{model.TransportTCP, os.Kill}, {model.TransportSoft, os.Kill}, {model.TransportSHM, os.Kill},
		{model.TransportTCP, syscall.SIGSTOP}, {model.TransportSoft, syscall.SIGSTOP}, {model.TransportSHM, syscall.SIGSTOP},
	} {
		t.Run(fmt.Sprintf("lane=%s,%v", tc.lane, tc.signal), func(t *testing.T) {
			registry, members, addrs := startGroup(t, startChild, tc.lane)
			u := startUsers(t, addrs, model.TransportAuto)
			u.goOn()
			old := groupOf(t, registry)
			began := time.Now()
			if err := members[old.Primary].child.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			u.goOn()
			t.Logf("calls continue %v later", time.Since(began))
			if g := groupOf(t, registry); g.Primary == old.Primary || g.Term <= old.Term {
				t.Errorf("afterwards: %+v", g)
			}
			if tc.signal == syscall.SIGSTOP {
				if err := members[old.Primary].child.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				catfishtest.Eventually(t, "the old primary follows", func() bool { return len(groupOf(t, registry).InSync) == 3 })
				u.goOn()
			}
			u.check()
		})
	}
}

// Members that start at the same moment, without directories, make one group.
func TestMembersThatStartTogether(t *testing.T) {
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	dir := t.TempDir()
	var g errgroup.Group
	for _, name := range []string{"n1", "n2", "n3"} {
		g.Go(func() error {
			d, err := memberOf{Coordinator: c.Addr(), Node: name, Dir: filepath.Join(dir, name)}.start(t.Context())
			if err == nil {
				t.Cleanup(func() { _ = d.Close(context.Background()) })
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	registry := dial(t, c.Addr())
	catfishtest.Eventually(t, "three members are in sync", func() bool { return len(groupOf(t, registry).InSync) == 3 })
}
