package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/mover"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/replica/node"
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

// newEpoch is an epoch that a secondary waits for.
type newEpoch struct {
	epoch uint64
	read  time.Duration // when it was read first
}

// openMover makes this member's part in moves, before it joins the group.
func (d *Daemon) openMover(st *server.Store) {
	g := &d.group
	o := mover.Options{Group: d.o.Group.Name, Node: d.o.Group.Node, Store: st, Keeper: g.coord, Leading: d.leads, Reread: d.rereadMap, Logger: d.log,
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return d.dialStream(ctx, addr, wire.StreamMoves)
		}}
	if d.o.Server.Keys != nil {
		o.Key, o.Admit = d.o.Group.readKey, d.admitGroup
	}
	g.mover = mover.New(o)
	g.store = st
	d.srv.BoundLeases(g.mover.Leases.Grant)
	close(g.joined)
}

// leads is the term in which this member is the primary and serves.
func (d *Daemon) leads() (term uint64, leads bool) {
	if n := d.group.node.Load(); n != nil {
		return n.Leads()
	}
	return 0, false
}

// admitGroup checks the key of a member of another group, which the map must have.
func (d *Daemon) admitGroup(key, group string, lost func()) (stop func() bool, err error) {
	c := d.group.cluster.Load()
	if c == nil || !slices.ContainsFunc(c.Groups, func(g wire.ClusterGroup) bool { return g.Name == group }) {
		return nil, fmt.Errorf("%w: the map has no group %.64q", placement.ErrUnknown, group)
	}
	p, err := d.o.Server.Keys.Authenticate(key)
	if err == nil {
		err = p.CheckReplica(group)
	}
	if err != nil {
		return nil, err
	}
	return p.OnEnd(lost), nil
}

// openMoves answers other groups, when this member has joined its own.
func (d *Daemon) openMoves() error {
	if !d.o.Group.on() {
		return nil
	}
	d.group.joined, d.group.reread = make(chan struct{}), make(chan struct{}, 1)
	d.openDoor("moves", wire.StreamMoves, func(l net.Listener) error {
		select {
		case <-d.group.joined:
		case <-d.ctx.Done():
			return nil
		}
		if err := d.group.mover.Serve(l); d.ctx.Err() == nil {
			return err
		}
		return nil
	})
	return nil
}

// prepare is what a new primary does first.
func (d *Daemon) prepare(ctx context.Context, _ uint64) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	d.group.store.CountAnew()
	err := d.readMap(ctx, true)
	if errors.Is(err, errRemoved) { // It is called again at once.
		select {
		case <-time.After(mapPause):
		case <-ctx.Done():
		}
	}
	return err
}

// joinCluster follows the map until the daemon ends.
func (d *Daemon) joinCluster() {
	d.srv.SetCluster(d.group.cluster.Load)
	d.running.Go(d.followMap)
	d.running.Go(func() { d.group.mover.Run(d.ctx) })
}

// readBy is the group for the readers of the store.
type readBy struct {
	*node.Node
	leases *mover.Leases
}

// Lease is until when this member may be read.
func (r readBy) Lease() replica.Lease { return r.leases.OfSecondary(r.Node.Lease()) }

// rereadMap has followMap read the map soon.
func (d *Daemon) rereadMap() {
	select {
	case d.group.reread <- struct{}{}:
	default:
	}
}

func (d *Daemon) followMap() {
	d.running.Go(func() { d.group.coord.Watch(d.ctx, cluster.Key, d.rereadMap) })
	t := time.NewTimer(mapPause)
	defer t.Stop()
	var gone removal
	for {
		select {
		case <-d.group.reread:
		case <-t.C:
		case <-d.ctx.Done():
			return
		}
		t.Reset(mapPause)
		ctx, cancel := context.WithTimeout(d.ctx, stepTime)
		switch err := d.readMap(ctx, false); {
		case errors.Is(err, errSoon):
			t.Reset(soonPause)
		case errors.Is(err, errRemoved):
			gone.log(d.log, err, time.Now())
		case err != nil && d.ctx.Err() == nil:
			d.log.Warn("the map of groups cannot be read", "error", err)
		case err == nil:
			gone = removal{}
		}
		cancel()
	}
}

// errSoon: a secondary does not take the next epoch yet.
var errSoon = errors.New("catfish: this secondary has not all of the epoch's beginning yet")

// soonPause is before the next look at that.
const soonPause = 50 * time.Millisecond

// mayTake is an error that wraps errSoon while a secondary may lack what moved into its group
// before an epoch began. It has all that once a beacon says so that was sent after the map was read.
// What moved out of its group it gives away at once. After a start it may have to wait, too, if its log had copies.
func (d *Daemon) mayTake(m *placement.Map, began time.Duration) error {
	n, w := d.group.node.Load(), &d.group.waits
	if _, leads := d.leads(); leads || n == nil || !d.group.mover.Gains(m, began) && !d.group.store.Taken() {
		return nil
	}
	if w.epoch != m.Epoch {
		*w = newEpoch{m.Epoch, began}
	}
	// A beacon grants a lease from when it came, less what others before it were faster.
	if l := n.Lease(); l.Term == 0 || l.Until < w.read+2*replica.DefaultOptions.Lease {
		return errSoon
	}
	return nil
}

// readMap reads the map and the groups, for the store and for clients. first: this member has
// become the primary, and takes what it reads.
func (d *Daemon) readMap(ctx context.Context, first bool) error {
	d.group.reading.Lock()
	defer d.group.reading.Unlock()
	began := boottime.Now()
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
	if errors.Is(err, placement.ErrUnknown) {
		return d.unnamed(ctx, was != nil)
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
	if !first {
		if err := d.mayTake(m, began); err != nil {
			return err
		}
	}
	if was == nil || was.Version != is.Version {
		d.log.Info("the map of groups", "version", is.Version, "epoch", is.Epoch, "groups", len(is.Groups), "moves", len(m.Moves))
	}
	if err := d.group.mover.Learn(m, began, func() {
		d.group.cluster.Store(is)
		d.group.view.Store(viewOf(m, me, groups))
	}); err != nil {
		return err
	}
	return d.group.store.Retake()
}

// readPlaces reads the map for Options.Load, which adds boxes before this member joins its group.
func (d *Daemon) readPlaces(ctx context.Context) error {
	if !d.o.Group.on() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	m, err := cluster.Read(ctx, d.group.coord)
	if err != nil || m == nil {
		return err
	}
	if _, err := m.Find(d.o.Group.Name); err != nil {
		return nil // It has a store of its own.
	}
	is, err := clusterOf(m, nil)
	if err == nil {
		d.srv.LoadBy(is)
	}
	return err
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
				if member.Addr != "" { // It was entered, and has not started yet.
					of.Members = append(of.Members, member.Addr)
				}
			}
		}
		c.Groups = append(c.Groups, of)
	}
	return c, nil
}
