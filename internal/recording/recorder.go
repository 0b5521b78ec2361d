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

// ErrRecord is wrapped by all errors about the file.
var ErrRecord = errors.New("catfish: recording queries")

// Options configures a Recorder.
type Options struct {
	// File is the file to write. It must not exist (fs.ErrExist), unless
	// Force is set: then it is overwritten.
	File  string
	Force bool
	// Writes adds inserts, deletes and updates to the recording.
	Writes bool
}

// Stats is the state of a recording.
type Stats struct {
	File    string
	Writes  bool
	Records uint64 // requests in the file
	Dropped uint64 // requests that are missing in the file
	Bytes   uint64
	Error   string // why the recording ended early
}

const (
	// bufferBytes is the size of a tap's buffer. It holds 1024 searches,
	// among which the cost of one lock per buffer is lost, and takes a
	// sixteenth of a core's second-level cache, which searches need, too.
	bufferBytes = 64 << 10
	// maxQueued bounds the buffers that wait for the writer, to 64 MiB:
	// one second at a million searches per second.
	maxQueued = 1024
	// keepFree is how many empty buffers are kept for reuse: 4 MiB, three
	// times what arrives between two rounds of the writer at a million
	// searches per second.
	keepFree = 64
	// Hold is the longest time that a record stays in a buffer that does not
	// fill, if its owner calls HandOverOld often enough, and writeEvery the
	// longest that a buffer waits for the writer. With a tick of 10 ms that
	// makes 50 ms, which are lost when the process is killed.
	Hold       = 20 * time.Millisecond
	writeEvery = 20 * time.Millisecond
	// batchBytes is how much one system call writes: enough to make its cost
	// small, and little enough to stay in the cache.
	batchBytes = 256 << 10
)

// Recorder writes one file.
type Recorder struct {
	opts    Options
	log     *slog.Logger
	start   time.Time
	names   func(uint32) string // of collections
	clients atomic.Uint32

	// shared is the tap for requests whose goroutine has no tap of its own.
	// Lock order: sharedMu before mu.
	sharedMu sync.Mutex
	shared   *Tap

	mu     sync.Mutex
	taps   []*Tap   // only grows
	free   [][]byte // empty buffers
	queued int      // buffers handed over, not written yet
	lost   uint64   // records lost since the writer's last round
	shut   bool     // the writer has ended

	wake  chan struct{} // a token: half of maxQueued buffers are queued
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	// Written by the writer, read by Stats.
	records, dropped, bytes atomic.Uint64
	failure                 atomic.Pointer[error]

	// The writer's own.
	out     file
	live    []*Tap   // taps with records to merge
	done    [][]byte // buffers whose records are all in batch
	batch   []byte
	inBatch int             // records in batch
	known   map[uint32]bool // collections whose name is in the file
}

// file is the part of *os.File that the writer uses.
type file interface {
	Write([]byte) (int, error)
	Sync() error
	Close() error
}

// New creates the file and writes its header, so that an error of the
// file shows before the server serves.
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

// start writes the header. The writer's goroutine starts with Start: until
// then only out needs to be closed.
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

// Start starts the writer. names returns the name of a collection. Start is
// called once, before anything is recorded.
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

// Client returns the number of a new connection.
func (r *Recorder) Client() uint32 { return r.clients.Add(1) }

// Add records a request that was executed just now, by the shared tap. It
// sets the record's offset. Safe for concurrent use.
func (r *Recorder) Add(rec *querylog.Record) {
	r.sharedMu.Lock()
	r.shared.Add(rec)
	r.sharedMu.Unlock()
}

// Stats returns the state of the recording, also after Close.
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

// Close writes what is left and ends the writer. The owners of all taps must
// have ended. The error is the reason if the recording is not complete.
func (r *Recorder) Close() error {
	r.once.Do(func() { close(r.stop) })
	<-r.ended
	if err := r.failure.Load(); err != nil {
		return *err
	}
	return nil
}
