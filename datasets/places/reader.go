package places

import (
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// Reader reads places one by one. Next, All and Close are for one goroutine;
// the other methods may be called from any.
type Reader struct {
	name   string
	format Format
	strict bool
	check  func(*Place) error
	src    source
	close  []func() error
	err    error // final

	total                          int64
	read                           *atomic.Int64
	places, noGeometry, incomplete atomic.Int64

	mu       sync.Mutex // guards what follows
	badCount int64
	bad      []*RecordError
}

// source is the reader of one format. next returns io.EOF at the end, and
// badRecord for a record that the following ones do not depend on. at says
// where the record of the last place begins.
type source interface {
	next() (Place, error)
	at() (line, offset int64)
}

// Next returns the next place, or io.EOF. Its memory is the caller's. Other
// errors are final; those of the input are a *RecordError.
func (r *Reader) Next() (Place, error) {
	for r.err == nil {
		p, err := r.src.next()
		if err == nil && r.check != nil {
			if err = r.check(&p); err != nil {
				line, offset := r.src.at()
				err = badAt(line, offset, err)
			}
		}
		if err == nil {
			r.places.Add(1)
			if p.Geometry == nil {
				r.noGeometry.Add(1)
			}
			return p, nil
		}
		var bad badRecord
		var at *RecordError
		if errors.As(err, &bad) {
			bad.Name = r.name
			if !r.strict {
				r.keep(bad.RecordError)
				continue
			}
			err = bad.RecordError
		} else if errors.As(err, &at) {
			at.Name = r.name
		}
		r.err = err
	}
	return Place{}, r.err
}

func (r *Reader) keep(e *RecordError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.badCount++
	if len(r.bad) < keptBad {
		r.bad = append(r.bad, e)
	}
}

// All yields the places that are left. An error that ends reading is the last
// pair; there is none at the end of the input.
func (r *Reader) All() iter.Seq2[Place, error] {
	return func(yield func(Place, error) bool) {
		for {
			p, err := r.Next()
			if err == io.EOF || !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// Bad returns the first ten bad records. Stats has the number of all.
func (r *Reader) Bad() []*RecordError {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bad)
}

// At says where the record of the place begins that Next returned last: a line, from 1,
// or 0 if the format has none; and an offset in bytes of the unpacked input. Objects of
// OpenStreetMap's PBF come in blocks: it is that of the block. It is for the goroutine
// that calls Next.
func (r *Reader) At() (line, offset int64) { return r.src.at() }

// Stats says how far the reader is.
func (r *Reader) Stats() Stats {
	r.mu.Lock()
	bad := r.badCount
	r.mu.Unlock()
	return Stats{
		Read: r.read.Load(), Total: r.total,
		Places: r.places.Load(), NoGeometry: r.noGeometry.Load(),
		Bad: bad, Incomplete: r.incomplete.Load(),
	}
}

// Name returns the path or name that the reader was opened with.
func (r *Reader) Name() string { return r.name }

// Format returns the format, which may have been found by content.
func (r *Reader) Format() Format { return r.format }

// Close gives back the file and what unpacking took. Next returns an error
// then.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = errClosed
	}
	var all []error
	for _, c := range slices.Backward(r.close) {
		all = append(all, c())
	}
	r.close = nil
	return errors.Join(all...)
}

var errClosed = errors.New("places: the reader is closed")
