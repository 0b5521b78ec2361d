package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	remote "github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/wire"
)

// Stale reads: the primary stands still, and its memory can be read; another member becomes
// the primary, and acknowledges a new value. No read that begins afterwards returns the old
// one.

var stalls = flag.Int("stalls", 2, "how often the primary stands still in tests of stale reads")

// versions is a group in which a feature, and the number of boxes, say a version.
type versions struct {
	t        *testing.T
	registry *coord.Client
	members  map[string]*member
	addrs    string
	version  int // the last that was acknowledged
	readFrom string
}

func startVersions(t *testing.T) *versions {
	v := &versions{t: t}
	v.registry, v.members, v.addrs = startGroup(t, startChild, model.TransportSHM, model.TransportSoft)
	c := v.dial(v.addrs, remote.Options{})
	for _, err := range []error{
		c.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}), c.CreateBoxes(t.Context(), "boxes", model.BoxesOptions{Keep: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	v.write(v.addrs)
	return v
}

func (v *versions) dial(addrs string, o remote.Options) *remote.Client {
	v.t.Helper()
	o.Shared, o.Logger = new(catfish.Shared), catfishtest.Quiet()
	c, err := remote.Dial(v.t.Context(), addrs, o)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = c.Close() })
	return c
}

// write writes the next version, by a client of its own.
func (v *versions) write(addrs string) {
	v.t.Helper()
	c := v.dial(addrs, remote.Options{})
	defer c.Close()
	next := v.version + 1
	places, err := c.Features("places")
	if err != nil {
		v.t.Fatal(err)
	}
	f := model.Feature{ID: "x", Geometry: orb.Point{0, 0}, Properties: fmt.Appendf(nil, `{"version":%d}`, next)}
	if _, _, err := places.Put(v.t.Context(), f, model.Condition{}); err != nil {
		v.t.Fatal(err)
	}
	boxes, err := c.Collection("boxes")
	if err != nil {
		v.t.Fatal(err)
	}
	if err := boxes.Insert(v.t.Context(), catfishtest.Square(0, 0), uint64(next)); err != nil {
		v.t.Fatal(err)
	}
	v.version = next
}

// reader reads the version in all ways that may be offloaded.
type reader struct {
	*remote.Client
	reads map[string]func(context.Context) (version int, err error)
}

func (v *versions) reader(policy string, set func(*wire.ClientHooks)) *reader {
	v.t.Helper()
	c := v.dial(v.addrs, remote.WithHooks(remote.Options{Policy: policy, ReadFrom: v.readFrom, Transport: model.TransportSHM}, func(h *wire.ClientHooks) {
		h.KeepYoung = true
		set(h)
	}))
	places, err := c.Features("places")
	if err != nil {
		v.t.Fatal(err)
	}
	boxes, err := c.Collection("boxes")
	if err != nil {
		v.t.Fatal(err)
	}
	versionOf := func(f model.Feature, err error) (int, error) {
		var p struct{ Version int }
		if err != nil {
			return 0, err
		}
		return p.Version, json.Unmarshal(f.Properties, &p)
	}
	return &reader{c, map[string]func(context.Context) (int, error){
		"get": func(ctx context.Context) (int, error) { return versionOf(places.Get(ctx, "x")) },
		"search": func(ctx context.Context) (int, error) {
			for f, err := range places.Search(ctx, model.FeatureQuery{Area: model.Box(-1, -1, 1, 1)}) {
				return versionOf(f, err)
			}
			return 0, nil
		},
		"nearest": func(ctx context.Context) (int, error) {
			for f, err := range places.Nearest(ctx, model.NearestQuery{K: 1}) {
				return versionOf(f, err)
			}
			return 0, nil
		},
		"boxes": func(ctx context.Context) (int, error) { return boxes.Count(ctx, catfishtest.Square(0, 0)) },
		"some boxes": func(ctx context.Context) (int, error) {
			all, err := boxes.Search(ctx, catfishtest.Square(0, 0))
			return len(all), err
		},
	}}
}

// check reads in all ways, without end if within is 0.
func (v *versions) check(r *reader, within time.Duration) {
	v.t.Helper()
	for name, read := range r.reads {
		if v.readFrom != "" && strings.Contains(name, "boxes") {
			continue // They are the primary's.
		}
		ctx, cancel := v.t.Context(), context.CancelFunc(func() {})
		if within > 0 {
			ctx, cancel = context.WithTimeout(ctx, within)
		}
		got, err := read(ctx)
		switch cancel(); {
		case within > 0 && errors.Is(err, context.DeadlineExceeded): // The member that was asked stands still.
		case err != nil:
			v.t.Errorf("%s: %v", name, err)
		case got != v.version:
			v.t.Errorf("%s: version %d, and %d was acknowledged before", name, got, v.version)
		}
	}
}

// stall stops the primary until others have acknowledged a new version, and return is called.
func (v *versions) stall(at string) (resume func()) {
	v.t.Helper()
	old := groupOf(v.t, v.registry)
	if at != "" && v.members[old.Primary].addr != at {
		v.t.Fatalf("the client is at %s, the primary at %s", at, v.members[old.Primary].addr)
	}
	p := v.members[old.Primary].child
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		v.t.Fatal(err)
	}
	resume = func() {
		if err := p.Signal(syscall.SIGCONT); err != nil {
			v.t.Fatal(err)
		}
	}
	v.t.Cleanup(func() { _ = p.Signal(syscall.SIGCONT) }) // so that it can end
	var addr string
	catfishtest.Eventually(v.t, "another member is the primary", func() bool {
		g := groupOf(v.t, v.registry)
		addr = g.Member(g.Primary).Addr
		return g.Primary != old.Primary
	})
	v.write(addr)
	return resume
}

// settled waits until all members are in sync, and the client is at the primary.
func (v *versions) settled(r *reader) {
	v.t.Helper()
	catfishtest.Eventually(v.t, "all are in sync, and the client at the primary", func() bool {
		g := groupOf(v.t, v.registry)
		return len(g.InSync) == 3 && r.Info().Addr == g.Member(g.Primary).Addr
	})
	for range 20 {
		v.check(r, 0) // Caches and leases are warm.
	}
}

func TestNoStaleReadsOfAStoppedPrimary(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"as usual": 0, "a client that only looks at the lease": time.Hour} {
		t.Run(name, func(t *testing.T) {
			v := startVersions(t)
			r := v.reader("offload-cached", func(h *wire.ClientHooks) { h.CheckInterval = interval })
			for range *stalls {
				v.settled(r)
				read := r.Counters().OffloadedSearches
				v.check(r, 0)
				if n := r.Counters().OffloadedSearches - read; n < 5 {
					t.Fatalf("%d of 5 reads were one-sided", n)
				}
				resume := v.stall(r.Info().Addr)
				for range 5 {
					v.check(r, 20*time.Millisecond)
				}
				resume()
				v.check(r, 0)
			}
		})
	}
}

// Requests wait at the primary that stands still. When it continues, it does not know of the
// other one, and answers none of them.
func TestNoStaleAnswersOfAStoppedPrimary(t *testing.T) {
	t.Parallel()
	v := startVersions(t)
	r := v.reader("fast", func(h *wire.ClientHooks) { h.CheckInterval = time.Hour })
	for range *stalls {
		v.settled(r)
		resume := v.stall(r.Info().Addr)
		var asking sync.WaitGroup
		for range 8 {
			for name, read := range r.reads {
				asking.Go(func() {
					if got, err := read(t.Context()); err != nil || got != v.version {
						t.Errorf("%s: version %d, %v, and %d was acknowledged before", name, got, err, v.version)
					}
				})
			}
		}
		v.check(r, 20*time.Millisecond) // Meanwhile the others have been sent.
		resume()
		asking.Wait()
	}
}

// A client stands still after it has read the old value, and before it looks at the lease.
func TestNoStaleReadsOfAPausedClient(t *testing.T) {
	t.Parallel()
	v := startVersions(t)
	var pause atomic.Pointer[func()]
	r := v.reader("offload-cached", func(h *wire.ClientHooks) {
		h.CheckInterval = time.Hour
		h.AfterReads = func() {
			if f := pause.Swap(nil); f != nil {
				(*f)()
			}
		}
	})
	for name, read := range r.reads {
		v.settled(r)
		paused, resumed := make(chan struct{}), make(chan struct{})
		f := func() {
			close(paused)
			<-resumed
		}
		pause.Store(&f)
		type result struct {
			version int
			err     error
		}
		results := make(chan result, 1)
		go func() {
			version, err := read(t.Context())
			results <- result{version, err}
		}()
		<-paused
		resume := v.stall(r.Info().Addr)
		close(resumed)
		resume()
		if got := <-results; got.err != nil || got.version != v.version {
			t.Errorf("%s: version %d, %v, and %d was acknowledged before the client continued", name, got.version, got.err, v.version)
		}
	}
}
