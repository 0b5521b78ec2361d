package client

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/wire"
)

// Options configures Dial. The zero value picks the best transport, the
// default policy and the default collection.
type Options struct {
	// Transport is auto (or empty), shm, soft, ofi or tcp. Anything but
	// auto pins it: if it is not available, Dial fails with ErrTransport.
	Transport string
	// Fabric picks ofi's device among several.
	Fabric model.Fabric
	// Policy is one of Schemes(), empty: the default one. fetch reads the
	// answers to its messages, which the server leaves for it; tcp uses plain
	// sockets whatever the transport; fast-polling and fast-polling-cq make the
	// server's worker poll the ring's memory or its completion queue, for as long
	// as the client is connected. Custom, if set, decides instead.
	Policy string
	Custom Policy
	// Backoff has the parameters of Algorithm 1, for policies paper and
	// paper-literal; other policies ignore it. The zero value is the
	// paper's.
	Backoff Backoff
	// Shared is what this client has in common with others, nil: with all clients
	// of the process that name none. Tests, and two clusters in one process that
	// are to share nothing, bring their own.
	Shared *Shared
	// OnRestart, if not nil, is called when the client has reconnected and
	// finds another incarnation of the server, before the server answers any call.
	// Calls wait meanwhile, as for a server that is away. To load the data
	// again, call Dial in OnRestart, since this client waits. An error fails all
	// calls of this client (ErrRestarted) until AcceptRestart, or the next restart.
	// ctx is done when the client is closed. nil: reads of a collection that is
	// empty after a restart fail with ErrRestarted, until it has objects or
	// AcceptRestart is called.
	OnRestart func(ctx context.Context, old, new ServerInfo) error
	// ReadFrom is "primary" (or empty), or "any": then Gets and searches of features go to an
	// in-sync secondary of the server's group, which this client chooses at random. It sees all
	// that it has written and seen itself, and what others have written 0.4 s later at most. A
	// read after a write waits some milliseconds for the secondary. Boxes and records, Watch,
	// Describe and writes are the primary's. A server in no group is read as with "primary".
	ReadFrom string
	// Collection, empty: DefaultCollection.
	Collection string
	// Key is sent to a server that demands one (ErrUnauthenticated), in plain text,
	// over the server's TCP port: see docs/security.md.
	Key string
	// DialTimeout, 0: DefaultDialTimeout.
	DialTimeout time.Duration
	// HeartbeatInterval asked of the server, 0: the server's own. A client that
	// has sent no request for a second, because it is idle or only offloads,
	// gets one heartbeat a second, if its interval is shorter, until it sends
	// a request.
	HeartbeatInterval time.Duration
	// RingBytes of the response ring, 0: fastmsg's default, 256 KiB; at most 8
	// MiB. The server keeps the same amount for this client, and refuses the client
	// if the rings of all clients take more than half of its memory limit.
	RingBytes int
	// Window is the number of reads of one search in flight at once, 0:
	// DefaultWindow. ReadChannels is the number of searches that can offload
	// at the same time, 0: twice GOMAXPROCS; at most 64. Clients with the same
	// Shared, server, transport and Window share read channels: the sum of their
	// ReadChannels, at most 64. Read channels are opened when they are needed.
	Window, ReadChannels int
	// CacheBytes bounds the internal nodes that are cached to save round
	// trips when offloading; clients with the same Shared that name a
	// server and a collection alike share the cache. 0: DefaultCacheBytes with
	// policies that are made for a cache (offload-cached, cost), none with the
	// paper's or a Custom one. Negative: none.
	CacheBytes int64
	// Pointers says where kept references of records come from: "lookups" (or empty) that the
	// client makes by reading the key index; or "answers", as in HydraDB (section 4.2.2): a
	// Get of a key without one is a message to the server, whatever the policy chooses, and the answer
	// brings a reference and a lease of 1 to 64 s, which is the longer the more Gets ask for it.
	// Records younger than a second are kept, too. Features are not concerned, and over tcp
	// nothing is kept. A member of a group that may not be read gives no leases; an older server
	// does not know them: then Gets fail with ErrVersionMismatch. "answers" needs a cache:
	// CacheBytes, or a policy that has one.
	Pointers string
	// TrustCache uses cached nodes for up to one heartbeat interval without
	// validating them. It saves reads, and gives up a promise: a search may
	// miss an object that was inserted, or moved to its place, less than
	// that interval before the search began. Objects that were in place for
	// longer are found, once.
	TrustCache bool
	// SharedPointers is a file by which the processes of one user on a machine keep together where
	// records are, and their leases: what a client has looked up takes clients of the others one read
	// (HydraDB, section 4.2.4). The first one makes it, of CacheBytes; it is of all servers and
	// collections. "auto" is catfish-pointers in $XDG_RUNTIME_DIR; empty: only clients of
	// one process keep them together. Dial fails with ErrOption if the file is of another user, of a mode wider than
	// 0600, or of another version. Share it with no process that you would not let write
	// these collections (docs/security.md). Linux.
	SharedPointers string
	// FetchBytes is how much a first read of an answer brings with policy fetch, in whole lines
	// of 64 bytes, at most 16 KiB: RFP's F. 0: the client follows the sizes of its answers. `catfish
	// bench rfp --calibrate` computes one.
	FetchBytes int
	// FetchRetries is how many such reads in a row find nothing until the client asks for
	// the answer: RFP's R. 0: five, or over shared memory as many as take the time of a wake-up.
	FetchRetries int
	// FetchAlways keeps fetching where written answers are faster, for measurements.
	FetchAlways bool
	// Filters compile the filters of places, for searches that read the server's memory:
	// cel.NewCache of package internal/feature/filter/cel, which catfish.Dial sets. nil: the
	// server finds what a filter wants, on every path.
	Filters Filters
	// Seed of the policy's random choices, 0: drawn at random.
	Seed uint64
	// Logger, nil: slog.Default().
	Logger *slog.Logger

	hooks wire.ClientHooks
}

func (o *Options) setDefaults() {
	if o.Transport == "" {
		o.Transport = model.TransportAuto
	}
	if o.Collection == "" {
		o.Collection = model.DefaultCollection
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = model.DefaultDialTimeout
	}
	if o.Window == 0 {
		o.Window = model.DefaultWindow
	}
	if o.ReadChannels == 0 {
		o.ReadChannels = min(wire.MaxReadChannels, 2*runtime.GOMAXPROCS(0))
	}
	if o.Shared == nil {
		o.Shared = &processShared
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func (o *Options) validate() error {
	switch o.Transport {
	case model.TransportAuto, model.TransportSHM, model.TransportSoft, model.TransportTCP:
	case model.TransportOFI:
		if !ofi.Built {
			return fmt.Errorf("%w: %w", model.ErrTransport, ofi.ErrNotBuilt)
		}
	default:
		return fmt.Errorf("%w: transport %q, want auto, shm, soft, ofi or tcp", model.ErrOption, o.Transport)
	}
	if o.ReadFrom != "" && o.ReadFrom != readFromPrimary && o.ReadFrom != readFromAny {
		return fmt.Errorf("%w: ReadFrom %q, want %s or %s", model.ErrOption, o.ReadFrom, readFromPrimary, readFromAny)
	}
	if o.Pointers != "" && o.Pointers != PointersLookups && o.Pointers != PointersAnswers {
		return fmt.Errorf("%w: Pointers %q, want %s or %s", model.ErrOption, o.Pointers, PointersLookups, PointersAnswers)
	}
	if err := wire.CheckFind(o.Collection); err != nil {
		return err
	}
	if o.DialTimeout < 0 {
		return fmt.Errorf("%w: dial timeout %v, want a positive duration", model.ErrOption, o.DialTimeout)
	}
	if o.HeartbeatInterval != 0 {
		if err := wire.CheckInterval(o.HeartbeatInterval); err != nil {
			return err
		}
	}
	if o.Window < 1 || o.Window > wire.MaxWindow {
		return fmt.Errorf("%w: window %d, want 1..%d", model.ErrOption, o.Window, wire.MaxWindow)
	}
	if o.ReadChannels < 1 || o.ReadChannels > wire.MaxReadChannels {
		return fmt.Errorf("%w: %d read channels, want 1..%d", model.ErrOption, o.ReadChannels, wire.MaxReadChannels)
	}
	if o.FetchBytes < 0 || o.FetchBytes > fastmsg.MaxFetchBytes {
		return fmt.Errorf("%w: fetches of %d bytes, want 0..%d", model.ErrOption, o.FetchBytes, fastmsg.MaxFetchBytes)
	}
	if o.FetchRetries < 0 || o.FetchRetries > fastmsg.MaxFetchRetries {
		return fmt.Errorf("%w: %d retries of a fetch, want 0..%d", model.ErrOption, o.FetchRetries, fastmsg.MaxFetchRetries)
	}
	if err := o.Backoff.Validate(); err != nil {
		return fmt.Errorf("%w: %w", model.ErrOption, err)
	}
	if b := o.CacheBytes; b > 0 && b < minCacheBytes || b > maxCacheBytes {
		return fmt.Errorf("%w: cache of %d bytes, want %d..%d, 0 or less than 0", model.ErrOption, b, minCacheBytes, maxCacheBytes)
	}
	return nil
}
