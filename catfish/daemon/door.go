package daemon

import (
	"context"
	"net"

	"github.com/catfish-index/catfish/internal/door"
)

// door is what HTTP or gRPC knows of the group, nil if there is none.
func (d *Daemon) door(kind uint16) *door.Group {
	if !d.o.Group.on() {
		return nil
	}
	return &door.Group{
		Serves: func() bool {
			n := d.group.node.Load()
			return n != nil && n.Serves()
		},
		Primary: d.primaryAddr,
		Connect: func(ctx context.Context, addr string) (net.Conn, error) { return d.dialStream(ctx, addr, kind) },
	}
}

// primaryAddr is the address of another member that is the primary; empty: none is.
func (d *Daemon) primaryAddr() string {
	n := d.group.node.Load()
	if n == nil {
		return ""
	}
	g := n.Group()
	if m := g.Member(g.Primary); m != nil && m.Name != d.o.Group.Node {
		return m.Addr
	}
	return ""
}

// openDoor serves what other members forward to this one.
func (d *Daemon) openDoor(name string, kind uint16, serve func(net.Listener) error) {
	if d.o.Group.on() {
		d.services = append(d.services, &service{name: name + " of members", l: d.betweenMembers(d.srv.Door(kind)), serve: serve})
	}
}
