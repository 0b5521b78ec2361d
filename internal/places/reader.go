package places

import (
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// Reader reads places one by one. Only one goroutine may call Next, All and Close;
// any may call the other methods.
type Reader struct {
	name   string
	format Format
	strict bool
	check  func(*Place) error
	src    source
	close  []func() error
	err    error // final

	total                                int64
	read, places, noGeometry, incomplete atomic.Int64

	mu       sync.Mutex // guards the following fields
	badCount int64
	bad      []*RecordError
}

// source is the reader of one format. next returns io.EOF at the end, and
// badRecord for a record that the following ones do not depend on. at returns
// the beginning of the last place's record.
type source interface {
	next() (Place, error)
	at() (line, offset int64)
}

// Next returns the next place, or io.EOF. The caller owns its memory. Other
// errors are final; errors of the input are a *RecordError.
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

// All yields the remaining places. An error that ends reading is the last pair;
// the end of the input yields none.
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

// At returns where the record of the place begins that Next returned last: a line, from 1,
// or 0 if the format has none; and an offset in bytes of the unpacked input. Objects of
// OpenStreetMap's PBF come in blocks: their offset is that of the block. Only the goroutine
// that calls Next may call At.
func (r *Reader) At() (line, offset int64) { return r.src.at() }

// Stats returns the progress of the reader.
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

// Format returns the format, which was given or detected.
func (r *Reader) Format() Format { return r.format }

// Close closes the file and releases the memory for unpacking. Next returns an error
// after it.
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
