package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// Client searches and changes one collection of a server. All methods
// are safe for any number of goroutines, which share one connection.
type Client struct {
	conn       *connection // shared by the Clients of all collections
	collection string
}

// Dial connects to the server at addr (host:port), or to the primary of a group, of which
// addr names one member or several (host:port,host:port); or to all groups, if several have
// the store together, of which addr names members of any. When the server goes
// away later, or another member becomes the primary, the client reconnects with back-off;
// Dial itself tries once, or until the group has a primary, and fails with ErrNoServer
// within opts.DialTimeout.
func Dial(ctx context.Context, addr string, opts Options) (*Client, error) {
	c, err := newConnection(addr, opts)
	if err != nil {
		return nil, err
	}
	err = c.start(ctx)
	var several *severalGroups
	if errors.As(err, &several) {
		err = c.startCluster(ctx, several.found)
	}
	if err != nil {
		_ = c.close() // The failed client is not returned.
		return nil, err
	}
	return &Client{conn: c, collection: c.opts.Collection}, nil
}

// Collection is a Client for another collection over the same connection.
// Its first operation shows whether it exists.
func (c *Client) Collection(name string) (*Client, error) {
	if err := wire.CheckFind(name); err != nil {
		return nil, err
	}
	return &Client{conn: c.conn, collection: name}, nil
}

// Close ends the connection, for the Clients of all collections. In-flight calls
// return errors.
func (c *Client) Close() error { return c.conn.close() }

// ConnInfo describes the server that a client is connected to, and how.
type ConnInfo struct {
	Addr      string `json:"addr"`
	Transport string `json:"transport"`
	Reason    string `json:"transport_reason"`
	Device    string `json:"device,omitempty"` // what carries the transport
	Policy    string `json:"policy"`
	BootID    uint64 `json:"boot_id,string"`
	Version   string `json:"version"`
	NodeBytes int    `json:"node_bytes"`
}

// Info describes the present connection, or the last one.
func (c *Client) Info() ConnInfo {
	if k := c.conn.cluster; k != nil {
		return k.info()
	}
	s := c.conn.sessions.latest()
	i := ConnInfo{
		Addr: s.server, Transport: s.transport, Reason: s.reason, Policy: c.conn.engines[ofBoxes].Policy(),
		BootID: s.hello.BootID, Version: s.hello.Version,
	}
	if s.dev != nil {
		i.Device = s.dev.Info().Detail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.slabs[c.collection]; o != nil {
		i.NodeBytes = int(o.NodeBytes)
	}
	return i
}

// compatible refuses schemes that need rings over plain sockets. Policy tcp
// is plain sockets by its name, whatever the transport of the others.
func compatible(sch Scheme, opts Options) error {
	if opts.Transport == model.TransportTCP && (!sch.TCP || opts.Custom != nil) {
		return fmt.Errorf("%w: transport tcp has no one-sided reads and no heartbeats; it goes with policy tcp only, not %s",
			model.ErrOption, sch.Name)
	}
	return nil
}
