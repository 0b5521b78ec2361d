package server

import (
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

// What a server keeps, for programs in its process.
type (
	// Store is a server's store of places, kept boxes and kept records.
	Store = store.Store
	// PlacesCollection is a collection of places of a Store. FeaturesOf gives it the
	// methods that clients have.
	PlacesCollection = store.Collection
	// KeptBoxes is a collection of boxes of a Store.
	KeptBoxes = store.Boxes
	// KeptRecords is a collection of records of a Store.
	KeptRecords = store.Records
	// Map is a collection of records, or a shard of one.
	Map = kv.Map
	// WatchLimits bound watches.
	WatchLimits = store.WatchLimits
)
