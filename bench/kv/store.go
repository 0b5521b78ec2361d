package kv

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/ycsb"
)

var (
	// ErrNotFound: a Get found no record of its key.
	ErrNotFound = errors.New("bench: no such key")
	// ErrWrong is wrapped when a store gives wrong answers.
	ErrWrong = errors.New("bench: wrong answers")
)

// Store is one connection to the measured system. Keys have ycsb.KeyBytes. All
// methods are safe for concurrent use, unless it is a Pipeliner: one goroutine
// uses that.
type Store interface {
	// Get appends the value of a key to dst. The error wraps ErrNotFound if
	// there is none, and dst is returned unchanged.
	Get(ctx context.Context, key, dst []byte) ([]byte, error)
	// GetMany reads many keys in one call: it sets Found, and Value to the
	// found value, in Value's capacity.
	GetMany(ctx context.Context, rs []Request) error
	Put(ctx context.Context, key, value []byte) error
	// Delete removes a key. The error wraps ErrNotFound if it does not exist.
	Delete(ctx context.Context, key []byte) error
	// Counters returns totals since the connection was made.
	Counters() Counters
	// Info says how the client is connected.
	Info() bench.Info
	Close() error
}

// Pipeliner is a Store that executes many requests together faster than many
// goroutines.
type Pipeliner interface {
	Store
	// Do sends all requests, then waits for all answers. They are executed in
	// order.
	Do(ctx context.Context, rs []Request) error
}

// Request is a Get, or a Put of Value.
type Request struct {
	Key   ycsb.Key
	Value []byte
	Put   bool
	Found bool // the Get's answer
}

// Counters are totals of one Store, or sums over several. Those of bench.Counters
// are of Gets, each key of a GetMany counting as one: Fast by messages, Offloaded
// by the client's own reads. A store that does not count leaves all at 0.
type Counters struct {
	bench.Counters
	PointerHits    uint64 `json:"pointer_hits"`    // of Offloaded: with a right cached reference
	PointerInvalid uint64 `json:"pointer_invalid"` // Gets whose cached reference was wrong
}

// Add returns the sum.
func (c Counters) Add(o Counters) Counters { return stats.Sum(c, o) }

// Sub returns what came since o.
func (c Counters) Sub(o Counters) Counters { return stats.Difference(c, o) }

// Dialer makes one Store for a job.
type Dialer func(ctx context.Context, job ClientJob) (Store, error)

// Server is the system under test inside a server child.
type Server interface {
	// Addr is the address that clients dial.
	Addr() string
	// Version of the program, empty for this one.
	Version() string
	// Usage is that of all server processes.
	Usage() (harness.Usage, error)
	// Index describes the key index; zero if the server does not report it.
	Index() (Index, error)
	Close() error
}

// Index describes a key index at one moment.
type Index struct {
	Items     int     `json:"items"`
	Inserts   uint64  `json:"inserts"`
	Kicks     uint64  `json:"kicks"` // items moved to their other bucket
	Stash     int     `json:"stash"` // items in the stash
	StashMost int     `json:"stash_most"`
	Load      float64 `json:"load_factor"` // 0 to 1
}

// StartServer serves an empty collection until Close. It reports its progress
// to note.
type StartServer func(ctx context.Context, job ServerJob, note func(string)) (Server, error)
