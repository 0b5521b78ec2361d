package client

import (
	"github.com/catfish-index/catfish/catfish/model"
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/offload"
)

// Shared is what clients have in common. The nodes that one client has read and
// cached serve the others. The clients of one server decide as a group, by the
// searches that all of them finish, and share read channels. Clients with different
// Shared share nothing. The zero value is ready; it must not be copied.
type Shared struct {
	caches   remote.Caches
	groups   policy.Groups
	devices  sharedDevices
	channels channelPools
	pointers records.PointerCaches

	pointerFiles offload.Shared[string, pointerFile] // by path
}

// processShared is for all clients that name no other.
var processShared Shared

// groupKey is what clients of a group have in common: whether offloading pays
// depends on the transport, and on whether nodes are cached.
type groupKey struct {
	addr, transport string
	fabric          model.Fabric
	cached          bool
	kind            kind
}

// DefaultCacheBytes is room for the internal nodes of four million objects:
// with 35 objects in a leaf and 60 children in a node these are 2 MiB, and a
// cache works best when half full.
const DefaultCacheBytes = 4 << 20

// Limits of Options.CacheBytes: room for one set of offload.Cache, and for
// the internal nodes of all objects that a slab of a terabyte can hold.
const (
	minCacheBytes = 64 << 10
	maxCacheBytes = 32 << 30
)
