package model

import (
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/store/storestats"
)

// Parts of the types here which internal packages define.
type (
	// CollectionOptions are a collection's space, title and description.
	CollectionOptions = query.CollectionOptions
	// StoreStats is the state of a store of features.
	StoreStats = storestats.Store
	// MapStats is the state of a map of records.
	MapStats = kv.Stats
	// Estimate is what the nodes that a client keeps say about a search.
	Estimate = policy.Estimate
	// Found is a found feature as the store has it.
	Found = query.Found
	// TableKind is how a key index makes room.
	TableKind = cuckoo.Kind
)

// Kinds of key index.
const (
	GCuckoo      = cuckoo.GCuckoo      // moves keys by what guards them
	Conventional = cuckoo.Conventional // moves keys at random, to compare with
)
