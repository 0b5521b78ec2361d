// Package coordinator runs etcd in this process. Groups of servers keep in it their
// members, their primary and its term (docs/decisions/coordinator.md); the data of collections
// never passes through it.
//
// One coordinator is enough to try groups out. In production three of them, on three
// machines, survive the loss of one. A server may as well use an etcd that exists
// already.
package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// ErrOption is the error of Options that contradict each other or have a bad value.
var ErrOption = errors.New("coordinator: bad option")

// Options describe one coordinator.
type Options struct {
	Dir    string // its state; it is made if it does not exist
	Listen string // host:port for servers
	// Name is this coordinator's in Members, and PeerListen its host:port there. Members
	// are all coordinators as name=host:port; none: this one is alone.
	Name       string
	PeerListen string
	Members    []string
	// Replace are host:port, for servers, of the others, while this one's directory is
	// lost: it becomes a new member of them under its name (replace.go). With a directory that has
	// state it changes nothing.
	Replace []string
	// CertFile, KeyFile and CAFile, all or none: TLS towards servers and the others, which
	// must have certificates of that authority.
	CertFile, KeyFile, CAFile string
	// NoSync leaves out fsync: a power failure loses what was decided. For tests.
	NoSync bool
}

// Times of etcd. A leader that was lost is replaced within two election times; the bound of
// a failover in which etcd loses its leader too is 3 s (docs/decisions/coordinator.md).
const (
	tickMillis     = 50
	electionMillis = 500
)

// Coordinator is a running one.
type Coordinator struct {
	etcd   *embed.Etcd
	closes sync.Once
}

// Start starts a coordinator, and returns once it takes part in decisions. It waits
// for a majority of Members, or until ctx is done.
func Start(ctx context.Context, o Options) (*Coordinator, error) {
	c, err := config(&o)
	if err != nil {
		return nil, err
	}
	if len(o.Replace) > 0 {
		if err := replace(ctx, c, &o); err != nil {
			return nil, err
		}
	}
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, fmt.Errorf("coordinator: starting etcd in %s: %w", o.Dir, err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return &Coordinator{etcd: e}, nil
	case err := <-e.Err():
		e.Close()
		return nil, fmt.Errorf("coordinator: etcd in %s ended: %w", o.Dir, err)
	case <-ctx.Done():
		e.Close()
		return nil, fmt.Errorf("coordinator: waiting for a majority of %s: %w", c.InitialCluster, context.Cause(ctx))
	}
}

// Addr is the address for servers.
func (c *Coordinator) Addr() string { return c.etcd.Clients[0].Addr().String() }

// Err has the error by which the coordinator ends.
func (c *Coordinator) Err() <-chan error { return c.etcd.Err() }

// Close ends it.
func (c *Coordinator) Close() { c.closes.Do(c.etcd.Close) }

// config is the one of etcd.
func config(o *Options) (*embed.Config, error) {
	if o.Dir == "" {
		return nil, fmt.Errorf("%w: no directory", ErrOption)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("coordinator: %w", err)
	}
	c := embed.NewConfig()
	c.Dir, c.Name = o.Dir, o.Name
	if c.Name == "" {
		c.Name = "c1"
	}
	c.TickMs, c.ElectionMs = tickMillis, electionMillis
	c.AutoCompactionMode, c.AutoCompactionRetention = "periodic", "1h"
	c.UnsafeNoFsync = o.NoSync
	c.EnableGRPCGateway = false
	// What concerns operators is a warning; etcd logs each start in fifty lines of less.
	// Messages go where those of catfish go.
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger())
	scheme, err := secure(c, o)
	if err != nil {
		return nil, err
	}
	listen, err := endpoint(scheme, o.Listen)
	if err != nil {
		return nil, err
	}
	peer := o.PeerListen
	if peer == "" {
		if len(o.Members) > 0 {
			return nil, fmt.Errorf("%w: members, but no address for them to reach this one", ErrOption)
		}
		peer = "127.0.0.1:0"
	}
	peers, err := endpoint(scheme, peer)
	if err != nil {
		return nil, err
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{listen}, []url.URL{listen}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	return c, cluster(c, o, scheme)
}

// cluster sets the members.
func cluster(c *embed.Config, o *Options, scheme string) error {
	if len(o.Members) == 0 {
		if len(o.Replace) > 0 {
			return fmt.Errorf("%w: to be replaced among %s, but no members", ErrOption, strings.Join(o.Replace, ","))
		}
		c.InitialCluster = c.InitialClusterFromName(c.Name)
		return nil
	}
	var all []string
	var own *url.URL
	for _, m := range o.Members {
		name, addr, ok := strings.Cut(m, "=")
		u, err := endpoint(scheme, addr)
		if !ok || name == "" || err != nil {
			return fmt.Errorf("%w: member %q, want NAME=HOST:PORT", ErrOption, m)
		}
		if name == c.Name {
			own = &u
		}
		all = append(all, name+"="+u.String())
	}
	if own == nil {
		return fmt.Errorf("%w: %q is not among the members %s", ErrOption, c.Name, strings.Join(o.Members, ","))
	}
	slices.Sort(all)
	c.AdvertisePeerUrls = []url.URL{*own}
	c.InitialCluster = strings.Join(all, ",")
	return nil
}

// secure sets TLS, and returns the scheme of addresses.
func secure(c *embed.Config, o *Options) (string, error) {
	switch {
	case o.CertFile == "" && o.KeyFile == "" && o.CAFile == "":
		return "http", nil
	case o.CertFile == "" || o.KeyFile == "" || o.CAFile == "":
		return "", fmt.Errorf("%w: certificate %q, key %q, authority %q: want all three or none", ErrOption, o.CertFile, o.KeyFile, o.CAFile)
	}
	if _, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile); err != nil {
		return "", fmt.Errorf("coordinator: certificate %s: %w", o.CertFile, err)
	}
	info := transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile, ClientCertAuth: true}
	c.ClientTLSInfo, c.PeerTLSInfo = info, info
	return "https", nil
}

func endpoint(scheme, addr string) (url.URL, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return url.URL{}, fmt.Errorf("%w: address %q, want HOST:PORT", ErrOption, addr)
	}
	return url.URL{Scheme: scheme, Host: addr}, nil
}

func logger() *zap.Logger {
	e := zap.NewProductionEncoderConfig()
	e.EncodeTime = zapcore.TimeEncoderOfLayout(time.RFC3339)
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(e), zapcore.Lock(os.Stderr), zapcore.WarnLevel))
}
