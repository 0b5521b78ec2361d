package places

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// Open opens a file, or standard input if path is Stdin. It returns an error for
// bad options, an unknown format, or a CSV header without positions. Next returns
// the errors of records.
func Open(path string, opts Options) (*Reader, error) {
	if path == Stdin {
		return newReader(os.Stdin, "standard input", -1, opts)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	total := int64(-1)
	info, err := f.Stat()
	switch {
	case err != nil:
		_ = f.Close() // only opened: nothing to lose
		return nil, fmt.Errorf("places: %w", err)
	case info.IsDir():
		_ = f.Close()
		if is := foreignName(filepath.Clean(path)); is != nil {
			return nil, fmt.Errorf("places: %s: %w", path, is)
		}
		return nil, fmt.Errorf("places: %s: %w: a directory", path, input.ErrUnsupported)
	case info.Mode().IsRegular():
		total = info.Size()
	}
	r, err := newReader(f, path, total, opts)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	r.close = append([]func() error{f.Close}, r.close...)
	return r, nil
}

// NewReader reads from r, whose length is not known in advance. Messages show the
// name, and its ending helps to find the format.
func NewReader(r io.Reader, name string, opts Options) (*Reader, error) {
	return newReader(r, name, -1, opts)
}

func newReader(raw io.Reader, name string, total int64, opts Options) (*Reader, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	r := &Reader{name: name, total: total, strict: opts.Strict, check: opts.Check}
	plain, done, err := unpack(bufio.NewReaderSize(input.Counter{R: raw, N: &r.read}, bufferBytes))
	if err != nil {
		return nil, fmt.Errorf("places: %s: %w", name, err)
	}
	if done != nil {
		r.close = append(r.close, done)
	}
	if err := r.start(plain, opts); err != nil {
		_ = r.Close() // the first error is more specific
		return nil, fmt.Errorf("places: %s: %w", name, err)
	}
	return r, nil
}

// start finds the format and makes its source.
func (r *Reader) start(in *bufio.Reader, opts Options) (err error) {
	head, err := in.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		return err
	}
	err = nil // The source checks short input.
	if err := foreignBinary(r.name, head); err != nil {
		return err
	}
	if r.format = opts.Format; r.format == "" {
		if r.format, err = detect(r.name, head); err != nil {
			return err
		}
	}
	if err := opts.suits(r.format); err != nil {
		return err
	}
	memory := input.NewBudget(opts.MemoryBytes)
	switch r.format {
	case GeoJSON, GeoJSONSeq:
		r.src = newGeoJSON(in, r.format, opts.ID, opts.AnyCRS)
	case CSV:
		r.src, err = newCSV(in, head, opts)
	case OSMPBF:
		r.src = newPBF(in, newOSM(memory, &r.incomplete), opts.ID)
	case OSMXML:
		r.src = newXML(in, newOSM(memory, &r.incomplete), opts.ID)
	case FlatGeobuf:
		r.src, err = newFlatGeobuf(in, opts.ID, opts.AnyCRS)
	}
	return err
}
