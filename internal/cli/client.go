package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/policy"
)

// clientFlags are the flags of every command that connects to a server. The cache
// and Algorithm 1 apply to commands that search.
type clientFlags struct {
	server, collection, transport, policy string
	fabric                                catfish.Fabric
	dialTimeout                           time.Duration
	cacheBytes                            int64
	trustCache                            bool
	backoff                               policy.Backoff
	flags                                 *pflag.FlagSet // of the command
	searches                              bool           // it has registerSearch's flags
	json                                  bool
	keyFile                               string
	readFrom                              string
	pointers, sharedPointers              string
}

func (f *clientFlags) register(c *cobra.Command) {
	fs := c.Flags()
	f.flags = fs
	fs.StringVarP(&f.server, "server", "s", defaultAddr, "server's host:port, or host for port "+defaultPort+"; of a group's members one or several: a,b,c")
	fs.StringVarP(&f.collection, "collection", "c", catfish.DefaultCollection,
		"collection on the server")
	fs.StringVar(&f.transport, "transport", catfish.TransportAuto,
		"auto, shm, soft, ofi or tcp; anything but auto must be had")
	fs.StringVar(&f.policy, "policy", "",
		"how searches go: "+strings.Join(catfish.Schemes(), ", "))
	fs.DurationVar(&f.dialTimeout, "dial-timeout", catfish.DefaultDialTimeout,
		"how long to try to reach the server")
	fs.StringVar(&f.keyFile, "key-file", "", "file with the key that the server wants; empty: $"+keyVariable)
	FabricFlags(c, &f.fabric)
	Complete(c, "transport", "auto", "shm", "soft", "ofi", "tcp")
	Complete(c, "policy", Policies()...)
}

// registerSearch registers the flags of commands that may offload.
func (f *clientFlags) registerSearch(c *cobra.Command) {
	f.searches = true
	fs := c.Flags()
	fs.Int64Var(&f.cacheBytes, "cache-bytes", 0,
		"most bytes of the tree's inner nodes to keep when offloading; 0: what the policy does, -1: none")
	fs.BoolVar(&f.trustCache, "trust-cache", false,
		"do not validate kept nodes for a heartbeat interval: objects newer than that may be missed")
	fs.StringVar(&f.readFrom, "read-from", "primary",
		"which member of a group features are read at: primary, or any: a secondary if one is in sync, some 0.4 s behind at most")
	Complete(c, "read-from", "primary", "any")
	BackoffFlags(c, &f.backoff)
}

func (f *clientFlags) registerJSON(c *cobra.Command) {
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
}

// dial connects; the caller closes the client.
func (f *clientFlags) dial(ctx context.Context, a *App) (*catfish.Client, error) {
	if f.dialTimeout <= 0 {
		return nil, BadUsage("--dial-timeout is %v, want more than 0", f.dialTimeout)
	}
	addr, err := endpoints("server", f.server)
	if err != nil {
		return nil, err
	}
	scheme := f.policy
	if scheme == "" && f.transport == catfish.TransportTCP {
		scheme = "tcp" // The only scheme that plain sockets carry.
	}
	if f.searches {
		if err := CheckBackoff(f.flags, f.backoff, scheme); err != nil {
			return nil, err
		}
	}
	if err := f.noUse(scheme); err != nil {
		return nil, err
	}
	key, err := clientKey(f.keyFile)
	if err != nil {
		return nil, err
	}
	var cl *catfish.Client
	err = whileStarting(ctx, min(f.dialTimeout, startPatience), func() error {
		cl, err = catfish.Dial(ctx, addr, catfish.Options{
			Key:       key,
			Transport: f.transport, Fabric: f.fabric, Policy: scheme, Collection: f.collection,
			DialTimeout: f.dialTimeout, Logger: a.logger(),
			CacheBytes: f.cacheBytes, SharedPointers: f.sharedPointers, Pointers: f.pointers, ReadFrom: f.readFrom, TrustCache: f.trustCache, Backoff: f.backoff,
		})
		return err
	})
	return cl, err
}
