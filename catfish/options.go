package catfish

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rdma/ofi"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
)

// Version is the release; the build stamps it.
var Version = "dev"

// Transport names.
const (
	TransportAuto = "auto" // Options only: the best that both sides have
	TransportSHM  = "shm"  // shared memory, same host
	TransportSoft = "soft" // software RNIC over TCP
	TransportOFI  = "ofi"  // RDMA by libfabric; builds with the tag ofi
	TransportTCP  = "tcp"  // plain sockets: no one-sided reads, the base line
)

// DefaultCollection always exists.
const DefaultCollection = "default"

// Defaults of both sides.
const (
	// DefaultHeartbeatInterval is the paper's (section V-A).
	DefaultHeartbeatInterval = 10 * time.Millisecond
	// DefaultDialTimeout bounds Dial and each reconnection attempt.
	DefaultDialTimeout = 5 * time.Second
	// DefaultWindow is how many reads of one search are in flight at
	// once: the outstanding reads that common cards grant a queue pair.
	DefaultWindow = 16
	// maxWindow bounds Window: a server over soft keeps that number of answers
	// for a client that does not take them.
	maxWindow = 1024
	// maxReadChannels bounds concurrent offloaded searches of the clients that
	// share read channels; more queue pairs than that would only fill the card's
	// cache.
	maxReadChannels = 64
	// DefaultClientCollections is how many collections each user or host may
	// have created: a program needs few. Sixteen hosts fill the table.
	DefaultClientCollections = maxCollections / 16
	// maxWorkers bounds ServerOptions.Workers: more than any machine has cores for.
	maxWorkers = 1024
)

// maxMaxResults is what fits into the largest answer that clients take.
const maxMaxResults = (maxReply - frameBytes) / itemBytes

// ServerOptions configures NewServer. The zero value serves an empty
// default collection on a free port, over every transport of this host.
type ServerOptions struct {
	// Listen is the TCP host:port; empty means 127.0.0.1:0, any port.
	Listen string
	// Transports lists some of shm, soft and ofi; nil means all that this
	// host has. tcp, the base line, is always served.
	Transports []string
	// Fabric picks ofi's device among several.
	Fabric Fabric
	// Workers is the number of workers per transport, 0: GOMAXPROCS.
	Workers int
	// Polling keeps workers from ever sleeping, as scheme fast-polling-cq does
	// for each client: they poll their completion queues. Costs a core per
	// worker.
	Polling bool
	// WorkerPerConnection gives each connection a worker of its own, as in the
	// paper's server (section IV-B), with an operating system thread of its own
	// while it polls; Workers must be 0. A transport serves at most
	// MaxConnectionWorkers connections. A worker that polls spins until the kernel
	// takes its core away: with more clients than cores this is the collapse of
	// figure 7. A worker that waits for events sleeps at once, without spinning
	// before. Each worker that polls keeps one of Go's GOMAXPROCS, which belongs to
	// the whole process and is not changed here: set it to more than the number of
	// clients, or all other goroutines wait until Go preempts a worker, every
	// 10 ms.
	WorkerPerConnection bool
	// HeartbeatInterval, 0: DefaultHeartbeatInterval; 1 ms to 10 s.
	HeartbeatInterval time.Duration
	// RingBytes of each request ring, 0: fastmsg's default, 256 KiB.
	RingBytes int
	// SlabBytes is the most memory that a collection may take, 0: MemoryLimit. It
	// is address space, and costs nothing until it is used. NodeBytes is the size
	// of a tree's node, 0: rstar's default.
	SlabBytes int64
	NodeBytes int
	// Strategy of each collection's insertions and splits, 0: rstar.Revised.
	// The paper's is rstar.Original.
	Strategy rstar.Strategy
	// SocketPath is shm's unix socket. Empty: PORT.sock in directory
	// catfish-UID, which is made in $XDG_RUNTIME_DIR, /run/user/UID, /run or the
	// temp directory: the first one that this user can write to, in which no
	// other user can replace it, and which the users that SocketMode admits can
	// enter. SocketMode (0: 0600) says which users may connect, and opens
	// catfish-UID to these users, but no directory of a SocketPath.
	SocketPath string
	SocketMode fs.FileMode
	// Collections are hosted besides DefaultCollection.
	Collections []string
	// Keys, if not nil, are what clients need to be served (OpenKeys). Serve reads
	// their file again when it changes.
	Keys *Keys
	// Meter counts requests by kind, and how long workers take for them
	// (Server.Requests). It costs each request some 100 ns.
	Meter bool
	// Records are hosted, too: collections of records, each divided into
	// RecordShards (RecordsOptions.Shards).
	Records      []string
	RecordShards int
	// Features are hosted, too: collections of features, by name.
	Features map[string]FeaturesOptions
	// Keep are collections of boxes that are kept in DataDir: of Collections, or
	// DefaultCollection, or others, which are hosted, too. A write to them is
	// answered when it is durable. A collection that DataDir holds already is kept in
	// any case: it is an error to name it in Collections and not here. Server.Kept
	// returns kept collections, Server.Collection does not.
	Keep []string
	// DataDir is where the features of all collections are kept, the boxes of
	// the collections of Keep, and their log; empty: in memory alone. Sync says when a
	// write is durable, and LogBytes how much of the log is kept (store.Options).
	DataDir  string
	Sync     disk.Sync
	LogBytes int64
	// AcceptLoss serves a DataDir in which acknowledged writes are missing, which is
	// refused otherwise (disk.ErrLost). Its files are kept aside, in DataDir/damaged-N.
	AcceptLoss bool
	// Watch bounds the resources of the watchers of features, including those of
	// gRPC and of this process. 0 in a field means the default.
	Watch store.WatchLimits
	// BackupDir is where clients may order backups; empty: nowhere.
	BackupDir string
	// MaxResults bounds the objects of one answer, 0: DefaultMaxResults. A
	// search that finds more fails with ErrTooLarge, unless it has a limit.
	MaxResults int
	// MemoryLimit is the memory that the server is to hold at most, in bytes, 0:
	// DefaultMemoryLimit. Answers that wait for clients take a quarter of it
	// at most. While the process holds more, writes and connections over rings are
	// refused with ErrBusy; searches continue.
	MemoryLimit int64
	// Loading are collections, of those above or DefaultCollection, that the
	// server's owner is about to fill. Clients get ErrNotReady until SetReady.
	Loading []string
	// ClientCollections is how many collections the clients of one host, or
	// with shm of one user, may have created, 0: DefaultClientCollections.
	// Negative: clients create and drop none.
	ClientCollections int
	// Record selects the requests that the server writes to a file.
	Record RecordOptions
	// Logger, nil: slog.Default().
	Logger *slog.Logger

	maybeOFI bool // no option asked for ofi: serve without it if it fails
	// wrap, in tests, wraps a provider; firstPinned is the size of the
	// first region where memory is pinned, 0: FirstPinnedBytes.
	wrap        func(rdma.Device) rdma.Device
	firstPinned int64
	nameLease   time.Duration // in tests, 0: nameLease
	// now, in tests, is the clock of records.
	now func() time.Duration
	// later, in tests, defers the reply to a request, if it does not return nil.
	later func(fastmsg.Kind, []byte) pending
	// resident, in tests, says how much memory the process holds.
	resident func(context.Context) (int64, error)
}

func (o *ServerOptions) setDefaults() {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Transports == nil {
		o.Transports = []string{TransportSoft}
		if runtime.GOOS == "linux" {
			o.Transports = []string{TransportSHM, TransportSoft}
		}
		if len(rdmaDevices(o.Fabric)) > 0 {
			o.Transports = append(o.Transports, TransportOFI)
			o.maybeOFI = true
		}
	}
	if o.Workers == 0 && !o.WorkerPerConnection {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = DefaultHeartbeatInterval
	}
	if o.SocketMode == 0 {
		o.SocketMode = 0o600
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = DefaultMemoryLimit()
	}
	if o.SlabBytes == 0 {
		o.SlabBytes = min(max(o.MemoryLimit, rstar.DefaultSlabBytes), mostDefaultSlab)
	}
	if o.MaxResults == 0 {
		o.MaxResults = DefaultMaxResults
	}
	if o.ClientCollections == 0 {
		o.ClientCollections = DefaultClientCollections
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// mostDefaultSlab keeps a default slab below the most chunks that a tree may have,
// on any machine.
const mostDefaultSlab = 1 << 40

func (o *ServerOptions) validate() error {
	for _, t := range o.Transports {
		switch t {
		case TransportSHM, TransportSoft, TransportTCP:
		case TransportOFI:
			if !ofi.Built {
				return fmt.Errorf("%w: %w", ErrTransport, ofi.ErrNotBuilt)
			}
		default:
			return fmt.Errorf("%w: transport %q, want shm, soft, ofi or tcp", ErrOption, t)
		}
	}
	if o.WorkerPerConnection && o.Workers != 0 {
		return fmt.Errorf("%w: %d workers and a worker per connection, want one of them", ErrOption, o.Workers)
	}
	if !o.WorkerPerConnection && (o.Workers < 1 || o.Workers > maxWorkers) {
		return fmt.Errorf("%w: %d workers, want 1..%d", ErrOption, o.Workers, maxWorkers)
	}
	if o.MemoryLimit < minMemoryLimit {
		return fmt.Errorf("%w: memory limit of %d bytes, want %d or more", ErrOption, o.MemoryLimit, minMemoryLimit)
	}
	if o.MaxResults < 0 || o.MaxResults > maxMaxResults {
		return fmt.Errorf("%w: at most %d results, want 0..%d", ErrOption, o.MaxResults, maxMaxResults)
	}
	if err := checkInterval(o.HeartbeatInterval); err != nil {
		return err
	}
	if _, err := o.Strategy.MarshalText(); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	if err := (&RecordsOptions{Shards: o.RecordShards}).validate(); err != nil {
		return err
	}
	for i, n := range o.Keep {
		_, features := o.Features[n]
		switch {
		case o.DataDir == "":
			return fmt.Errorf("%w: collection %q is to be kept, and there is no DataDir", ErrOption, n)
		case features || slices.Contains(o.Records, n) || slices.Contains(o.Keep[:i], n):
			return fmt.Errorf("%w: collection %q is named twice: of boxes to be kept, and again", ErrOption, n)
		}
	}
	if n := len(o.Collections) + len(o.Records)*max(o.RecordShards, 1) + len(o.Keep); n >= maxCollections {
		return fmt.Errorf("%w: %d collections, want at most %d", ErrOption, n+1, maxCollections)
	}
	for _, n := range slices.Concat(o.Collections, o.Records) {
		if err := checkName(n); err != nil {
			return err
		}
	}
	for _, n := range o.Keep { // The data directory may have them.
		if err := checkFind(n); err != nil {
			return err
		}
	}
	return o.checkLoading()
}

// checkLoading finds a name in Loading that no collection would ever have.
func (o *ServerOptions) checkLoading() error {
	for _, n := range o.Loading {
		_, features := o.Features[n]
		if n != DefaultCollection && !slices.Contains(o.Collections, n) && !slices.Contains(o.Keep, n) && !features {
			return fmt.Errorf("%w: loading %q, which is none of the collections", ErrOption, n)
		}
	}
	return nil
}

func (o *ServerOptions) has(transport string) bool {
	return slices.Contains(o.Transports, transport)
}

func checkInterval(d time.Duration) error {
	if d < time.Millisecond || d > 10*time.Second {
		return fmt.Errorf("%w: heartbeat interval %v, want 1ms..10s", ErrOption, d)
	}
	return nil
}

// checkName checks the name of a collection that is to be created.
func checkName(n string) error {
	if err := names.Check(n); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	return nil
}

// checkFind checks the name of a collection that may predate the rule. Names with
// slashes are those of shards (shardName), which are no collections to clients.
func checkFind(n string) error {
	err := names.CheckLength(n)
	if err == nil && strings.Contains(n, "/") {
		err = fmt.Errorf("%w: %q, want no slashes", names.ErrName, n)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	return nil
}

// Fabric picks a device of libfabric. The zero value is the first RDMA
// device; see ofi.Options.
type Fabric struct {
	Provider string // verbs, tcp; empty: verbs, or the server's provider if ofi is pinned
	Device   string // mlx5_0, rxe0
	Addr     string // IP address on the fabric
}

// Options configures Dial. The zero value picks the best transport, the
// default policy and the default collection.
type Options struct {
	// Transport is auto (or empty), shm, soft, ofi or tcp. Anything but
	// auto pins it: if it is not available, Dial fails with ErrTransport.
	Transport string
	// Fabric picks ofi's device among several.
	Fabric Fabric
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
	// TrustCache uses cached nodes for up to one heartbeat interval without
	// validating them. It saves reads, and gives up a promise: a search may
	// miss an object that was inserted, or moved to its place, less than
	// that interval before the search began. Objects that were in place for
	// longer are found, once.
	TrustCache bool
	// Seed of the policy's random choices, 0: drawn at random.
	Seed uint64
	// Logger, nil: slog.Default().
	Logger *slog.Logger

	// wrap wraps a provider, for fault injection in tests. keepYoung, in tests,
	// keeps references of records of any age.
	wrap      func(rdma.Device) rdma.Device
	keepYoung bool
	nameLease time.Duration // in tests, 0: nameLease
}

func (o *Options) setDefaults() {
	if o.Transport == "" {
		o.Transport = TransportAuto
	}
	if o.Collection == "" {
		o.Collection = DefaultCollection
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = DefaultDialTimeout
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.ReadChannels == 0 {
		o.ReadChannels = min(maxReadChannels, 2*runtime.GOMAXPROCS(0))
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
	case TransportAuto, TransportSHM, TransportSoft, TransportTCP:
	case TransportOFI:
		if !ofi.Built {
			return fmt.Errorf("%w: %w", ErrTransport, ofi.ErrNotBuilt)
		}
	default:
		return fmt.Errorf("%w: transport %q, want auto, shm, soft, ofi or tcp", ErrOption, o.Transport)
	}
	if err := checkFind(o.Collection); err != nil {
		return err
	}
	if o.DialTimeout < 0 {
		return fmt.Errorf("%w: dial timeout %v, want a positive duration", ErrOption, o.DialTimeout)
	}
	if o.HeartbeatInterval != 0 {
		if err := checkInterval(o.HeartbeatInterval); err != nil {
			return err
		}
	}
	if o.Window < 1 || o.Window > maxWindow {
		return fmt.Errorf("%w: window %d, want 1..%d", ErrOption, o.Window, maxWindow)
	}
	if o.ReadChannels < 1 || o.ReadChannels > maxReadChannels {
		return fmt.Errorf("%w: %d read channels, want 1..%d", ErrOption, o.ReadChannels, maxReadChannels)
	}
	if err := o.Backoff.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	if b := o.CacheBytes; b > 0 && b < minCacheBytes || b > maxCacheBytes {
		return fmt.Errorf("%w: cache of %d bytes, want %d..%d, 0 or less than 0", ErrOption, b, minCacheBytes, maxCacheBytes)
	}
	return nil
}
