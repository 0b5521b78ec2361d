package server

import (
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// maxMaxResults is what fits into the largest answer that clients take.
const maxMaxResults = (wire.MaxReply - wire.FrameBytes) / wire.ItemBytes

// Options configures NewServer. The zero value serves an empty
// default collection on a free port, over every transport of this host.
type Options struct {
	// Listen is the TCP host:port; empty means 127.0.0.1:0, any port.
	Listen string
	// Transports lists some of shm, soft and ofi; nil means all that this
	// host has. tcp, the base line, is always served.
	Transports []string
	// Fabric picks ofi's device among several.
	Fabric model.Fabric
	// Workers is the number of workers per transport, 0: GOMAXPROCS.
	Workers int
	// WorkerCPUs are cores, one for each worker of a transport, which gets a thread of
	// its own that only this core runs; Workers must be 0 or their number. Workers of
	// several transports share the cores, and so may other threads. A worker that sleeps
	// between events costs two more thread switches for each, so this is for workers that
	// are busy or poll. Linux only.
	WorkerCPUs []int
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
	// HeartbeatInRing sends heartbeats as messages in the rings of answers, to all clients
	// of a worker at once, as in the paper (section IV-A); otherwise they are Writes
	// into a mailbox, in eight groups. One that finds no room in a ring is left out.
	// Clients of programs before this option lose their connections.
	HeartbeatInRing bool
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
	// RecordShards (RecordsOptions.Shards). Those that Keep names, too, are kept, and
	// in a group all are.
	Records      []string
	RecordShards int
	// RecordMaxBytes makes each of Records a cache (RecordsOptions.MaxBytes); 0: as it is in
	// DataDir, or no limit. One that is kept and has more evicts what exceeds the limit.
	RecordMaxBytes int64
	// Features are hosted, too: collections of features, by name.
	Features map[string]model.FeaturesOptions
	// Keep are collections that are kept in DataDir: of Records, or of boxes, which are
	// those of Collections, or DefaultCollection, or others, which are hosted, too. A write
	// to them is answered when it is durable. A collection that DataDir holds already is
	// kept in any case: it is an error to name it in Collections or Records and not here.
	// Server.Kept and Server.KeptRecords return kept collections, Server.Collection and
	// Server.Records do not.
	Keep []string
	// DataDir is where the features of all collections are kept, the boxes and records
	// of the collections of Keep, and their log; empty: in memory alone. Sync says when a
	// write is durable, and LogBytes how much of the log is kept (store.Options).
	DataDir  string
	Sync     Sync
	LogBytes int64
	// AcceptLoss serves a DataDir in which acknowledged writes are missing, which is
	// refused otherwise (disk.ErrLost). Its files are kept aside, in DataDir/damaged-N.
	AcceptLoss bool
	// Watch bounds the resources of the watchers of features, including those of
	// gRPC and of this process. 0 in a field means the default.
	Watch WatchLimits
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
	hooks    wire.ServerHooks
	member   member
	// later, in tests, defers the reply to a request, if it does not return nil.
	later func(fastmsg.Kind, []byte) *task
}

func (o *Options) setDefaults() {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Transports == nil {
		o.Transports = []string{model.TransportSoft}
		if runtime.GOOS == "linux" {
			o.Transports = []string{model.TransportSHM, model.TransportSoft}
		}
		if len(wire.RdmaDevices(o.Fabric)) > 0 {
			o.Transports = append(o.Transports, model.TransportOFI)
			o.maybeOFI = true
		}
	}
	if o.Workers == 0 {
		o.Workers = len(o.WorkerCPUs)
	}
	if o.Workers == 0 && !o.WorkerPerConnection {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = model.DefaultHeartbeatInterval
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
		o.ClientCollections = model.DefaultClientCollections
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// mostDefaultSlab keeps a default slab below the most chunks that a tree may have,
// on any machine.
const mostDefaultSlab = 1 << 40

func (o *Options) validate() error {
	for _, t := range o.Transports {
		switch t {
		case model.TransportSHM, model.TransportSoft, model.TransportTCP:
		case model.TransportOFI:
			if !ofi.Built {
				return fmt.Errorf("%w: %w", model.ErrTransport, ofi.ErrNotBuilt)
			}
		default:
			return fmt.Errorf("%w: transport %q, want shm, soft, ofi or tcp", model.ErrOption, t)
		}
	}
	if o.WorkerPerConnection && o.Workers != 0 {
		return fmt.Errorf("%w: %d workers and a worker per connection, want one of them", model.ErrOption, o.Workers)
	}
	if err := o.checkWorkerCPUs(); err != nil {
		return err
	}
	if !o.WorkerPerConnection && (o.Workers < 1 || o.Workers > wire.MaxWorkers) {
		return fmt.Errorf("%w: %d workers, want 1..%d", model.ErrOption, o.Workers, wire.MaxWorkers)
	}
	if o.MemoryLimit < minMemoryLimit {
		return fmt.Errorf("%w: memory limit of %d bytes, want %d or more", model.ErrOption, o.MemoryLimit, minMemoryLimit)
	}
	if o.MaxResults < 0 || o.MaxResults > maxMaxResults {
		return fmt.Errorf("%w: at most %d results, want 0..%d", model.ErrOption, o.MaxResults, maxMaxResults)
	}
	if err := wire.CheckInterval(o.HeartbeatInterval); err != nil {
		return err
	}
	if _, err := o.Strategy.MarshalText(); err != nil {
		return fmt.Errorf("%w: %w", model.ErrOption, err)
	}
	records := &model.RecordsOptions{Shards: o.RecordShards, MaxBytes: o.RecordMaxBytes}
	if err := records.Validate(); err != nil {
		return err
	}
	if len(o.Records) > 0 {
		if err := checkRecords(records, o.SlabBytes); err != nil {
			return err
		}
	}
	for i, n := range o.Keep {
		_, features := o.Features[n]
		switch {
		case o.DataDir == "":
			return fmt.Errorf("%w: collection %q is to be kept, and there is no DataDir", model.ErrOption, n)
		case features || slices.Contains(o.Records, n) && slices.Contains(o.Collections, n) || slices.Contains(o.Keep[:i], n):
			return fmt.Errorf("%w: collection %q is named twice: to be kept, and again", model.ErrOption, n)
		}
	}
	if n := len(o.Collections) + len(o.Records)*max(o.RecordShards, 1) + len(o.Keep); n >= store.MaxCollections {
		return fmt.Errorf("%w: %d collections, want at most %d", model.ErrOption, n+1, store.MaxCollections)
	}
	for _, n := range slices.Concat(o.Collections, o.Records) {
		if err := wire.CheckName(n); err != nil {
			return err
		}
	}
	for _, n := range o.Keep { // The data directory may have those of boxes.
		if err := wire.CheckFind(n); err != nil {
			return err
		}
	}
	return o.checkLoading()
}

// checkLoading finds a name in Loading that no collection would ever have.
func (o *Options) checkLoading() error {
	for _, n := range o.Loading {
		_, features := o.Features[n]
		if n != model.DefaultCollection && !slices.Contains(o.Collections, n) && !slices.Contains(o.Keep, n) && !features {
			return fmt.Errorf("%w: loading %q, which is none of the collections", model.ErrOption, n)
		}
	}
	return nil
}

func (o *Options) has(transport string) bool {
	return slices.Contains(o.Transports, transport)
}
