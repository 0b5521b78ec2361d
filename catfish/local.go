package catfish

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/catfish/server"
)

type (
	// Sync says when a write is durable: SyncAlways, SyncOff, SyncInterval.
	Sync = server.Sync
	// LocalOptions configure a Local.
	LocalOptions = server.LocalOptions
	// Local is a store of features in this process, without a network.
	Local = server.Local
)

var (
	// ErrLost: acknowledged writes are missing from a data directory, which is damaged.
	ErrLost = server.ErrLost
	// when the call returns
	SyncAlways = server.SyncAlways
	// when the operating system has written them
	SyncOff = server.SyncOff
)

// SyncInterval makes writes durable every d, which must be positive.
func SyncInterval(d time.Duration) Sync { return server.SyncInterval(d) }

// Open opens the features in a data directory, or makes it; an empty dir keeps them in
// memory alone.
func Open(ctx context.Context, dir string, o LocalOptions) (*Local, error) {
	return server.Open(ctx, dir, o)
}

// FeaturesOf is for a collection in this process, such as a Server's, whatever its name
// is.
func FeaturesOf(c *server.PlacesCollection) *Features { return server.FeaturesOf(c) }
