package datasets

import (
	"errors"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// Unknown is what Count and Progress return for a number that is only known
// after reading.
const Unknown = -1

// Source is one data set: a file, an embedded data set, a generator or
// items in memory. It holds no open file; each call of Items opens what
// it needs and closes it again. All methods are safe for concurrent
// use, but Progress and Skipped then mix the passes.
type Source struct {
	name   string
	format Format
	count  int64
	bounds rstar.Rect // valid if bounded
	total  int64      // bytes for files, items otherwise
	unit   Unit
	memory int64 // Options.MemoryBytes

	bounded bool

	done    atomic.Int64
	skipped atomic.Int64
	pass    func(*pass) error
}

// Unit is what Progress counts.
type Unit string

// The units of progress.
const (
	Bytes   Unit = "B"
	Objects Unit = "items"
)

// Name returns the path of a file or the name of a generator.
func (s *Source) Name() string { return s.name }

// Format returns the file format; generators have Generated.
func (s *Source) Format() Format { return s.format }

// Count returns the number of items, or Unknown before reading. It equals the
// number that an error-free Items delivers.
func (s *Source) Count() int64 { return s.count }

// Bounds returns a rectangle that contains all items, if one is known
// without reading. It need not be tight.
func (s *Source) Bounds() (r rstar.Rect, known bool) { return s.bounds, s.bounded }

// Progress returns how much of the current or last pass is done, the
// total (Unknown if not known) and what is counted. Call it from yield
// or from another goroutine.
func (s *Source) Progress() (done, total int64, unit Unit) {
	return s.done.Load(), s.total, s.unit
}

// Skipped returns how many objects the current or last pass omitted because
// the input gives them no position: GeoJSON features with a null geometry,
// OSM way segments or ways whose nodes the extract lacks.
func (s *Source) Skipped() int64 { return s.skipped.Load() }

// Items calls yield for every item in the order of the input, until yield
// returns false, which is not an error. Every delivered rectangle passes
// rstar.Rect.Validate. On an error (a *ReadError for any fault of the input)
// the items before it have been delivered.
func (s *Source) Items(yield func(rstar.Item) bool) error {
	s.done.Store(0)
	s.skipped.Store(0)
	p := &pass{src: s, yield: yield, memory: input.NewBudget(s.memory)}
	err := s.pass(p)
	if err == nil || errors.Is(err, errStop) {
		return nil
	}
	return err
}

// FromItems makes a source of items in memory, which it does not copy. Items
// validates them as they are delivered.
func FromItems(name string, items []rstar.Item) *Source {
	s := &Source{
		name: name, format: Generated, unit: Objects,
		count: int64(len(items)), total: int64(len(items)),
	}
	s.pass = func(p *pass) error {
		for i, it := range items {
			if err := p.emit(it.Rect, it.ID); err != nil {
				return p.fail(0, -1, err)
			}
			s.done.Store(int64(i) + 1)
		}
		return nil
	}
	return s
}

// pass is one walk over a source.
type pass struct {
	src       *Source
	yield     func(rstar.Item) bool
	delivered int64
	memory    *input.Budget // see limits.go
}

// emit validates and delivers one item. The readers wrap its error with the
// position, by fail.
func (p *pass) emit(r rstar.Rect, id uint64) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return p.deliver(r, id)
}

// deliver is emit for rectangles that are valid by construction.
func (p *pass) deliver(r rstar.Rect, id uint64) error {
	p.delivered++
	if !p.yield(rstar.Item{Rect: r, ID: id}) {
		return errStop
	}
	return nil
}

// fail adds the position to err: line if positive, else offset if not
// negative.
func (p *pass) fail(line, offset int64, err error) error {
	var placed *ReadError
	if errors.Is(err, errStop) || errors.As(err, &placed) {
		return err
	}
	if line > 0 {
		offset = -1
	}
	return &ReadError{
		Name: p.src.name, Line: line, Offset: offset,
		Delivered: p.delivered, Err: err,
	}
}
