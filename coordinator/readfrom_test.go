package coordinator

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/paulmach/orb"

	remote "github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/wire"
)

// A client that reads at a secondary sees its own writes, never goes back, and continues when
// the primary changes.
func TestReadsAtASecondary(t *testing.T) {
	t.Parallel()
	for _, o := range []remote.Options{
		{Transport: model.TransportSoft, Policy: "fast"}, {Transport: model.TransportSoft, Policy: "offload-cached"}, {Transport: model.TransportTCP},
	} {
		t.Run(o.Transport+o.Policy, func(t *testing.T) {
			registry, members, addrs := startGroup(t, startHere)
			v := &versions{t: t, registry: registry, members: members, addrs: addrs}
			o.ReadFrom = "any"
			c, other := v.dial(addrs, o), v.dial(addrs, remote.Options{})
			if err := c.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
				t.Fatal(err)
			}
			mine, err := c.Features("places")
			if err != nil {
				t.Fatal(err)
			}
			others, err := other.Features("places")
			if err != nil {
				t.Fatal(err)
			}
			put := func(f *model.Features, id string, n int) {
				p := model.Feature{ID: id, Geometry: orb.Point{0, 0}, Properties: fmt.Appendf(nil, `{"version":%d}`, n)}
				if _, _, err := f.Put(t.Context(), p, model.Condition{}); err != nil {
					t.Error(err)
				}
			}
			put(others, "others", 0)
			var written atomic.Int64
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() { // Another client writes all the time.
				defer close(stopped)
				for n := 1; ; n++ {
					select {
					case <-stop:
						return
					default:
						put(others, "others", n)
						written.Store(int64(n))
					}
				}
			}()
			last := 0
			read := func(want int) {
				t.Helper()
				seen := map[string]int{}
				for f, err := range mine.Search(t.Context(), model.FeatureQuery{Area: model.Box(-1, -1, 1, 1)}) {
					var p struct{ Version int }
					if err == nil {
						err = json.Unmarshal(f.Properties, &p)
					}
					if err != nil {
						t.Error(err)
						return
					}
					seen[f.ID] = p.Version
				}
				if seen["mine"] != want || seen["others"] < last {
					t.Errorf("found %v, want mine to be %d, others at least %d", seen, want, last)
				}
				last = seen["others"]
			}
			// used is how much the secondaries are used: requests to find, and read channels.
			used := func() (n uint64) {
				g := groupOf(t, registry)
				for name, m := range members {
					if name == g.Primary {
						continue
					}
					for _, r := range m.daemon.Server().Requests() {
						if r.Kind == "find" {
							n += r.Count - r.Failed
						}
					}
					for _, tr := range m.daemon.Server().Stats().Transports {
						n += uint64(tr.ReadChannels)
					}
				}
				return n
			}
			turn := func(from int) {
				for n := from; n < from+20; n++ {
					put(mine, "mine", n)
					for range 5 {
						read(n)
					}
				}
			}
			turn(1)
			catfishtest.Eventually(t, "reads go to a secondary", func() bool { read(20); return used() > 0 })
			// The secondary may become the primary, or the primary change.
			for i, to := range []string{"n2", "n3"} {
				switchTo(t, registry, "g", to)
				turn(100 * (i + 1))
			}
			close(stop)
			<-stopped
			n := int(written.Load())
			catfishtest.Eventually(t, "others' writes are seen", func() bool { read(219); return last == n })
		})
	}
}

// A secondary that stands still, whose memory can be read, is not believed when others have
// acknowledged a new value without it.
func TestNoStaleReadsOfAStoppedSecondary(t *testing.T) {
	t.Parallel()
	v := startVersions(t)
	v.readFrom = "any"
	c := v.reader("offload-cached", func(*wire.ClientHooks) {})
	for range *stalls {
		v.settled(c)
		g := groupOf(t, v.registry)
		var stopped []*member
		for name, m := range v.members { // One of the two is read.
			if name == g.Primary {
				continue
			}
			if err := m.child.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.child.Signal(syscall.SIGCONT) })
			stopped = append(stopped, m)
		}
		v.write(v.members[g.Primary].addr)
		for range 5 {
			v.check(c, 0)
		}
		for _, m := range stopped {
			if err := m.child.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
		v.check(c, 0)
	}
}
