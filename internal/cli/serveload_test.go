package cli

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Of a collection that several groups have, a member loads the boxes of its group.
func TestLoadIsOfTheGroup(t *testing.T) {
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	largest := placement.Largest(1, 1)
	if m, err = m.AddBoxes("roads", rstar.Rect{MaxX: 10, MaxY: 1}, nil, &largest); err != nil {
		t.Fatal(err)
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := catfish.NewServer(catfish.ServerOptions{Collections: []string{"roads", "rails"}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	srv.SetGroup(func() *wire.GroupHello { return &wire.GroupHello{Name: "a"} })
	srv.LoadBy(&wire.Cluster{Epoch: m.Epoch, Version: m.Version, Map: b})
	var f serveFlags
	f.sourceFlags.memory = 1 << 20
	f.load = []string{clitest.File(t, "boxes.csv", "id,minx,miny,maxx,maxy\n1,0,0,1,1\n2,9,0,10,1\n3,1,0,2,1\n")}
	o := daemon.Options{Group: daemon.Group{Coordinators: []string{"127.0.0.1:1"}}}
	l, err := newLoading(&App{Err: t.Output()}, &f, &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.fillBoxes(t.Context(), srv, "roads"); err != nil || l.objects() != 2 {
		t.Errorf("%d boxes loaded, %v", l.objects(), err)
	}
	if l, err = newLoading(&App{Err: t.Output()}, &f, &o); err != nil {
		t.Fatal(err)
	}
	if err := l.fillBoxes(t.Context(), srv, "rails"); !errors.Is(err, catfish.ErrSeveralGroups) || l.objects() != 0 {
		t.Errorf("what is not placed: %d boxes loaded, %v", l.objects(), err)
	}
}
