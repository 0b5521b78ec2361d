package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Several groups
//
// Several groups of servers have one store together, by a map (docs/decisions/many-groups.md).
// A client that finds this in the first hello has a connection to each group, made when it is
// needed first, each with its own sessions, engines and policies:
//
//	Client --> connection: no sessions of its own
//	             '- cluster: the map
//	                  |- connection to the primary of group a
//	                  '- connection to the primary of group b
//
//	get, put, patch, delete   the group of the id, or of a box's centre
//	search, count, watch ...  all groups that have any ids, at the same time; of boxes those that
//	                          may have some in the area
//
// A group refuses with ErrMoved what it does not have, and what is asked of many ids by another
// map than its own (clustermap.go). What is not routed, such as statistics, is refused here
// (ErrSeveralGroups), and never answered by one group alone.

// cluster is what a connection has if several groups have the store together.
type cluster struct {
	c      *connection // options, log and addresses
	view   atomic.Pointer[view]
	asking chan struct{} // has an element while a goroutine asks for the map

	mu     sync.Mutex
	groups map[string]*groupConn
}

// view is the map as this client knows it. It does not change.
type view struct {
	*groupMap
	epoch, version uint64
	addrs          map[string][]string // of the members of each group
	over           chan struct{}       // closed when a map of another epoch takes its place
}

// groupConn is the connection to a group.
type groupConn struct {
	name    string
	dialing chan struct{} // has an element while a goroutine dials, or when the client is closed
	conn    atomic.Pointer[connection]
}

// ofCluster says of which cluster a connection is a part; nil: of none.
type ofCluster struct {
	*cluster
	group string
}

// has reports whether the group has an id, by the present map.
func (p *ofCluster) has(id []byte) bool {
	v := p.view.Load()
	return v.names[v.of(id)] == p.group
}

// refresh adds the addresses of the group's members that the map has now to those that its
// connection looks at. All may have got others since the last session: then only another
// group knows them.
func (p *ofCluster) refresh(c *connection) {
	p.ask(c.ctx, p.view.Load())
	for _, addr := range p.view.Load().addrs[p.group] {
		if !slices.Contains(c.servers.members, addr) {
			c.servers.members = slices.Insert(c.servers.members, 0, addr)
		}
	}
	c.servers.members = c.servers.members[:min(len(c.servers.members), maxAddrs)]
}

// severalGroups is the error of a search for the server if there are several groups.
type severalGroups struct{ found helloAnswer }

func (e *severalGroups) Error() string {
	return fmt.Sprintf("%d groups have this store together, by the server at %s; a client that knew one must connect again",
		e.found.hello.Cluster.Groups, e.found.addr)
}

// Unwrap makes requests fail as without a server.
func (e *severalGroups) Unwrap() error { return model.ErrNoServer }

// startCluster makes the connection one to several groups.
func (c *connection) startCluster(ctx context.Context, found helloAnswer) error {
	if c.opts.Custom != nil {
		return fmt.Errorf("%w: Custom is one policy, and each of several groups needs its own; choose one by name", model.ErrOption)
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	k := &cluster{c: c, asking: make(chan struct{}, 1), groups: map[string]*groupConn{}}
	if err := k.askAt(ctx, found); err != nil {
		return err
	}
	c.cluster = k
	return nil
}

// conn returns the connection to a group, and makes it at first. Errors name the group.
func (k *cluster) conn(ctx context.Context, v *view, group int) (*connection, error) {
	name := v.names[group]
	k.mu.Lock()
	g := k.groups[name]
	if g == nil {
		g = &groupConn{name: name, dialing: make(chan struct{}, 1)}
		k.groups[name] = g
	}
	k.mu.Unlock()
	if c := g.conn.Load(); c != nil {
		return c, nil
	}
	select {
	case g.dialing <- struct{}{}:
	case <-k.c.ctx.Done():
		return nil, fmt.Errorf("%w: %w", model.ErrNotSent, model.ErrClosed)
	case <-ctx.Done():
		return nil, ofGroup(name, fmt.Errorf("%w: %w", model.ErrNotSent, ctx.Err()))
	}
	defer func() { <-g.dialing }()
	if c := g.conn.Load(); c != nil {
		return c, nil
	}
	if k.c.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrNotSent, model.ErrClosed)
	}
	c, err := k.dial(ctx, name)
	if err != nil {
		return nil, ofGroup(name, err)
	}
	g.conn.Store(c)
	return c, nil
}

// dial makes the connection to a group.
func (k *cluster) dial(ctx context.Context, name string) (*connection, error) {
	addrs, err := k.addrsOf(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := newConnection(strings.Join(addrs, ","), k.c.opts)
	if err != nil {
		return nil, err
	}
	c.part, c.servers.group = &ofCluster{k, name}, name
	if c.others != nil {
		c.others.servers.group = name
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.c.ctx, cancel)()
	if err := c.start(ctx); err != nil {
		_ = c.close()
		return nil, err
	}
	return c, nil
}

// addrsOf returns the addresses of a group's members. A group that has just been made is
// known to the members of others a second later.
func (k *cluster) addrsOf(ctx context.Context, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, k.c.opts.DialTimeout)
	defer cancel()
	var pauses pauses
	for {
		v := k.view.Load()
		if addrs := v.addrs[name]; len(addrs) > 0 {
			return addrs, nil
		}
		if k.ask(ctx, v); k.view.Load() == v && !pauses.atMost(longestSearch).wait(ctx) {
			return nil, fmt.Errorf("%w: no addresses of its members are known", model.ErrNoServer)
		}
	}
}

// ofGroup is an error that names the group.
func ofGroup(name string, err error) error { return fmt.Errorf("group %q: %w", name, err) }

// all returns the connections that were made so far.
func (k *cluster) all() (l []*connection) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, g := range k.groups {
		if c := g.conn.Load(); c != nil {
			l = append(l, c)
		}
	}
	return l
}

// close ends all connections. The parent's context is done.
func (k *cluster) close() error {
	k.mu.Lock()
	groups := k.groups
	k.groups = map[string]*groupConn{}
	k.mu.Unlock()
	var all []error
	for _, g := range groups {
		g.dialing <- struct{}{} // for ever
		if c := g.conn.Load(); c != nil {
			all = append(all, c.close())
		}
	}
	return errors.Join(all...)
}

// notRouted is the error of a request that is not made of several groups.
func notRouted(what string) error {
	return fmt.Errorf("%w: %s", model.ErrSeveralGroups, what)
}

// notRoutedKind is notRouted of a kind of request.
func notRoutedKind(k fastmsg.Kind) error {
	switch k {
	case wire.KindBackup:
		return notRouted("backups by servers; 'catfish backup --coordinators' makes one of all groups")
	case wire.KindSwap:
		return notRouted("swapping names, which is at one moment for all clients,")
	}
	return notRouted(fmt.Sprintf("requests of kind %d", k))
}
