package daemon

import (
	"context"
	"net"
	"net/http"
	"slices"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/web/cql2"
	"github.com/catfish-index/catfish/internal/whole"
	"github.com/catfish-index/catfish/internal/wire"
)

// groupsPart is the part of the memory limit that other groups' requests may take.
const groupsPart = 16

// openGroups makes what HTTP and gRPC ask of other groups, and answers them.
func (d *Daemon) openGroups() error {
	if !d.o.Group.on() {
		return nil
	}
	boxes := api.ServerBackend(d.srv)
	o := whole.Options{
		View: d.group.view.Load, Reread: d.rereadMap, Compile: cql2.Compile, Host: d.srv, MaxBytes: d.srv.MemoryLimit() / groupsPart,
		Boxes:    func(name string) (whole.BoxTree, error) { return boxes.Collection(name) },
		TakesBox: d.srv.TakesBox,
		Connect: func(ctx context.Context, addr string) (net.Conn, error) {
			return d.dialStream(ctx, addr, wire.StreamGroups)
		},
	}
	if d.o.Server.Keys != nil {
		o.Sign, o.Check = d.signGroup, d.checkGroup
	}
	d.whole = whole.New(o)
	d.srv.ShowBudgets(func() []model.BudgetStats { return []model.BudgetStats{model.BudgetStats(d.whole.Use())} })
	d.loaded = append(d.loaded, d.whole.ServeFeatures)
	d.services = append(d.services, &service{name: "groups", l: d.betweenMembers(d.srv.Door(wire.StreamGroups)), serve: d.whole.ServeMembers, stop: d.whole.Shutdown})
	return nil
}

// Headers of a request of another group: its name, and its member's key.
const (
	groupHeader = "Catfish-Group"
	keyHeader   = "Catfish-Member-Key"
)

// signGroup shows this member's key.
func (d *Daemon) signGroup(h http.Header) error {
	key, err := d.o.Group.readKey()
	h.Set(groupHeader, d.o.Group.Name)
	h.Set(keyHeader, key)
	return err
}

// checkGroup wants the key of a member of one of the map's groups.
func (d *Daemon) checkGroup(h http.Header, lost func()) (stop func() bool, err error) {
	return d.admitGroup(h.Get(keyHeader), h.Get(groupHeader), lost)
}

// viewOf is the map with the addresses of the groups' primaries.
func viewOf(m *placement.Map, self placement.Index, groups []*node.Group) *whole.View {
	v := &whole.View{Map: m, Self: self, Primary: make([]string, len(m.Groups))}
	for i, g := range m.Groups {
		if at := slices.IndexFunc(groups, func(is *node.Group) bool { return is.Name == g.Name }); at >= 0 {
			if p := groups[at].Member(groups[at].Primary); p != nil {
				v.Primary[i] = p.Addr
			}
		}
	}
	return v
}
