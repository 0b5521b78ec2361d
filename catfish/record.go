package catfish

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
)

// Recording what a server is asked
//
// A worker that has carried out a request appends a record to the shard
// of its client: some bytes, under a lock that nobody else holds but for
// moments. A goroutine of its own empties all shards now and then,
// merges them by time, adds the checksums and writes the file.
//
//	worker ---> shard \
//	worker ---> shard  > swap all, merge, seal ---> file
//	gRPC   ---> shard /
//
// Nothing waits for the file: a shard that is full loses what is added,
// and the loss is counted, logged, shown by Stats and put into the file.
//
// What clients offload never reaches the server, so it is not recorded.

// ErrRecord is wrapped by errors about the file of RecordOptions.
var ErrRecord = errors.New("catfish: recording queries")

// RecordOptions says what a server records of what it is asked, in the
// format of package querylog. Searches that clients offload never reach
// the server and are not recorded.
type RecordOptions struct {
	// File to write; empty: nothing is recorded. One that exists is an
	// error (fs.ErrExist), unless Force is set: it is overwritten then.
	File  string
	Force bool
	// Writes has inserts, deletes and updates recorded, too.
	Writes bool
}

// RecordStats is how a recording goes.
type RecordStats struct {
	File    string `json:"file"`
	Writes  bool   `json:"writes"`
	Records uint64 `json:"records"` // requests in the file
	Dropped uint64 `json:"dropped"` // requests that are missing there
	Bytes   uint64 `json:"bytes"`
	Error   string `json:"error,omitempty"` // why nothing more is written
}

const (
	// recordShards is more than the cores of most servers: clients are
	// dealt out to them in turn, so that workers seldom meet at one.
	recordShards = 16
	// recordShardBytes bounds a shard: 65,536 searches, which one worker
	// takes 50 ms for at a million a second. A shard grows to this only
	// if the writer does not keep up.
	recordShardBytes = 4 << 20
	// recordEvery is how long a record waits at most for the writer, and
	// so what is lost when the process is killed.
	recordEvery = 50 * time.Millisecond
)

// recordShard is where some of the clients' requests wait.
type recordShard struct {
	mu   sync.Mutex
	buf  []byte
	n    int    // records in buf
	lost uint64 // since the writer was here last
	shut bool

	_ [64]byte // Neighbours are on cache lines of other workers.
}

// recorder writes one file.
type recorder struct {
	opts    RecordOptions
	log     *slog.Logger
	start   time.Time
	names   func(uint32) string // of collections
	shards  [recordShards]recordShard
	clients atomic.Uint32

	wake  chan struct{} // a shard is half full
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	// Written by the writer, read by Stats.
	records, dropped, bytes atomic.Uint64
	failure                 atomic.Pointer[error]

	// The writer's own.
	out   recordFile
	spare [recordShards][]byte
	batch []byte
	known map[uint32]bool // collections that have a record
}

// recordFile is what the writer needs of an *os.File.
type recordFile interface {
	Write([]byte) (int, error)
	Sync() error
	Close() error
}

// newRecorder creates the file, with its header, so that what is wrong
// with it shows before anything is served.
func newRecorder(opts RecordOptions, log *slog.Logger) (*recorder, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if opts.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(opts.File, flags, 0o644)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%w: %s exists and is not overwritten: %w", ErrRecord, opts.File, fs.ErrExist)
		}
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	r, err := startRecorder(opts, log, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// startRecorder writes the header. The recorder's goroutine starts with
// run: until then nothing needs to be closed but out.
func startRecorder(opts RecordOptions, log *slog.Logger, out recordFile) (*recorder, error) {
	r := &recorder{
		opts: opts, log: log, start: time.Now(), out: out,
		names: func(uint32) string { return "" }, known: make(map[uint32]bool),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	head := querylog.AppendHeader(nil, r.start)
	if _, err := out.Write(head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	r.bytes.Store(uint64(len(head)))
	return r, nil
}

// client numbers a connection.
func (r *recorder) client() uint32 { return r.clients.Add(1) }

// add records a request that was carried out just now. It never waits
// for the file.
func (r *recorder) add(rec *querylog.Record) {
	if rec.Kind.Writes() && !r.opts.Writes {
		return
	}
	s := &r.shards[rec.Client%recordShards]
	s.mu.Lock()
	if s.shut || len(s.buf)+querylog.MaxRecord > recordShardBytes {
		s.lost++
		s.mu.Unlock()
		return
	}
	// Under the lock, so that a shard is in order, and complete up to
	// the moment at which the writer takes it.
	rec.Offset = time.Since(r.start)
	s.buf = rec.Append(s.buf)
	s.n++
	half := len(s.buf) > recordShardBytes/2
	s.mu.Unlock()
	if half {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// stats is called by Server.Stats.
func (r *recorder) stats() *RecordStats {
	st := &RecordStats{
		File: r.opts.File, Writes: r.opts.Writes, Records: r.records.Load(),
		Dropped: r.dropped.Load(), Bytes: r.bytes.Load(),
	}
	if err := r.failure.Load(); err != nil {
		st.Error = (*err).Error()
	}
	return st
}

// close writes what is left, and returns why something is missing.
func (r *recorder) close() error {
	r.once.Do(func() { close(r.stop) })
	<-r.ended
	if err := r.failure.Load(); err != nil {
		return *err
	}
	return nil
}
