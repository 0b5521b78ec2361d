package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/metrics"
	"github.com/catfish-index/catfish/internal/mover"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/whole"
	"github.com/catfish-index/catfish/internal/wire"
)

// Group makes the server a member of a group: a primary, which takes the writes, and
// secondaries, which have them before they are acknowledged. It needs Server.DataDir. A
// member that does not exist joins; the first one makes the group. docs/cluster.md has the
// promises.
type Group struct {
	// Coordinators are host:port of 'catfish coordinator', or of an etcd; empty: no group.
	Coordinators []string
	User         string // of an etcd with users
	Password     string
	TLS          CoordinatorTLS
	Prefix       string // of keys in an etcd that others use, too; empty: "/catfish/"
	// Name is the group's, and Node this server's in it. Node stays with the directory.
	Name, Node string
	// Addr is host:port for clients and other members; empty: the server's own address.
	Addr string
	// MinInSync is the least number of members, with the primary, that must have a write;
	// below it writes are refused. Durable: they must have it on disk. Both are those of the
	// member that makes the group; 0: 1.
	MinInSync int
	Durable   bool
	// KeyFile has this member's key, of role replica for the group (catfish keys), which it
	// shows to others. It needs one if Server.Keys is set, whose keys others must show.
	KeyFile string
	// MemberCA has the roots of members' certificates. Streams between members have TLS
	// then, and both sides show their TLS.Cert: it is for servers and clients. Empty: no TLS.
	MemberCA string
	// LaneTransport is how the log, and a copy of the store, comes from the primary: catfish.TransportAuto, or empty,
	// chooses as a client does, and takes TCP if there is no other; TransportTCP uses no
	// queue pair; with another one there is no lane but by that.
	LaneTransport string
	// LaneRing is the size of the ring for it, in bytes, 0: by the load of this machine, from
	// 256 KiB to 64 MiB.
	LaneRing int64
}

// ErrCopyNeeded: the log of the primary does not go back to what this member has. Wait
// returns it; open the daemon again, and it copies the store of another member.
var ErrCopyNeeded = errors.New("catfish: this member needs a copy of the store: start it again")

// Roles of members that should get no requests: one does not have all writes yet, the other
// takes part no more.
const (
	roleLearner = "learner"
	roleFailed  = "failed"
)

// copyMark says, in a data directory, that its store is to be replaced.
const copyMark = "COPY"

// copyTime bounds the copy of a store, and stepTime what takes no time as a rule.
const (
	copyTime = 24 * time.Hour
	stepTime = 10 * time.Second
	// copyPause is before the next attempt to copy.
	copyPause = 100 * time.Millisecond
	// leaveTime bounds the hand-over to another member at the end.
	leaveTime = 2 * time.Second
)

func (g *Group) on() bool { return len(g.Coordinators) > 0 }

func (g *Group) validate(o *server.Options) error {
	if err := g.validateLane(); err != nil {
		return err
	}
	switch {
	case !g.on() && (g.Name != "" || g.Node != ""):
		return badOption("Group.Name is %q and Group.Node %q without Group.Coordinators", g.Name, g.Node)
	case !g.on() && (g.KeyFile != "" || g.MemberCA != ""):
		return badOption("Group.KeyFile is %q and Group.MemberCA %q without Group.Coordinators", g.KeyFile, g.MemberCA)
	case !g.on():
		return nil
	case g.Name == "" || g.Node == "":
		return badOption("Group.Name is %q and Group.Node %q, want both with Group.Coordinators", g.Name, g.Node)
	case o.DataDir == "":
		return badOption("Server.DataDir is empty, which a member of a group needs")
	case g.MinInSync < 0 || g.MinInSync > replica.MaxMembers:
		return badOption("Group.MinInSync is %d, want 0 (1) to %d", g.MinInSync, replica.MaxMembers)
	case o.Keys != nil && g.KeyFile == "":
		return badOption("Server.Keys is set and Group.KeyFile is not: members would give the store to clients without a key")
	case o.Keys == nil && g.KeyFile != "":
		return badOption("Group.KeyFile is %q without Server.Keys, by which members are known", g.KeyFile)
	case (g.TLS.Cert == "") != (g.TLS.Key == ""):
		return badOption("Group.TLS.Cert is %q and Group.TLS.Key %q, want both or none", g.TLS.Cert, g.TLS.Key)
	case g.TLS.Cert != "" && g.TLS.CA == "":
		return badOption("Group.TLS.Cert is %q without Group.TLS.CA", g.TLS.Cert)
	}
	return nil
}

// group is the daemon's part in its group.
type group struct {
	coord *coord.Client
	node  atomic.Pointer[node.Node] // nil: it has not joined
	led   atomic.Uint64             // the last term in which lead has done its steps
	// cluster is the map of several groups, nil: this one has a store of its own.
	cluster atomic.Pointer[wire.Cluster]
	mover   *mover.Mover               // set when joined is closed
	store   *server.Store              // the same
	view    atomic.Pointer[whole.View] // the map, for HTTP and gRPC
	joined  chan struct{}
	reading sync.Mutex    // held while the map is read
	reread  chan struct{} // has an element when the map is to be read
	waits   newEpoch
	certs   *certs.Server // of streams between members, nil: without TLS
}

// prepareGroup asks the coordinators before the store is opened: which store is it, and has
// this member to copy it first?
func (d *Daemon) prepareGroup() (err error) {
	g := &d.o.Group
	if err := d.openMembers(); err != nil {
		return err
	}
	c, err := g.TLS.config()
	if err != nil {
		return err
	}
	d.group.coord, err = coord.Dial(coord.Options{Addrs: g.Coordinators, User: g.User, Password: g.Password, Prefix: g.Prefix, TLS: c})
	if err != nil {
		return err
	}
	for began := time.Now(); ; {
		of, err := d.makeGroup()
		if err != nil {
			return err
		}
		b, err := hex.DecodeString(of.Store)
		if err != nil || len(b) != 16 {
			return fmt.Errorf("catfish: store %q of group %q, want 32 hexadecimal digits", of.Store, g.Name)
		}
		d.o.Server = server.AsMember(d.o.Server, [16]byte(b))
		// The primary may be about to start, too.
		err = d.copyStore(of)
		switch {
		case err == nil || d.ctx.Err() != nil || errors.Is(err, node.ErrNotAdmitted):
			return err
		case errors.Is(err, node.ErrBusy):
			began = time.Now()
		case time.Since(began) > stepTime:
			return err
		}
		d.log.Info("the store cannot be copied yet", "error", err)
		time.Sleep(copyPause)
	}
}

// makeGroup reads the group, and makes it if there is none.
func (d *Daemon) makeGroup() (*node.Group, error) {
	g := &d.o.Group
	ctx, cancel := context.WithTimeout(d.ctx, stepTime)
	defer cancel()
	for {
		v, err := d.group.coord.Get(ctx, node.Key(g.Name))
		if err != nil {
			return nil, err
		}
		if v.Version != 0 {
			return node.Parse(v)
		}
		id, found, err := disk.StoreOf(d.o.Server.DataDir)
		if err != nil {
			return nil, err
		}
		if !found {
			_, _ = rand.Read(id[:]) // It does not fail (crypto/rand).
		}
		err = node.Make(ctx, node.Options{Group: g.Name, Name: g.Node, StoreID: hex.EncodeToString(id[:]), Coord: d.group.coord,
			MinInSync: g.MinInSync, Level: g.level()}, found)
		if err != nil && !errors.Is(err, coord.ErrConflict) && !errors.Is(err, coord.ErrUnknown) {
			return nil, err
		}
	}
}

func (g *Group) level() replica.Level {
	if g.Durable {
		return replica.Durable
	}
	return replica.Received
}

// copyStore makes the data directory a copy of the primary's, if there is none, or it is
// marked. A directory that is replaced is kept beside the new one.
func (d *Daemon) copyStore(of *node.Group) error {
	dir := d.o.Server.DataDir
	_, marked := os.Stat(filepath.Join(dir, copyMark))
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 && marked != nil || of.Primary == d.o.Group.Node {
		return nil
	}
	from := of.Member(of.Primary)
	switch {
	case from == nil && len(of.Members) == 0:
		return nil // This member may become the first primary.
	case from == nil || from.Addr == "":
		return fmt.Errorf("catfish: group %q waits for its primary %q, which has the data and has not started yet", of.Name, of.Primary)
	}
	d.log.Info("copying the store of the primary", "from", from.Addr, "to", dir)
	ctx, cancel := context.WithTimeout(d.ctx, copyTime)
	defer cancel()
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := node.FetchCopy(ctx, d.between(), from.Addr, fresh); err != nil {
		return err
	}
	if len(entries) > 0 {
		aside := fmt.Sprintf("%s.replaced-%d", dir, time.Now().Unix())
		d.log.Warn("the directory of before is kept aside: remove it when nothing of it is missed", "dir", aside)
		err = os.Rename(dir, aside)
	} else if err = os.Remove(dir); errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.Rename(fresh, dir))
}

// joinGroup takes part in the group, with a store that was loaded.
func (d *Daemon) joinGroup(ctx context.Context, st *server.Store) (err error) {
	g := &d.o.Group
	addr := g.Addr
	if addr == "" {
		addr = d.srv.Addr()
	}
	id := st.StoreID()
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	o := d.between()
	o.Name, o.Addr, o.Dir, o.StoreID = g.Node, addr, d.o.Server.DataDir, hex.EncodeToString(id[:])
	o.Store, o.Coord, o.Lanes, o.MinInSync, o.Level = st, d.group.coord, d.lanes(), g.MinInSync, g.level()
	o.Copy = d.needsCopy
	o.Started = func(n *node.Node) {
		d.group.node.Store(n)
		d.srv.AnswerRings(n.AcceptRing)
	}
	d.openMover(st)
	o.Prepare = d.prepare
	// Before the first beacon, which says that it has what moved here, it answers by an older map.
	if err := d.readMap(ctx, false); err != nil {
		return err
	}
	n, err := node.Start(ctx, o)
	if err != nil {
		return err
	}
	d.joinCluster()
	st.Replicate(readBy{n, &d.group.mover.Leases})
	d.srv.SetGroup(d.groupHello)
	d.running.Go(d.lead)
	return nil
}

// needsCopy ends the daemon, so that its store is replaced at the next start.
func (d *Daemon) needsCopy() {
	err := os.WriteFile(filepath.Join(d.o.Server.DataDir, copyMark), nil, 0o600)
	d.end(errors.Join(ErrCopyNeeded, err))
}

// lead does what a primary does first, whenever this member has become it: it drops what
// bulk loads of the primaries before have left, and creates the collections that the
// options name.
func (d *Daemon) lead() {
	st, err := d.srv.Store()
	n := d.group.node.Load()
	for err == nil && d.ctx.Err() == nil {
		if term := n.Group().Term; term != d.group.led.Load() && n.Status().Leading {
			if err := errors.Join(st.DropLeftLoads(), st.CreateNamed()); err == nil {
				d.group.led.Store(term)
			} else if !errors.Is(err, model.ErrNotReady) {
				d.log.Debug("the primary's first steps cannot be taken yet", "error", err)
			}
		}
		select {
		case <-time.After(leadPause):
		case <-d.ctx.Done():
		}
	}
}

// leadPause is before lead looks again whether this member has become the primary.
const leadPause = 100 * time.Millisecond

// fillGroup calls Options.Fill if this member is the primary, after its first steps.
func (d *Daemon) fillGroup(ctx context.Context) error {
	for n := d.group.node.Load(); d.o.Fill != nil; {
		switch g := n.Group(); {
		case g.Primary != d.o.Group.Node:
			d.log.Info("the primary of the group fills what is kept", "primary", g.Primary)
			return nil
		case g.Term == d.group.led.Load():
			return d.o.Fill(ctx, d.srv)
		}
		select {
		case <-time.After(leadPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// leaveGroup hands over to another member, if this one is the primary, and ends the part in
// the group.
func (d *Daemon) leaveGroup() {
	if n := d.group.node.Load(); n != nil {
		n.Leave(leaveTime)
		_ = n.Close()
	}
	if d.group.coord != nil {
		_ = d.group.coord.Close()
	}
}

// startingHello is what the hello says until this member has joined.
func (d *Daemon) startingHello() *wire.GroupHello {
	return &wire.GroupHello{Name: d.o.Group.Name, Node: d.o.Group.Node, Role: roleLearner}
}

// groupHello is what the server's hello says of the group.
func (d *Daemon) groupHello() *wire.GroupHello {
	n := d.group.node.Load()
	g := n.Group()
	h := &wire.GroupHello{Name: g.Name, Node: d.o.Group.Node, Term: g.Term, Primary: g.Primary, Revision: n.Applied(), Requests: d.group.store.SlotRequests().Rate(), Lane: lane(n), Copy: sentCopy(n)}
	switch {
	case n.Status().Failed:
		h.Role = roleFailed
	case n.Serves():
		h.Role = wire.RolePrimary
	case slices.Contains(g.InSync, h.Node):
		h.Role = wire.RoleSecondary
	default:
		h.Role = roleLearner
	}
	for _, m := range g.Members {
		h.Members = append(h.Members, wire.GroupMember{Node: m.Name, Addr: m.Addr})
	}
	return h
}

// groupMember is what the metrics say of this member.
func (d *Daemon) groupMember() metrics.Member {
	n := d.group.node.Load()
	if n == nil {
		return metrics.Member{Group: d.o.Group.Name, Node: d.o.Group.Node, Role: roleLearner}
	}
	s := n.Stats()
	return metrics.Member{Group: s.Group.Name, Node: d.o.Group.Node, Role: d.groupHello().Role, Stats: &s, Map: d.presentMap()}
}

// presentMap is the map of several groups, nil: this group has a store of its own.
func (d *Daemon) presentMap() *placement.Map {
	c := d.group.cluster.Load()
	if c == nil {
		return nil
	}
	m, err := placement.Decode(c.Map) // It was encoded by clusterOf.
	if err != nil {
		d.log.Warn("the map of groups cannot be shown", "error", err)
	}
	return m
}

// ready says why this server should get no requests yet. A member should when it is in sync:
// what it answers before is old, and a rolling restart must wait for that.
func (d *Daemon) ready() error {
	if !d.o.Group.on() {
		return nil
	}
	if d.group.node.Load() == nil {
		return errors.New("this member has not joined its group")
	}
	switch r := d.groupHello().Role; r {
	case roleLearner, roleFailed:
		return fmt.Errorf("this member of the group is not in sync: %s", r)
	}
	return nil
}
