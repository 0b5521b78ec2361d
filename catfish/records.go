package catfish

import (
	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
)

type (
	// RecordsOptions configure a collection of records.
	RecordsOptions = model.RecordsOptions
	// RecordsStats is the state of a collection of records.
	RecordsStats = model.RecordsStats
	// Records reads and changes a collection of records: values by key.
	Records = client.Records
	// Record is a value under a key.
	Record = model.Record
	// ShardAt says which shard of a collection a key belongs to.
	ShardAt = model.ShardAt
	// ShardStats is the state of a shard.
	ShardStats = model.ShardStats
)

const (
	// MaxShards is how many shards a collection may have: as many as a client may have
	// collections (DefaultClientCollections), since each shard takes a collection's place.
	MaxShards = model.MaxShards
)
