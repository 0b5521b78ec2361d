package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// An engine is one opened Pebble, with the guard below it. Readers hold
// references; it is closed when the last is given back.
type engine struct {
	*pebble.DB
	g      *guard
	refs   atomic.Int64
	closed func(error) // called once, when it is closed
	log    *slog.Logger
	// compacted gets a token after a compaction, unless it has one.
	compacted chan struct{}

	// Of the opened state; later the committer's own.
	last        uint64 // revision, 0: none
	terms       []Span // of the log; the committer replaces it
	collections map[uint32]Meta
	kept        retention
	lag         lag
}

// Where the figures come from: docs/decisions/pebble.md.
const (
	memTableBytes = 64 << 20
	tableBytes    = 32 << 20
	// idTableBytes: without a log there is nothing to save by a large one but
	// compactions, and Pebble keeps two.
	idTableBytes = 4 << 20
)

func pebbleOptions(o Options, cache *pebble.Cache, g vfs.FS, readOnly bool) *pebble.Options {
	po := &pebble.Options{
		FS:                          g,
		Cache:                       cache,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       math.MaxInt32, // throttle.go
		LBaseMaxBytes:               256 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		DisableWAL:                  o.IDsOnly,
		ReadOnly:                    readOnly,
		Logger:                      pebbleLog{o.Logger},
	}
	if o.IDsOnly {
		po.MemTableSize = idTableBytes
	}
	po.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionFastest })
	for i := range po.TargetFileSizes {
		po.TargetFileSizes[i] = tableBytes // Load splits its work by tables.
	}
	return po
}

// How to open an engine.
type opening struct {
	create bool  // Pebble's files may be missing
	frozen error // not nil: nothing can be written, and this is why
	// inspect looks at Pebble before anything else is read. Its error ends the opening.
	inspect func(*pebble.DB) error
}

// openEngine opens the Pebble of dir, on trial (guard.go): the caller calls keep to let
// the engine serve, or discard. After an error the directory is as it was before.
// errWrite: the disk did not take a write of the opening.
func openEngine(o Options, cache *pebble.Cache, dir string, how opening) (_ *engine, err error) {
	g := newGuard(o.FS, dir)
	g.counters = o.counters
	if how.frozen != nil {
		g.freeze(how.frozen)
	}
	defer func() {
		if err == nil {
			return
		}
		if uerr := g.undo(); uerr != nil {
			err = errors.Join(err, uerr)
		}
	}()
	po := pebbleOptions(o, cache, g, how.frozen != nil)
	po.ErrorIfNotExists = !how.create
	compacted := make(chan struct{}, 1)
	po.EventListener = &pebble.EventListener{
		BackgroundError: func(err error) { g.freeze(fmt.Errorf("in the background: %w", err)) },
		CompactionEnd: func(pebble.CompactionInfo) {
			select {
			case compacted <- struct{}{}:
			default:
			}
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			g.freeze(damaged(&info))
		},
	}
	p, err := pebble.Open(dir, po)
	g.opened.Store(true)
	if err != nil {
		g.end()
		return nil, g.blame(err)
	}
	e := &engine{DB: p, g: g, log: o.Logger, closed: func(error) {}, compacted: compacted}
	e.refs.Store(1)
	// Writes of Open that failed are in memory only.
	if how.frozen == nil {
		err = g.blame(nil)
	}
	if err == nil && how.inspect != nil {
		err = how.inspect(p)
	}
	if err == nil {
		err = e.read(o)
	}
	if err != nil {
		e.release()
		return nil, err
	}
	return e, nil
}

// errWrite marks the cause of a failed opening: the disk did not take a write.
var errWrite = errors.New("disk: writing")

// blame is the error of an opening: the one that froze the guard, if any.
func (g *guard) blame(err error) error {
	switch cause := g.cause(); {
	case cause == nil:
		return err
	case errors.Is(cause, ErrCorrupt):
		return cause
	default:
		return fmt.Errorf("%w: %w", errWrite, cause)
	}
}

// discard closes an engine that did not serve, and removes the files that it wrote.
func (e *engine) discard() {
	e.release()
	if err := e.g.undo(); err != nil {
		e.log.Warn("files of an attempt to open the data directory are left", "error", err)
	}
}

// openReadOnly opens the Pebble of dir above a guard that lets nothing through.
func openReadOnly(o Options, cache *pebble.Cache, dir string) (*pebble.DB, error) {
	g := newGuard(o.FS, dir)
	g.freeze(ErrReadOnly)
	po := pebbleOptions(o, cache, g, true)
	po.EventListener = &pebble.EventListener{
		// The readers report it; the default ends the process.
		DataCorruption: func(info pebble.DataCorruptionInfo) { o.Logger.Error(info.String()) },
	}
	return pebble.Open(dir, po)
}

// read finds the last revision, the collections and the extent of the log.
func (e *engine) read(o Options) error {
	metas, err := readCollections(e.NewIter)
	if err != nil {
		return err
	}
	e.collections = map[uint32]Meta{}
	for _, m := range metas {
		e.collections[m.Collection] = m
	}
	first, last, err := logEnds(e.NewIter)
	if err != nil {
		return err
	}
	e.last = last
	if e.terms, err = readTerms(e.NewIter); err != nil {
		return err
	}
	if e.kept, err = measureLog(e.DB, first, last, o.LogBytes); err != nil {
		return err
	}
	return e.readLag(o)
}

func readCollections(iters view) (metas []Meta, err error) {
	it, err := iters(&pebble.IterOptions{LowerBound: []byte{metaPrefix}, UpperBound: []byte{metaPrefix + 1}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		c, rest, err := parseCollection(it.Key())
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%w: %x is no key of a collection", ErrCorrupt, it.Key())
		}
		if err != nil {
			return nil, err
		}
		m, err := parseMeta(c, it.Value())
		if err != nil {
			return nil, err
		}
		metas = append(metas, m)
	}
	return metas, it.Error()
}

// acquire and release count the readers.
func (e *engine) acquire() { e.refs.Add(1) }

func (e *engine) release() {
	if e.refs.Add(-1) > 0 {
		return
	}
	e.g.end()
	err := e.Close()
	if cause := e.g.cause(); cause != nil {
		// Its files were frozen, and callers got that error.
		e.log.Debug("closed a frozen database", "error", err)
		err = nil
	}
	e.closed(err)
}

// pebbleLog is Pebble's logger. Fatalf must not return; it is called for broken
// invariants of Pebble and files that another process removed, since the guard hides
// failed writes.
type pebbleLog struct{ *slog.Logger }

func (l pebbleLog) Infof(f string, a ...any)  { l.Debug(fmt.Sprintf(f, a...)) }
func (l pebbleLog) Errorf(f string, a ...any) { l.Error(fmt.Sprintf(f, a...)) }
func (l pebbleLog) Fatalf(f string, a ...any) {
	l.Error(fmt.Sprintf(f, a...))
	panic(fmt.Sprintf("disk: pebble: "+f, a...))
}
