package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/replica"
)

var errTail = errors.New("replica: published entries are not in memory")

// ErrOtherStore: a member's data directory has another store than its group.
var ErrOtherStore = errors.New("replica: the data directory has another store")

// ErrGroupFull: the group has as many members as it can.
var ErrGroupFull = errors.New("replica: the group has no room for another member")

// ErrLostTerms: the log of a member has a later term than its group, so the coordinators have
// lost later decisions. The last primary has to start first.
var ErrLostTerms = errors.New("replica: the coordinators have lost the group's last terms")

// Group is the value of the group's key in the coordinator.
type Group struct {
	Name      string     `json:"name"`
	Store     string     `json:"store"` // identity of the data
	Term      uint64     `json:"term"`
	Primary   string     `json:"primary"`
	InSync    []string   `json:"in_sync"`
	MinInSync int        `json:"min_in_sync"`
	Durable   bool       `json:"durable"` // acknowledgements count when entries are on disk
	Members   []Member   `json:"members"`
	Next      replica.ID `json:"next"` // id of the next new member
	// Wanted is the member that an operator wants to be the primary.
	Wanted string `json:"wanted,omitempty"`
	// Removed: the group was taken out of the map of groups, with nothing in its store. It means nothing while
	// the map names the group.
	Removed bool `json:"removed,omitempty"`

	version int64
}

// Member is one of a group.
type Member struct {
	ID   replica.ID `json:"id"`
	Name string     `json:"node"`
	Addr string     `json:"addr"`
	Boot uint64     `json:"boot"` // of its process: a change that an earlier one asked for fails
}

// Key is the coordinator's key of a group.
func Key(group string) string { return "groups/" + group }

func (g *Group) key() string { return Key(g.Name) }

// Parse reads the value of a group's key.
func Parse(v coord.Value) (*Group, error) {
	g := &Group{version: v.Version}
	if err := json.Unmarshal(v.Bytes, g); err != nil {
		return nil, fmt.Errorf("replica: value of %s: %w", v.Key, err)
	}
	return g, nil
}

// Member returns the member of a name, nil if there is none.
func (g *Group) Member(name string) *Member {
	for i := range g.Members {
		if g.Members[i].Name == name {
			return &g.Members[i]
		}
	}
	return nil
}

// byID returns a member, nil if there is none.
func (g *Group) byID(id replica.ID) *Member {
	for i := range g.Members {
		if g.Members[i].ID == id {
			return &g.Members[i]
		}
	}
	return nil
}

// config is what the protocol knows of it.
func (g *Group) config() replica.Config {
	c := replica.Config{Version: uint64(g.version), Term: g.Term, MinInSync: g.MinInSync}
	if g.Durable {
		c.Level = replica.Durable
	}
	for _, m := range g.Members {
		c.Members = c.Members.With(m.ID)
		if m.Name == g.Primary {
			c.Primary = m.ID
		}
		if slices.Contains(g.InSync, m.Name) {
			c.InSync = c.InSync.With(m.ID)
		}
	}
	return c
}

// with is the group after a change of the protocol's.
func (g *Group) with(c replica.Config) *Group {
	next := *g
	next.Term, next.InSync = c.Term, nil
	for _, m := range g.Members {
		if c.InSync.Has(m.ID) {
			next.InSync = append(next.InSync, m.Name)
		}
		if m.ID == c.Primary {
			next.Primary = m.Name
		}
	}
	if next.Term != g.Term {
		next.Wanted = ""
	}
	return &next
}

func (g *Group) encode() []byte {
	b, _ := json.Marshal(g) // Numbers and strings cannot fail.
	return b
}

// joinPause is between attempts to join while other members change the group, too.
const joinPause = 50 * time.Millisecond

// join makes this process a member, or makes the group. last is the last term of its log.
func join(ctx context.Context, o *Options, boot, last uint64) (*Group, error) {
	for {
		v, err := o.Coord.Get(ctx, Key(o.Group))
		if err != nil {
			return nil, err
		}
		g, err := joined(o, v, boot)
		if err != nil {
			return nil, err
		}
		if g.Primary == o.Name {
			g.Term = max(g.Term, last) // No term may begin twice; it takes the next one.
		} else if last > g.Term {
			return nil, fmt.Errorf("%w: group %q is of term %d, the log of member %q of term %d", ErrLostTerms, g.Name, g.Term, o.Name, last)
		}
		g.version, err = o.Coord.Swap(ctx, g.key(), v.Version, g.encode())
		switch {
		case err == nil:
			return g, nil
		case !errors.Is(err, coord.ErrConflict) && !errors.Is(err, coord.ErrUnknown):
			return nil, err
		}
		select {
		case <-time.After(joinPause):
		case <-ctx.Done():
			return nil, fmt.Errorf("replica: joining group %q: %w", o.Group, context.Cause(ctx))
		}
	}
}

// Make makes the group of a member that is about to start, unless there is one, so that all
// members agree on the identity of its store before they have one. has says that the
// member's directory has the store: then it is the first primary. Otherwise the first
// member that joins is. ErrConflict of package coord: another
// member has made it.
func Make(ctx context.Context, o Options, has bool) error {
	g := newGroup(&o, Member{Name: o.Name})
	if !has {
		g.Primary, g.InSync, g.Members, g.Next = "", nil, nil, 0
	}
	_, err := o.Coord.Swap(ctx, g.key(), 0, g.encode())
	return err
}

// newGroup has one member, its primary, which takes a term of its own when it starts.
func newGroup(o *Options, me Member) *Group {
	return &Group{Name: o.Group, Store: o.StoreID, Term: 1, Primary: o.Name, InSync: []string{o.Name}, MinInSync: max(o.MinInSync, 1),
		Durable: o.Level == replica.Durable, Members: []Member{me}, Next: 1}
}

// joined is the group with this process.
func joined(o *Options, v coord.Value, boot uint64) (*Group, error) {
	me := Member{Name: o.Name, Addr: o.Addr, Boot: boot}
	if v.Version == 0 {
		return newGroup(o, me), nil
	}
	g, err := Parse(v)
	if err != nil {
		return nil, err
	}
	if g.Store != o.StoreID {
		return nil, fmt.Errorf("%w: %s, group %q has %s", ErrOtherStore, o.StoreID, o.Group, g.Store)
	}
	if len(g.Members) == 0 { // Make
		first := newGroup(o, me)
		first.MinInSync, first.Durable, first.version = g.MinInSync, g.Durable, g.version
		return first, nil
	}
	if m := g.Member(o.Name); m != nil {
		me.ID = m.ID
		*m = me
		return g, nil
	}
	if g.Next >= replica.MaxMembers {
		return nil, fmt.Errorf("%w: %d were members of %q", ErrGroupFull, g.Next, o.Group)
	}
	me.ID = g.Next
	g.Next++
	g.Members = append(g.Members, me)
	return g, nil
}

// A decision is a change to ask for, or a read.
type decision struct {
	change bool
	config replica.Config
}

// retryPause is between attempts to reach the coordinator.
const retryPause = 20 * time.Millisecond

// callTime bounds a call of the coordinator, before it is made again.
const callTime = 2 * time.Second

// runDecide asks the coordinator.
func (n *Node) runDecide() {
	var work []decision
	for {
		if work = n.decide.take(work); work == nil {
			return
		}
		for _, d := range work {
			if d.change {
				n.change(d.config)
			}
		}
		n.readGroup() // once for all reads that have collected
		n.lanes.unfence()
	}
}

// change asks for a change until it was made, or the group has another version. Its
// outcome is what readGroup finds.
//
// It reads first. A primary that nothing reaches hears no secondary; if what it sends still
// arrived, it would take all of them out of the set, and none could replace it.
func (n *Node) change(c replica.Config) {
	g := n.config.Load()
	if c.Primary == n.id && g.Primary != n.o.Name {
		// The old primary may be stopped, and continue: its writes reach nothing from now on.
		n.lanes.fence()
	}
	for n.ctx.Err() == nil && uint64(g.version) == c.Version {
		ctx, cancel := context.WithTimeout(n.ctx, callTime)
		v, err := n.o.Coord.Get(ctx, g.key())
		if err == nil && v.Version == g.version {
			_, err = n.o.Coord.Swap(ctx, g.key(), g.version, g.with(c).encode())
		}
		cancel()
		n.counts.asked(err != nil && !errors.Is(err, coord.ErrConflict))
		if err == nil || errors.Is(err, coord.ErrConflict) {
			return
		}
		n.log.Warn("the coordinator cannot be asked for a change", "error", err)
		n.pause()
	}
}

func (n *Node) readGroup() {
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, callTime)
		v, err := n.o.Coord.Get(ctx, Key(n.o.Group))
		cancel()
		n.counts.asked(err != nil)
		if err == nil {
			var g *Group
			if g, err = Parse(v); err == nil {
				n.learned(g)
				return
			}
			if v.Version == 0 {
				err = fmt.Errorf("%w: %q, of which this is a member", ErrNoGroup, n.o.Group)
			}
		}
		n.log.Warn("the group cannot be read", "error", err)
		n.pause()
	}
}

func (n *Node) pause() {
	select {
	case <-time.After(retryPause):
	case <-n.ctx.Done():
	}
}

// learned hands a group that was read to the protocol.
func (n *Node) learned(g *Group) {
	if old := n.config.Load(); old != nil {
		if old.version >= g.version {
			return
		}
		n.counts.count(old, g)
	}
	n.config.Store(g)
	n.lanes.learned(g)
	n.notify(replica.Learned{Config: g.config()})
	n.wanted(g)
}
