package client

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
)

// testGroup is a group of one server, which has its own view of the map.
type testGroup struct {
	name  string
	id    byte
	dir   string
	s     *server.Server
	lease *catfishtest.GroupOfOne
	view  atomic.Pointer[wire.Cluster]
}

// testCluster is several groups of one server.
type testCluster struct {
	groups []*testGroup
	slots  []uint8
	boxes  []placement.Curve
	now    wire.Cluster
}

func startCluster(t testing.TB, names ...string) *testCluster {
	t.Helper()
	k := &testCluster{now: wire.Cluster{Epoch: 1, Version: 1}}
	for i := range placement.Slots {
		k.slots = append(k.slots, uint8(i%len(names)))
	}
	for i, name := range names {
		g := &testGroup{name: name, id: byte(i + 1), dir: t.TempDir(), lease: catfishtest.NewGroupOfOne()}
		g.start(t)
		k.groups = append(k.groups, g)
		k.now.Groups = append(k.now.Groups, wire.ClusterGroup{Name: name, Members: []string{g.s.Addr()}})
	}
	k.publish(t, k.groups...)
	return k
}

// start starts the group's server, at an address that it has not had before.
func (g *testGroup) start(t testing.TB) {
	t.Helper()
	g.s = startServer(t, server.AsMember(server.Options{DataDir: g.dir}, [16]byte{g.id}))
	if err := g.s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err := g.s.Store()
	if err != nil {
		t.Fatal(err)
	}
	st.Replicate(g.lease)
	addr := g.s.Addr()
	g.s.SetGroup(func() *wire.GroupHello {
		return &wire.GroupHello{Name: g.name, Node: "n", Role: wire.RolePrimary, Term: 1, Primary: "n", Members: []wire.GroupMember{{Node: "n", Addr: addr}}}
	})
	g.s.SetCluster(g.view.Load)
}

// publish gives the present map to some groups.
func (k *testCluster) publish(t testing.TB, to ...*testGroup) {
	t.Helper()
	m := placement.Map{Version: k.now.Version, Epoch: k.now.Epoch, Boxes: k.boxes}
	for _, g := range k.groups {
		m.Groups = append(m.Groups, placement.Group{Name: g.name, Weight: 1})
	}
	for i, g := range k.slots {
		m.Slots[i] = placement.Index(g)
	}
	var err error
	k.now.Map, err = m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	is := k.now
	for _, g := range to {
		g.view.Store(&is)
	}
}

func (k *testCluster) dial(t testing.TB, at string, o Options) *Client {
	t.Helper()
	o = WithHooks(o, keepYoung)
	o.Filters, o.Logger, o.Shared = cel.NewCache(64), quiet(), new(Shared)
	c, err := Dial(t.Context(), at, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// grant gives all groups another lease.
func (k *testCluster) grant(d time.Duration) {
	for _, g := range k.groups {
		g.lease.Grant(1, d)
	}
}

func (k *testCluster) addr(i int) string { return k.groups[i].s.Addr() }

func features(t testing.TB, c *Client) *model.Features {
	t.Helper()
	f, err := c.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// withoutRevisions leaves out what is a group's own.
func withoutRevisions(fs []model.Feature) []model.Feature {
	for i := range fs {
		fs[i].Revision = 0
	}
	return fs
}

func collect(t testing.TB, what any, all func(func(model.Feature, error) bool)) (fs []model.Feature) {
	t.Helper()
	for f, err := range all {
		if err != nil {
			t.Fatalf("%+v: %v", what, err)
		}
		fs = append(fs, f)
	}
	return withoutRevisions(fs)
}

// clusterPaths are a path by message, one by reads, and one of both, on each transport.
func clusterPaths() (ps []path) {
	for _, p := range kvPaths() {
		if p.policy == "fast" || p.policy == "offload" || p.policy == "default" || p.policy == "tcp" {
			ps = append(ps, p)
		}
	}
	return ps
}

// oneOfEach is two groups, with a feature of each in their order, and a client that waits for
// a server for a second.
func oneOfEach(t *testing.T) (k *testCluster, f *model.Features, all []model.Feature) {
	t.Helper()
	k = startCluster(t, "a", "b")
	c := k.dial(t, k.addr(0), Options{DialTimeout: time.Second})
	if err := c.CreateFeatures(t.Context(), testFeatures, model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	v := c.conn.cluster.view.Load()
	all = make([]model.Feature, len(v.names))
	for i, left := 0, len(all); left > 0; i++ {
		id := fmt.Sprint(i)
		if g := v.of([]byte(id)); all[g].ID == "" {
			all[g].ID = id
			left--
		}
	}
	f = features(t, c)
	for _, one := range all {
		if _, _, err := f.Put(t.Context(), one, model.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	return k, f, all
}
