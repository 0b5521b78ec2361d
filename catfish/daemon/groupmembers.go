package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/wire"
)

// How members of a group know each other. The one that is asked wants a key of role replica
// for its group, and with Group.MemberCA a certificate; the one that asks wants a certificate
// of the address that it has dialled.

// openMembers reads the files that members need.
func (d *Daemon) openMembers() (err error) {
	o, log := &d.o, d.o.Server.Logger
	switch {
	case o.Server.Keys == nil:
		log.Warn("members of the group need no keys: whoever reaches this server's port can copy its store", "group", o.Group.Name)
	case o.Group.MemberCA == "":
		log.Warn("members of the group show their keys without TLS", "group", o.Group.Name)
	}
	if o.Group.MemberCA != "" {
		files := certs.Files{Cert: o.TLS.Cert, Key: o.TLS.Key, ClientCA: o.Group.MemberCA}
		if d.group.certs, err = certs.NewServer(files, log); err != nil {
			return err
		}
	}
	if o.Server.Keys == nil {
		return nil
	}
	key, err := o.Group.readKey()
	if err != nil {
		return err
	}
	if _, err := o.checkMember(key); err != nil {
		return badOption("Group.KeyFile %s, by Server.Keys: %w", o.Group.KeyFile, err)
	}
	return nil
}

// maxKeyFile is larger than any key.
const maxKeyFile = 4 << 10

// readKey reads this member's key, which may be another than at the start.
func (g *Group) readKey() (string, error) {
	f, err := os.Open(g.KeyFile)
	if err != nil {
		return "", fmt.Errorf("catfish: key of this member: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	key := string(bytes.TrimSpace(text))
	if err == nil && (len(text) > maxKeyFile || len(key) > wire.MaxKey || key == "") {
		err = fmt.Errorf("%d bytes, want one line with a key", len(text))
	}
	if err != nil {
		return "", fmt.Errorf("catfish: key of this member in %s: %w", g.KeyFile, err)
	}
	return key, nil
}

// checkMember refuses keys that are not those of members of the group.
func (o *Options) checkMember(key string) (*access.Principal, error) {
	p, err := o.Server.Keys.Authenticate(key)
	if err != nil {
		return nil, err
	}
	return p, p.CheckReplica(o.Group.Name)
}

// admit checks another member's key.
func (d *Daemon) admit(key string, lost func()) (stop func() bool, err error) {
	p, err := d.o.checkMember(key)
	if err != nil {
		return nil, err
	}
	return p.OnEnd(lost), nil
}

// between are the options of a node for its way to other members.
func (d *Daemon) between() node.Options {
	o := node.Options{Group: d.o.Group.Name, Dial: d.dialMember, Rings: d.o.Group.rings(d.o.Server.Fabric), Logger: d.log}
	if d.o.Server.Keys != nil {
		o.Key, o.Admit = d.o.Group.readKey, d.admit
	}
	return o
}

// dialMember opens a stream to another member.
func (d *Daemon) dialMember(ctx context.Context, addr string) (net.Conn, error) {
	return d.dialStream(ctx, addr, wire.StreamReplica)
}

func (d *Daemon) dialStream(ctx context.Context, addr string, kind uint16) (net.Conn, error) {
	return cluster.Dial(ctx, addr, kind, d.group.certs)
}

// lanes accepts streams of other members.
func (d *Daemon) lanes() net.Listener { return d.betweenMembers(d.srv.Lanes()) }

func (d *Daemon) betweenMembers(l net.Listener) net.Listener {
	if d.group.certs == nil {
		return l
	}
	return tls.NewListener(l, d.group.certs.ConfigFor(cluster.Protocol))
}

// CoordinatorTLS names PEM files for connections to coordinators.
type CoordinatorTLS struct {
	// CA has the roots of the coordinators' certificates; empty: they have no TLS.
	CA string
	// Cert and Key are what this server shows to them; 'catfish coordinator' wants it.
	Cert, Key string
}

func (t *CoordinatorTLS) config() (*tls.Config, error) {
	if t.CA == "" {
		return nil, nil
	}
	return certs.Client(t.CA, t.Cert, t.Key)
}
