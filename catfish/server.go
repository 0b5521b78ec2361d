package catfish

import (
	"log/slog"

	"github.com/catfish-index/catfish/catfish/server"
)

type (
	// Keys are the keys that a server takes, and what each may do.
	Keys = server.Keys
	// ServerOptions configures NewServer.
	ServerOptions = server.Options
	// RecordOptions selects the requests that a server records, in the format of package
	// querylog.
	RecordOptions = server.RecordOptions
	// Recorded is a request that another service of the server's process carries out, for
	// RecordFrom.
	Recorded = server.Recorded
	// RecordKind says what was requested.
	RecordKind = server.RecordKind
	// Server hosts named collections and answers clients over the transports of its
	// options.
	Server = server.Server
	// RecordShards are the shards of a collection, for use in this process concurrently
	// with remote clients.
	RecordShards = server.RecordShards
)

const (
	// DefaultMaxResults bounds one answer: 168 MB.
	DefaultMaxResults = server.DefaultMaxResults
	RecordSearch      = server.RecordSearch
	RecordCount       = server.RecordCount
	RecordNearest     = server.RecordNearest
	RecordInsert      = server.RecordInsert
	RecordDelete      = server.RecordDelete
	RecordUpdate      = server.RecordUpdate
	// FirstPinnedBytes is how much of a collection is registered at first where memory is
	// pinned, which takes 20 ms.
	FirstPinnedBytes = server.FirstPinnedBytes
	// MaxConnectionWorkers bounds the connections of a transport, if each has its own
	// worker (ServerOptions.WorkerPerConnection).
	MaxConnectionWorkers = server.MaxConnectionWorkers
)

var (
	// ErrRecord is wrapped by all errors about the file of a recording.
	ErrRecord = server.ErrRecord
)

// OpenKeys reads a file of keys, which 'catfish keys' makes.
func OpenKeys(file string, log *slog.Logger) (*Keys, error) { return server.OpenKeys(file, log) }

// DefaultMemoryLimit is three quarters of the memory that this process may use, that of
// its control group or of the host; 2 GiB where that is not known.
func DefaultMemoryLimit() int64 { return server.DefaultMemoryLimit() }

// NewServer binds the address and opens the transports.
func NewServer(opts ServerOptions) (*Server, error) { return server.NewServer(opts) }
