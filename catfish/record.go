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
// Each worker has a tap: it encodes what it has carried out into a buffer
// that nobody else touches, and hands over the whole buffer when it is
// full, or some milliseconds old. What comes by plain sockets and gRPC
// shares one tap behind a lock. A goroutine of its own merges what was
// handed over by time, adds the checksums and writes the file.
//
//	worker ---> tap: buffer --full, or old---> queue \
//	worker ---> tap: buffer --full, or old---> queue  > merge, seal ---> file
//	sockets --> lock, tap:  buffer ----------> queue /
//
// recordtap.go has the tap and what keeps the file in order of time,
// recordwriter.go the goroutine.
//
// Nothing waits for the file: when too many buffers wait for it, the next
// is emptied instead, and the loss is counted, logged, shown by Stats and
// put into the file.
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
	// recordBufferBytes is a tap's buffer: 1024 searches, so that a lock
	// for each costs them nothing, and a sixteenth of a core's second cache,
	// of which a worker's searches want the rest.
	recordBufferBytes = 64 << 10
	// recordMaxQueued bounds the buffers that wait for the writer, to 64
	// MiB: a second of a million searches.
	recordMaxQueued = 1024
	// recordKeepFree is how many empty buffers are kept: 4 MiB, three times
	// what comes in between two visits of the writer at a million a second.
	recordKeepFree = 64
	// recordHold is how old a record gets in a buffer that does not fill, if
	// its worker ticks (beatPhases), and recordEvery how long a buffer waits
	// for the writer. With a tick of 10 ms they add up to what is lost when
	// the process is killed: 50 ms.
	recordHold  = 20 * time.Millisecond
	recordEvery = 20 * time.Millisecond
	// recordBatchBytes is what is written by one system call, whose cost it
	// makes small; beyond it the batch would only leave the cache.
	recordBatchBytes = 256 << 10
)

// recorder writes one file.
type recorder struct {
	opts    RecordOptions
	log     *slog.Logger
	start   time.Time
	names   func(uint32) string // of collections
	clients atomic.Uint32

	// shared is the tap of all who have none. Its lock is taken before mu.
	sharedMu sync.Mutex
	shared   *recordTap

	mu     sync.Mutex
	taps   []*recordTap // never fewer
	free   [][]byte     // buffers, empty
	queued int          // buffers handed over and not free yet
	lost   uint64       // records, since the writer was here last
	shut   bool         // the writer has ended

	wake  chan struct{} // half of recordMaxQueued wait
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	// Written by the writer, read by Stats.
	records, dropped, bytes atomic.Uint64
	failure                 atomic.Pointer[error]

	// The writer's own.
	out   recordFile
	live  []*recordTap // that have something to merge
	done  [][]byte     // buffers that are merged
	batch []byte
	inIt  int             // records in batch
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
	r.shared = r.tap()
	return r, nil
}

// client numbers a connection.
func (r *recorder) client() uint32 { return r.clients.Add(1) }

// add records a request that was carried out just now, for whoever has no
// tap.
func (r *recorder) add(rec *querylog.Record) {
	r.sharedMu.Lock()
	r.shared.add(rec)
	r.sharedMu.Unlock()
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
