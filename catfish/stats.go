package catfish

import (
	"github.com/catfish-index/catfish/catfish/model"
)

type (
	// BudgetStats is one resource of a server: how much of it all clients hold, and the
	// limits.
	BudgetStats = model.BudgetStats
	// FeaturesStats is the state of a collection of features.
	FeaturesStats = model.FeaturesStats
	// MemoryStats is what the process holds in memory, in bytes.
	MemoryStats = model.MemoryStats
	// RequestStats counts the requests of one kind by messages of one transport, since the
	// server's start.
	RequestStats = model.RequestStats
	// RecordStats is the state of a recording.
	RecordStats = model.RecordStats
	// LoadStats is a server's load at one moment.
	LoadStats = model.LoadStats
	// ServerStats is the state of a server.
	ServerStats = model.ServerStats
	// StoreMap says which group of servers has how much of a store, and what moves.
	StoreMap = model.StoreMap
	// GroupSlots are the slots of a group, of 4,096 in all.
	GroupSlots = model.GroupSlots
	// GroupMoves are the moves under way between two groups that are at one step.
	GroupMoves = model.GroupMoves
	// TransportStats is the state of one transport.
	TransportStats = model.TransportStats
	// WorkerStats is the state of one worker.
	WorkerStats = model.WorkerStats
)
