package catfish

import (
	"context"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/wire"
)

type (
	// BackupInfo describes the content of a backup.
	BackupInfo = model.BackupInfo
	// BoxesOptions configure a collection of boxes.
	BoxesOptions = model.BoxesOptions
	// Client searches and changes one collection of a server.
	Client = client.Client
	// ConnInfo describes the server that a client is connected to, and how.
	ConnInfo = client.ConnInfo
	// Counters is what a client has done since Dial, all collections and connections
	// together.
	Counters = client.Counters
	// Explanation says how one search was carried out, and why.
	Explanation = model.Explanation
	// Step is a part of a search, and the time that passed in it.
	Step = model.Step
	// CollectionInfo describes a collection of a server.
	CollectionInfo = model.CollectionInfo
	// Fabric picks a device of libfabric.
	Fabric = model.Fabric
	// Options configures Dial.
	Options = client.Options
	// ServerInfo is one incarnation of a server.
	ServerInfo = client.ServerInfo
	// Neighbor is an object found by Nearest, with its distance.
	Neighbor = model.Neighbor
	// Shared is what clients have in common.
	Shared = client.Shared
)

const (
	// rectangles with numbers, in an R*-tree
	KindBoxes = model.KindBoxes
	// values by key
	KindRecords = model.KindRecords
	// places: geometries with properties, by area and by id
	KindFeatures = model.KindFeatures
	// Options only: the best that both sides have
	TransportAuto = model.TransportAuto
	// shared memory, same host
	TransportSHM = model.TransportSHM
	// software RNIC over TCP
	TransportSoft = model.TransportSoft
	// RDMA by libfabric; builds with the tag ofi
	TransportOFI = model.TransportOFI
	// plain sockets: no one-sided reads, the base line
	TransportTCP = model.TransportTCP
	// DefaultCollection always exists.
	DefaultCollection = model.DefaultCollection
	// DefaultHeartbeatInterval is the paper's (section V-A).
	DefaultHeartbeatInterval = model.DefaultHeartbeatInterval
	// DefaultDialTimeout bounds Dial and each reconnection attempt.
	DefaultDialTimeout = model.DefaultDialTimeout
	// DefaultWindow is how many reads of one search are in flight at once: the outstanding
	// reads that common cards grant a queue pair.
	DefaultWindow = model.DefaultWindow
	// DefaultClientCollections is how many collections each user or host may have created:
	// a program needs few.
	DefaultClientCollections = model.DefaultClientCollections
	// DefaultCacheBytes is room for the internal nodes of four million objects: with 35
	// objects in a leaf and 60 children in a node these are 2 MiB, and a cache works best
	// when half full.
	DefaultCacheBytes = client.DefaultCacheBytes
	// PointersLookups and PointersAnswers are the values of Options.Pointers.
	PointersLookups = client.PointersLookups
	PointersAnswers = client.PointersAnswers
	// ProtocolVersion is the protocol of this build's clients and servers.
	ProtocolVersion = client.ProtocolVersion
	// HasOFI reports whether libfabric, which transport ofi needs, is in this build.
	HasOFI = client.HasOFI
	// MaxNearest is the largest k of Nearest: 2.6 MB of objects.
	MaxNearest = wire.MaxNearest
)

var (
	// Version is the release; the build stamps it.
	Version = model.Version
)

// clientFilters is how many compiled filters a client keeps, of some KB each.
// Compiling one takes 100 us, more than the server takes for most searches.
const clientFilters = 64

// Dial connects to the server at addr (host:port), or to the primary of a group, of which
// addr names one member or several (host:port,host:port).
func Dial(ctx context.Context, addr string, opts Options) (*Client, error) {
	if opts.Filters == nil {
		opts.Filters = cel.NewCache(clientFilters)
	}
	return client.Dial(ctx, addr, opts)
}
