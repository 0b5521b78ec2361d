package recording

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

// ErrRecord is wrapped by errors about the file of Options.
var ErrRecord = errors.New("catfish: recording queries")

// Options configures a Recorder.
type Options struct {
	// File to write. One that exists is an error (fs.ErrExist), unless
	// Force is set: it is overwritten then.
	File  string
	Force bool
	// Writes has inserts, deletes and updates recorded, too.
	Writes bool
}

// Stats is how a recording goes.
type Stats struct {
	File    string
	Writes  bool
	Records uint64 // requests in the file
	Dropped uint64 // requests that are missing there
	Bytes   uint64
	Error   string // why nothing more is written
}

const (
	// bufferBytes is a tap's buffer: 1024 searches, so that a lock
	// for each costs them nothing, and a sixteenth of a core's second cache,
	// of which a worker's searches want the rest.
	bufferBytes = 64 << 10
	// maxQueued bounds the buffers that wait for the writer, to 64
	// MiB: a second of a million searches.
	maxQueued = 1024
	// keepFree is how many empty buffers are kept: 4 MiB, three times
	// what comes in between two visits of the writer at a million a second.
	keepFree = 64
	// Hold is how old a record gets in a buffer that does not fill, if
	// its owner calls HandOverOld in time, and writeEvery how long a buffer waits
	// for the writer. With a tick of 10 ms they add up to what is lost when
	// the process is killed: 50 ms.
	Hold       = 20 * time.Millisecond
	writeEvery = 20 * time.Millisecond
	// batchBytes is what is written by one system call, whose cost it
	// makes small; beyond it the batch would only leave the cache.
	batchBytes = 256 << 10
)

// Recorder writes one file.
type Recorder struct {
	opts    Options
	log     *slog.Logger
	start   time.Time
	names   func(uint32) string // of collections
	clients atomic.Uint32

	// shared is the tap of all who have none. Its lock is taken before mu.
	sharedMu sync.Mutex
	shared   *Tap

	mu     sync.Mutex
	taps   []*Tap   // never fewer
	free   [][]byte // buffers, empty
	queued int      // buffers handed over and not free yet
	lost   uint64   // records, since the writer was here last
	shut   bool     // the writer has ended

	wake  chan struct{} // half of maxQueued wait
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	// Written by the writer, read by Stats.
	records, dropped, bytes atomic.Uint64
	failure                 atomic.Pointer[error]

	// The writer's own.
	out   file
	live  []*Tap   // that have something to merge
	done  [][]byte // buffers that are merged
	batch []byte
	inIt  int             // records in batch
	known map[uint32]bool // collections that have a record
}

// file is what the writer needs of an *os.File.
type file interface {
	Write([]byte) (int, error)
	Sync() error
	Close() error
}

// New creates the file, with its header, so that what is wrong
// with it shows before anything is served.
func New(opts Options, log *slog.Logger) (*Recorder, error) {
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
	r, err := start(opts, log, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// start writes the header. The recorder's goroutine starts with Start:
// until then nothing needs to be closed but out.
func start(opts Options, log *slog.Logger, out file) (*Recorder, error) {
	r := &Recorder{
		opts: opts, log: log, start: time.Now(), out: out,
		names: func(uint32) string { return "" }, known: make(map[uint32]bool),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	head := querylog.AppendHeader(nil, r.start)
	if _, err := out.Write(head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	r.bytes.Store(uint64(len(head)))
	r.shared = r.NewTap()
	return r, nil
}

// Start begins to write what is recorded; names tells the name of a
// collection. It is called once, before anything is recorded.
func (r *Recorder) Start(names func(uint32) string) {
	r.names = names
	go r.run()
}

// Discard ends a recording that was not started, and removes its file.
func (r *Recorder) Discard() error {
	return errors.Join(r.out.Close(), r.Remove())
}

// Remove removes the file.
func (r *Recorder) Remove() error { return os.Remove(r.opts.File) }

// Client numbers a connection.
func (r *Recorder) Client() uint32 { return r.clients.Add(1) }

// Add records a request that was carried out just now, for whoever has no
// tap. It sets the record's offset.
func (r *Recorder) Add(rec *querylog.Record) {
	r.sharedMu.Lock()
	r.shared.Add(rec)
	r.sharedMu.Unlock()
}

// Stats is how the recording goes; after Close, how it went.
func (r *Recorder) Stats() Stats {
	st := Stats{
		File: r.opts.File, Writes: r.opts.Writes, Records: r.records.Load(),
		Dropped: r.dropped.Load(), Bytes: r.bytes.Load(),
	}
	if err := r.failure.Load(); err != nil {
		st.Error = (*err).Error()
	}
	return st
}

// Close writes what is left, and returns why something is missing. The
// owners of all taps have ended by then.
func (r *Recorder) Close() error {
	r.once.Do(func() { close(r.stop) })
	<-r.ended
	if err := r.failure.Load(); err != nil {
		return *err
	}
	return nil
}
