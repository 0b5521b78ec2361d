// Package coord reads and changes what a group of servers has decided: one value for each
// group, in etcd.
//
// A value is changed only by Swap, a transaction on the version that was read. Of
// several members that decide at the same time, one wins; the others read what it
// decided. Reads are linearizable. A watch is a wake-up, no more: its receiver reads.
//
// Neither locks nor leases of etcd are used. They do not exclude: a process that was
// stopped goes on when its lease has ended (https://jepsen.io/analyses/etcd-3.4.3).
package coord

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Errors. After each of them a caller reads again, then decides.
var (
	// ErrConflict: the value has another version by now; nothing was changed.
	ErrConflict = errors.New("coord: changed meanwhile")
	// ErrUnknown: the answer was lost. The change was made, or not, or will be.
	ErrUnknown = errors.New("coord: outcome unknown")
	// ErrAway: no coordinator answered; nothing was changed.
	ErrAway = errors.New("coord: no coordinator answers")
)

// DefaultPrefix is where keys begin.
const DefaultPrefix = "/catfish/"

// Options say where the coordinators are.
type Options struct {
	Addrs          []string // host:port
	TLS            *tls.Config
	User, Password string
	Prefix         string // of all keys; empty: DefaultPrefix
}

// Client is safe for concurrent use.
type Client struct {
	etcd   *clientv3.Client
	prefix string
	addrs  string
}

// Value is one as it was read.
type Value struct {
	Key   string
	Bytes []byte
	// Version is that of the last change, 0: there is no value.
	Version int64
}

// keepalive is how soon a coordinator that answers nothing is replaced by another. A failover
// is to take a second (docs/decisions/coordinator.md), and most of them need no change of coordinator.
const keepalive = time.Second

// Dial returns a client. It does not wait for a coordinator to answer.
func Dial(o Options) (*Client, error) {
	if len(o.Addrs) == 0 {
		return nil, errors.New("coord: no address of a coordinator")
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: o.Addrs, TLS: o.TLS, Username: o.User, Password: o.Password, Logger: zap.NewNop(),
		DialKeepAliveTime: keepalive, DialKeepAliveTimeout: keepalive, PermitWithoutStream: true,
	})
	if err != nil {
		return nil, fmt.Errorf("coord: %s: %w", strings.Join(o.Addrs, ","), err)
	}
	return &Client{etcd: c, prefix: o.Prefix, addrs: strings.Join(o.Addrs, ",")}, nil
}

// Close ends the connections. Calls that wait end with an error.
func (c *Client) Close() error { return c.etcd.Close() }

// Get reads a value.
func (c *Client) Get(ctx context.Context, key string) (Value, error) {
	r, err := c.etcd.Get(ctx, c.prefix+key)
	if err != nil {
		return Value{}, c.fail("reading", key, err, false)
	}
	if len(r.Kvs) == 0 {
		return Value{Key: key}, nil
	}
	return Value{Key: key, Bytes: r.Kvs[0].Value, Version: r.Kvs[0].ModRevision}, nil
}

// List reads all values whose keys begin with prefix, by key.
func (c *Client) List(ctx context.Context, prefix string) ([]Value, error) {
	r, err := c.etcd.Get(ctx, c.prefix+prefix, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	if err != nil {
		return nil, c.fail("listing", prefix, err, false)
	}
	all := make([]Value, len(r.Kvs))
	for i, kv := range r.Kvs {
		all[i] = Value{strings.TrimPrefix(string(kv.Key), c.prefix), kv.Value, kv.ModRevision}
	}
	return all, nil
}

// Swap changes a value that still has this version, 0: that does not exist, and returns
// the new version. nil deletes it.
func (c *Client) Swap(ctx context.Context, key string, version int64, value []byte) (int64, error) {
	return c.SwapIf(ctx, key, version, value)
}

// SwapIf is Swap if others, by key, have their versions, too.
func (c *Client) SwapIf(ctx context.Context, key string, version int64, value []byte, others ...Value) (int64, error) {
	change := clientv3.OpPut(c.prefix+key, string(value))
	if value == nil {
		change = clientv3.OpDelete(c.prefix + key)
	}
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(c.prefix+key), "=", version)}
	for _, v := range others {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(c.prefix+v.Key), "=", v.Version))
	}
	r, err := c.etcd.Txn(ctx).If(conditions...).Then(change).Commit()
	if err != nil {
		return 0, c.fail("changing", key, err, true)
	}
	if !r.Succeeded {
		return 0, fmt.Errorf("%w: %s at %s, which was read as version %d", ErrConflict, key, c.addrs, version)
	}
	return r.Header.Revision, nil
}

// Watch calls wake after each change of a value, and whenever changes may have been
// missed, until ctx is done.
func (c *Client) Watch(ctx context.Context, key string, wake func()) {
	for ctx.Err() == nil {
		// Without a leader the watch would be silent; it ends instead, and begins again.
		for range c.etcd.Watch(clientv3.WithRequireLeader(ctx), c.prefix+key) {
			wake()
		}
		wake()
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

// watchPause is between watches that end at once, as they do while no leader exists.
const watchPause = 100 * time.Millisecond

// fail describes an error.
func (c *Client) fail(doing, key string, err error, change bool) error {
	kind := ErrAway
	// What the client refused to send was not done; of all else it is not known.
	if change && status.Code(err) != codes.Unauthenticated && status.Code(err) != codes.PermissionDenied {
		kind = ErrUnknown
	}
	return fmt.Errorf("%w: %s %s at %s: %w", kind, doing, key, c.addrs, err)
}
