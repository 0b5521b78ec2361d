package model

import (
	"time"
)

// The kinds of collections.
const (
	KindBoxes    = "boxes"    // rectangles with numbers, in an R*-tree
	KindRecords  = "records"  // values by key
	KindFeatures = "features" // places: geometries with properties, by area and by id
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
	// DefaultClientCollections is how many collections each user or host may
	// have created: a program needs few. Sixteen hosts fill the table.
	DefaultClientCollections = 64
)

// Fabric picks a device of libfabric. The zero value is the first RDMA
// device; see ofi.Options.
type Fabric struct {
	Provider string // verbs, tcp; empty: verbs, or the server's provider if ofi is pinned
	Device   string // mlx5_0, rxe0
	Addr     string // IP address on the fabric
}
