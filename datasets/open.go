package datasets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// Options refine what Open opens. The zero value works.
type Options struct {
	// Count is the number of objects of a generator; 0 is its default. Files
	// do not accept it.
	Count int64
	// Seed of a generator.
	Seed uint64
	// OSM selects what to take from an OpenStreetMap file; "" is WaySegments.
	OSM OSMMode
	// HighwaysOnly omits OpenStreetMap ways without a highway tag. It does
	// not affect TaggedNodes.
	HighwaysOnly bool
	// MemoryBytes is the most that reading a file may keep in memory, such as
	// the positions of OpenStreetMap nodes (16 bytes each). Beyond it reading
	// fails with ErrTooLarge. 0 is DefaultMemoryBytes.
	MemoryBytes int64
	// Label receives the text ids of GeoJSON features, each before the item
	// that got the number id.
	Label func(id uint64, name string)
}

// generators by name. A file with such a name is opened as ./NAME.
var generators = map[string]func(Options) *Source{
	"uniform":    func(o Options) *Source { return Uniform(o.Count, o.Seed) },
	"skewed":     func(o Options) *Source { return Skewed(o.Count, o.Seed) },
	"rea02-like": func(o Options) *Source { return Rea02Like(o.Count, o.Seed) },
}

const (
	californiaName = "california"
	sourceNames    = "uniform, skewed, rea02-like, california"
)

// bufferBytes is the number of bytes read from a file at a time.
const bufferBytes = 256 << 10

// Open finds the data set that spec names:
//
//	uniform, skewed, rea02-like   a generator
//	california                    the embedded road network
//	FILE                          format by extension, else by content
//	FORMAT:FILE                   format as said
//
// It reads only as much of a file as is needed to determine the format:
// Source.Items reports bad data, except for a rea02 file of a wrong length
// (ErrTruncated), which is refused at once. Errors wrap ErrFormat
// (ErrAmbiguous if a prefix helps), ErrOption or the operating system's
// error, such as fs.ErrNotExist.
func Open(spec string, opts Options) (*Source, error) {
	if opts.OSM == "" {
		opts.OSM = WaySegments
	}
	if _, err := ParseOSMMode(string(opts.OSM)); err != nil {
		return nil, err
	}
	if opts.Count < 0 {
		return nil, fmt.Errorf("datasets: %w: count %d, want 0 (default) or more",
			ErrOption, opts.Count)
	}
	if opts.MemoryBytes < 0 {
		return nil, fmt.Errorf("datasets: %w: memory of %d bytes, want 0 (default) or more",
			ErrOption, opts.MemoryBytes)
	}
	if generator, ok := generators[spec]; ok {
		return generator(opts), nil
	}
	if opts.Count > 0 {
		return nil, fmt.Errorf("datasets: %w: count %d for %s, only generators take one",
			ErrOption, opts.Count, input.Quote(spec))
	}
	if spec == californiaName {
		return California(), nil
	}
	var format Format
	path := spec
	if prefix, rest, found := strings.Cut(spec, ":"); found {
		if f, err := ParseFormat(prefix); err == nil {
			format, path = f, rest
		} else if _, missing := os.Stat(spec); missing != nil {
			return nil, fmt.Errorf("%w, or there is no such file", err)
		}
	}
	return openFile(path, format, opts)
}

func openFile(path string, format Format, opts Options) (*Source, error) {
	size, head, err := sniff(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("datasets: %w; generators are %s", err, sourceNames)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if format == "" {
		if format, err = detect(path, head); err != nil {
			return nil, fmt.Errorf("datasets: %s: %w", path, err)
		}
	}
	if format == Road {
		return openRoad(os.DirFS(filepath.Dir(path)), path, opts.MemoryBytes)
	}
	if cut := size % recordBytes; cut != 0 && (format == Rea02 || format == Rec) {
		return nil, &ReadError{Name: path, Offset: size - cut, Err: fmt.Errorf(
			"%w: length %d is not a multiple of %d", ErrTruncated, size, recordBytes)}
	}
	s := &Source{name: path, format: format, count: Unknown, total: size, unit: Bytes, memory: opts.MemoryBytes}
	var read func(p *pass, r io.Reader) error
	switch format {
	case CSV:
		read = readCSV
	case GeoJSON:
		read = func(p *pass, r io.Reader) error { return readGeoJSON(p, r, opts.Label) }
	case OSM:
		read = func(p *pass, r io.Reader) error {
			return readOSM(p, r, opts.OSM, opts.HighwaysOnly)
		}
	case Rea02:
		s.count, read = size/recordBytes, littleEndian.read
	case Rec:
		s.count, read = size/recordBytes, bigEndian.read
	default:
		return nil, fmt.Errorf("datasets: %s: %w: %q has no reader", path, ErrFormat, format)
	}
	s.pass = func(p *pass) error {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("datasets: %w", err)
		}
		defer f.Close() // only read: nothing to lose
		return read(p, p.counted(f))
	}
	return s, nil
}

// sniff returns the size and the first bytes of a regular file.
func sniff(path string) (size int64, head []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, nil, err
	}
	// Checked before it is opened: opening a named pipe would block.
	if !info.Mode().IsRegular() {
		return 0, nil, fmt.Errorf("%w: %s is not a regular file", ErrUnsupported, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	head, err = io.ReadAll(io.LimitReader(f, sniffBytes))
	return info.Size(), head, err
}

// openRoad makes a source of NAME.cnode and NAME.cedge in dir, given the
// path of either.
func openRoad(dir fs.FS, path string, memory int64) (*Source, error) {
	stem, ext := strings.TrimSuffix(path, filepath.Ext(path)), filepath.Ext(path)
	if e := strings.ToLower(ext); e != ".cnode" && e != ".cedge" {
		return nil, fmt.Errorf("datasets: %s: %w: a road network is a pair of"+
			" NAME.cnode and NAME.cedge", path, ErrFormat)
	}
	s := &Source{name: path, format: Road, count: Unknown, unit: Bytes, memory: memory}
	names := [2]string{stem + ".cnode", stem + ".cedge"}
	for _, name := range names {
		info, err := fs.Stat(dir, filepath.Base(name))
		if err != nil {
			return nil, fmt.Errorf("datasets: a road network needs %s and %s: %w",
				names[0], names[1], err)
		}
		s.total += info.Size()
	}
	s.pass = func(p *pass) error {
		var files [2]io.Reader
		for i, name := range names {
			f, err := dir.Open(filepath.Base(name))
			if err != nil {
				return fmt.Errorf("datasets: %w", err)
			}
			defer f.Close()
			files[i] = p.counted(f)
		}
		return readRoad(p, files[0], files[1], names[0], names[1])
	}
	return s, nil
}

// counted buffers r and counts its bytes for Progress.
func (p *pass) counted(r io.Reader) io.Reader {
	return bufio.NewReaderSize(input.Counter{R: r, N: &p.src.done}, bufferBytes)
}

// Bounds reads the whole source and returns the tight bounds of its items,
// and their number. Without items they are zero.
func Bounds(s *Source) (r rstar.Rect, n int64, err error) {
	err = s.Items(func(it rstar.Item) bool {
		if n++; n == 1 {
			r = it.Rect
		} else {
			r = r.Union(it.Rect)
		}
		return true
	})
	return r, n, err
}
