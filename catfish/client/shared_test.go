package client

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
)

// TestShared: clients with different handles share neither cached nodes nor a
// group; clients with the same handle share both, and so do those without one.
func TestShared(t *testing.T) {
	s, _ := cachedServer(t)
	one, two := new(Shared), new(Shared)
	clients := map[string]*Client{}
	for name, h := range map[string]*Shared{"a": one, "b": one, "c": two, "d": nil, "e": nil} {
		clients[name] = dial(t, s, Options{Transport: model.TransportSHM, Policy: "cost", Shared: h})
	}
	cache := func(name string) any {
		return clients[name].conn.sessions.latest().slabs[model.DefaultCollection].Cache
	}
	for _, c := range []struct {
		x, y string
		same bool
	}{{"a", "b", true}, {"a", "c", false}, {"d", "e", true}, {"a", "d", false}, {"c", "d", false}} {
		if got := cache(c.x) == cache(c.y); got != c.same {
			t.Errorf("clients %s and %s have one cache: %v", c.x, c.y, got)
		}
	}
	if _, err := clients["a"].Search(t.Context(), square(0, 0)); err != nil {
		t.Fatal(err)
	}
	for h, want := range map[*Shared]uint64{one: 1, two: 0} {
		g, leave := h.groups.Join(groupKey{s.Addr(), model.TransportSHM, model.Fabric{}, true, ofBoxes})
		if n := g.Finished(); n != want {
			t.Errorf("%d searches of a group, want %d", n, want)
		}
		leave()
	}
}
