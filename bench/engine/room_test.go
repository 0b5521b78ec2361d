package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/child"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRoom is the room of a server with collections cafes, empty and planar.
func newRoom(t *testing.T, o Options) *Room {
	t.Helper()
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportTCP}, Features: map[string]store.CollectionOptions{"cafes": {}, "empty": {}, "planar": {Space: feature.Planar}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, srv.Close()); err != nil {
			t.Error(err)
		}
	})
	st, err := srv.Store()
	if err != nil {
		t.Fatal(err)
	}
	cafes, err := st.Collection("cafes")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []orb.Point{{1, 2}, {3, 5}} {
		if _, _, err := cafes.Put(ctx, store.Feature{Geometry: p, Properties: []byte("{}")}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	o.interval = 10 * time.Millisecond
	r := New(srv, o)
	t.Cleanup(r.Close)
	return r
}

func spawn(child.Role, affinity.Set) *exec.Cmd { return exec.Command("true") }

// TestAbout: what there is, and what a load may be, if there may be one.
func TestAbout(t *testing.T) {
	a := newRoom(t, Options{}).About().(About)
	if a.Load != nil || len(a.Collections) != 3 || a.Collections[0] != (Collection{"cafes", 2}) || a.Cores <= 0 || a.Addr == "" {
		t.Errorf("%+v", a)
	}
	a = newRoom(t, Options{Spawn: spawn}).About().(About)
	if a.Load == nil || a.Load.MaxClients != MaxClients || len(a.Load.Policies) < 3 {
		t.Errorf("%+v", a.Load)
	}
}

// TestNext: samples have numbers that grow, two who wait see the same one, and who
// leaves gets the cause.
func TestNext(t *testing.T) {
	r := newRoom(t, Options{})
	type seen struct {
		text   string
		number uint64
	}
	next := func(after uint64) seen {
		b, n, err := r.Next(t.Context(), after)
		if err != nil {
			t.Error(err)
		}
		return seen{string(b), n}
	}
	first := next(0)
	other := make(chan seen)
	go func() { other <- next(first.number) }()
	second := next(first.number)
	if o := <-other; o != second || second.number != first.number+1 {
		t.Errorf("%v and %v after %v", o, second, first)
	}
	var s Sample
	if err := json.Unmarshal([]byte(second.text), &s); err != nil || s.Load != nil || s.CPU < 0 || s.CPU > 1 {
		t.Errorf("%+v, %v", s, err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, _, err := r.Next(ctx, second.number); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// TestStartRefuses: each for its reason, which names the value and the limit.
func TestStartRefuses(t *testing.T) {
	good := web.Load{Collection: "cafes", Clients: 2, Seconds: 5}
	if err := newRoom(t, Options{}).Start(good, ""); !errors.Is(err, web.ErrNoLoad) {
		t.Error(err)
	}
	r := newRoom(t, Options{Spawn: spawn})
	for _, c := range []struct {
		change func(*web.Load)
		says   string
	}{
		{func(l *web.Load) { l.Collection = "" }, "no collection"},
		{func(l *web.Load) { l.Collection = "none" }, `"none"`},
		{func(l *web.Load) { l.Collection = "empty" }, `"empty" has nothing`},
		{func(l *web.Load) { l.Collection = "planar" }, "planar space"},
		{func(l *web.Load) { l.Clients = 0 }, "clients is 0, want 1 to 16"},
		{func(l *web.Load) { l.Clients = 17 }, "clients is 17, want 1 to 16"},
		{func(l *web.Load) { l.Seconds = 121 }, "seconds is 121, want 5 to 120"},
		{func(l *web.Load) { l.Policy = "tcp" }, `policy is "tcp", want one of default`},
	} {
		l := good
		c.change(&l)
		if err := r.Start(l, ""); !errors.Is(err, web.ErrBadLoad) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", l, err, c.says)
		}
	}
}

// driven is a bench.Drive that a test steers.
type driven struct {
	cfg    bench.DemoConfig
	on     bench.ServerReady
	show   bench.Show
	usage  bench.Usage
	frames chan bench.Frame // each is shown
	shown  chan struct{}
	end    chan error
}

func (d *driven) drive(ctx context.Context, cfg bench.DemoConfig, on bench.ServerReady,
	usage func(context.Context) (bench.Usage, error), _ child.Spawn, show bench.Show,
) error {
	d.cfg, d.on, d.show = cfg, on, show
	d.usage, _ = usage(ctx)
	show.Begin(on, bench.Info{Transport: "shm", Policy: "cost"}, cfg)
	for {
		select {
		case f := <-d.frames:
			show.Frame(f)
			d.shown <- struct{}{}
		case err := <-d.end:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func steered() *driven {
	return &driven{frames: make(chan bench.Frame), shown: make(chan struct{}), end: make(chan error)}
}

// progress is the load in the next sample that is as wanted.
func progress(t *testing.T, r *Room, want func(*Progress) bool) *Progress {
	t.Helper()
	for number := uint64(0); ; {
		b, n, err := r.Next(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		number = n
		var s Sample
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		if s.Load != nil && want(s.Load) {
			return s.Load
		}
	}
}

// TestLoad: a load is one, goes on for its time, shows what its clients report, and
// ends by itself, by Stop or with the reason.
func TestLoad(t *testing.T) {
	d := steered()
	r := newRoom(t, Options{Spawn: spawn, drive: d.drive, CPUs: affinity.Set{1}})
	l := web.Load{Collection: "cafes", Clients: 6, Seconds: 7}
	if err := r.Start(l, "secret"); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(l, ""); !errors.Is(err, web.ErrLoadRuns) {
		t.Error(err)
	}
	lat := bench.NewLatency()
	lat.Record(3 * time.Microsecond)
	each := bench.ClientFrame{Elapsed: time.Second / 2, Counters: bench.Counters{Fast: 3, Offloaded: 5, Reads: 10, TornReads: 1}, Latency: lat}
	d.frames <- bench.Frame{At: 2 * time.Second, Pause: time.Millisecond, CoresCPU: 0.5, Latency: lat, P99: 3 * time.Microsecond, Each: []bench.ClientFrame{each}}
	<-d.shown
	p := progress(t, r, func(p *Progress) bool { return p.State == Running && p.Elapsed > 0 })
	if p.State != Running || p.Load != l || p.Elapsed != 2 || p.Heartbeat != 0.5 || p.P99 != 3 || p.Latencies[2] != 1 ||
		len(p.Each) != 1 || p.Each[0].Messages != 6 || p.Each[0].Offloads != 10 || p.Each[0].Reads != 20 || p.Each[0].Torn != 2 {
		t.Errorf("%+v", p)
	}
	if c := d.cfg; c.Procs*c.Clients != 6 || c.Duration != 7*time.Second || c.Key != "secret" || c.Features != "cafes" || !c.Each || !c.Changing ||
		c.ClientCPUs.String() != "1" || c.Policy != "default" {
		t.Errorf("%+v", c)
	}
	if d.on.Addr == "" || d.on.Objects != 2 || d.on.Bounds.MinX != 1 || d.on.Bounds.MaxY != 5 || d.usage.Cores < 1 {
		t.Errorf("%+v, %+v", d.on, d.usage)
	}
	d.end <- nil
	if p := progress(t, r, func(p *Progress) bool { return p.State == Ended }); p.State != Ended || p.Each != nil {
		t.Errorf("%+v", p)
	}
	if err := r.Start(l, ""); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	if p := progress(t, r, func(p *Progress) bool { return p.State == Stopped }); p.State != Stopped {
		t.Errorf("%+v", p)
	}
	if err := r.Start(l, ""); err != nil {
		t.Fatal(err)
	}
	d.end <- errors.New("no such host")
	if p := progress(t, r, func(p *Progress) bool { return p.State == Failed }); p.State != Failed || p.Error != "no such host" {
		t.Errorf("%+v", p)
	}
	if err := r.Start(l, ""); err != nil {
		t.Fatal(err)
	}
	r.Close() // It ends the load.
	if err := r.Start(l, ""); !errors.Is(err, web.ErrNoLoad) {
		t.Error(err)
	}
}
