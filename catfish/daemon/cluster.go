package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// A group with a part of a store (docs/decisions/many-groups.md)
//
// The member reads the map before its store takes a write, and again whenever it changes. The
// store gets the slots that its group has, and clients the map, with the addresses of all
// groups. A group that the map does not name has a store of its own, as without a map.

// mapPause is between looks at the groups' values, which say where their members are: clients
// need one address that is right, and follow the group from there.
const mapPause = time.Second

// joinCluster reads the map, and follows it until the daemon ends.
func (d *Daemon) joinCluster(ctx context.Context, st *server.Store) error {
	if err := d.readMap(ctx, st); err != nil {
		return err
	}
	d.srv.SetCluster(d.group.cluster.Load)
	d.running.Go(func() { d.followMap(st) })
	return nil
}

func (d *Daemon) followMap(st *server.Store) {
	wakes := make(chan struct{}, 1)
	d.running.Go(func() {
		d.group.coord.Watch(d.ctx, cluster.Key, func() {
			select {
			case wakes <- struct{}{}:
			default:
			}
		})
	})
	t := time.NewTicker(mapPause)
	defer t.Stop()
	for {
		select {
		case <-wakes:
		case <-t.C:
		case <-d.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(d.ctx, stepTime)
		if err := d.readMap(ctx, st); err != nil && d.ctx.Err() == nil {
			d.log.Warn("the map of groups cannot be read", "error", err)
		}
		cancel()
	}
}

// readMap reads the map and the groups, for the store and for clients.
func (d *Daemon) readMap(ctx context.Context, st *server.Store) error {
	m, err := cluster.Read(ctx, d.group.coord)
	was := d.group.cluster.Load()
	switch {
	case err != nil:
		return err
	case m == nil && was != nil:
		return fmt.Errorf("%w: the coordinators have lost the map of groups", placement.ErrUnknown)
	case m == nil:
		return nil
	}
	me, err := m.Find(d.o.Group.Name)
	if errors.Is(err, placement.ErrUnknown) && was == nil {
		return nil
	}
	if err != nil {
		return err
	}
	groups, err := node.Groups(ctx, d.group.coord)
	if err != nil {
		return err
	}
	is, err := clusterOf(m, groups)
	if err != nil {
		return err
	}
	if was == nil || was.Version != is.Version {
		if err := st.SetSlots(slotsOf(m, me)); err != nil {
			return err
		}
		d.log.Info("the map of groups", "version", is.Version, "epoch", is.Epoch, "groups", len(is.Groups))
	}
	d.group.cluster.Store(is)
	return nil
}

// clusterOf is the answer to clients that ask for the map.
func clusterOf(m *placement.Map, groups []*node.Group) (*wire.Cluster, error) {
	b, err := m.Encode()
	if err != nil {
		return nil, err
	}
	c := &wire.Cluster{Epoch: m.Epoch, Version: m.Version, Map: b}
	for _, g := range m.Groups {
		of := wire.ClusterGroup{Name: g.Name}
		if i := slices.IndexFunc(groups, func(is *node.Group) bool { return is.Name == g.Name }); i >= 0 {
			for _, member := range groups[i].Members {
				of.Members = append(of.Members, member.Addr)
			}
		}
		c.Groups = append(c.Groups, of)
	}
	return c, nil
}

// slotsOf are those of a group.
func slotsOf(m *placement.Map, g placement.Index) store.Slots {
	s := store.Slots{Epoch: m.Epoch}
	for slot, of := range m.Slots {
		if of == g {
			s.Owned.Add(uint16(slot))
		}
	}
	return s
}
