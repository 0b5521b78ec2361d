package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// inGroupOf starts members of a group.
func inGroupOf(t *testing.T, coordinator, group string, nodes ...string) map[string]*member {
	t.Helper()
	all := map[string]*member{}
	for _, n := range nodes {
		all[n] = startHere(t, memberOf{Coordinator: coordinator, Node: n, Dir: filepath.Join(t.TempDir(), "data"),
			set: func(o *daemon.Options) { o.Group.Name = group }})
	}
	return all
}

// Two groups have one store: a client of either finds all, each id is in the group of its slot,
// and a failover in one of them changes nothing.
func TestSeveralGroups(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	m, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	groups := []map[string]*member{inGroupOf(t, c.Addr(), "a", "n1", "n2"), inGroupOf(t, c.Addr(), "b", "n1")}
	catfishtest.Eventually(t, "both members of a are in sync", func() bool { return len(groupNamed(t, registry, "a").InSync) == 2 })
	client, err := catfish.Dial(t.Context(), groups[1]["n1"].addr, catfish.Options{Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	places, err := client.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	put := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if _, _, err := places.Put(t.Context(), placeAt(fmt.Sprint(i)), model.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := func(want int) {
		t.Helper()
		if n, err := places.Count(t.Context(), model.FeatureQuery{}); err != nil || n != want {
			t.Fatalf("%d features, %v, want %d", n, err, want)
		}
	}
	put(0, 200)
	count(200)
	for i, g := range groups {
		primary := groupNamed(t, registry, string(rune('a'+i))).Primary // Another one may lack the last writes.
		st, err := g[primary].daemon.Server().Store()
		if err != nil {
			t.Fatal(err)
		}
		has, err := st.Collection("places")
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for id := range 200 {
			key := fmt.Sprint(id)
			owns := int(m.Of([]byte(key))) == i
			if owns {
				want++
			}
			if _, err := has.Get(t.Context(), key); owns && err != nil || !owns && !errors.Is(err, catfish.ErrMoved) {
				t.Errorf("group %d has id %s, %v: %v", i, key, owns, err)
			}
		}
		if has.Len() != want || want == 0 {
			t.Errorf("group %d has %d features, want %d", i, has.Len(), want)
		}
		a, err := http.Get("http://" + g["n1"].at.HTTP + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		if a.Body.Close(); a.StatusCode != http.StatusOK {
			t.Errorf("readiness of a part of a store: %s", a.Status)
		}
	}
	groups[0]["n1"].close() // hands over
	put(200, 300)
	count(300)
}

// A map is made before its groups are, and once.
func TestMapOfGroupsThatExist(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	inGroupOf(t, c.Addr(), "a", "n1")
	refused := func(names ...string) {
		t.Helper()
		var groups []placement.Group
		for _, n := range names {
			groups = append(groups, placement.Group{Name: n, Weight: 1})
		}
		if _, err := groupmap.Init(t.Context(), registry, groups); !errors.Is(err, groupmap.ErrRefused) {
			t.Errorf("a map of %v: %v", names, err)
		}
	}
	refused("b", "a")
	if m, err := groupmap.Read(t.Context(), registry); err != nil || m != nil {
		t.Fatalf("the refused map is there: %v, %v", m, err)
	}
	if _, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	refused("b", "d")
	refused("d")
}

func groupNamed(t *testing.T, d node.Decider, name string) *node.Group {
	t.Helper()
	v, err := d.Get(context.Background(), node.Key(name))
	if err != nil {
		t.Fatal(err)
	}
	g, err := node.Parse(v)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
