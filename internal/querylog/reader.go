package querylog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Errors of reading. Records before an error have been delivered. Reading
// again is safe, but useless before the file has changed.
var (
	// ErrNotALog: the file does not begin as a query log does.
	ErrNotALog = errors.New("not a query log")
	// ErrVersion: a query log of a version that this program cannot read.
	ErrVersion = errors.New("query log of another version")
	// ErrTorn: the file ends within a record, as it does when the server was
	// killed or the disk was full. Everything before is valid.
	ErrTorn = errors.New("query log is torn")
	// ErrDamaged: a record differs from the one written.
	ErrDamaged = errors.New("query log is damaged")
)

const (
	magic = "catfish-querylog "
	// Version is the only one so far.
	Version = 1
	// maxHeader fits the longest header line of any future version.
	maxHeader = 128
)

// AppendHeader appends the header line.
func AppendHeader(b []byte, start time.Time) []byte {
	b = append(b, magic...)
	b = strconv.AppendInt(b, Version, 10)
	b = append(b, ' ')
	b = start.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '\n')
}

// IsLog reports whether a file that begins with head is a query log, of any
// version.
func IsLog(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Reader reads a query log, from one goroutine.
type Reader struct {
	r      *bufio.Reader
	start  time.Time
	offset int64 // of the next record
	count  int64 // records delivered
}

// NewReader reads the header. Errors wrap ErrNotALog or ErrVersion, or
// are r's own.
func NewReader(r io.Reader) (*Reader, error) {
	// A few system calls per megabyte.
	br := bufio.NewReaderSize(r, 256<<10)
	head, err := br.Peek(maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the query log: %w", err)
	}
	line, _, ended := bytes.Cut(head, []byte{'\n'})
	if !IsLog(line) {
		return nil, fmt.Errorf("%w: it begins with %.40q, want %q", ErrNotALog, line, magic)
	}
	fields := bytes.Fields(line[len(magic):])
	if len(fields) > 0 && string(fields[0]) != strconv.Itoa(Version) {
		return nil, fmt.Errorf("%w: version %.20q, want %d", ErrVersion, fields[0], Version)
	}
	if !ended || len(fields) != 2 {
		return nil, fmt.Errorf("%w: header line %q, want magic, version and start", ErrNotALog, line)
	}
	start, err := time.Parse(time.RFC3339Nano, string(fields[1]))
	if err != nil {
		return nil, fmt.Errorf("%w: start of the recording: %w", ErrNotALog, err)
	}
	_, _ = br.Discard(len(line) + 1) // Was peeked: cannot fail.
	return &Reader{r: br, start: start, offset: int64(len(line) + 1)}, nil
}

// Start returns when the recording began.
func (r *Reader) Start() time.Time { return r.start }

// Next returns the next record; io.EOF after the last one. Its other errors
// wrap ErrTorn or ErrDamaged and give the position, or are those of the
// underlying reader. A Record's rectangles are valid.
func (r *Reader) Next() (Record, error) {
	head, err := r.r.Peek(2)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return Record{}, io.EOF
	}
	if err != nil {
		return Record{}, r.fail(err)
	}
	size := int(binary.LittleEndian.Uint16(head))
	if size == 0 && r.zeros() {
		// A file that had grown before its bytes were on disk.
		return Record{}, r.fail(fmt.Errorf("%w: only zeros follow", ErrTorn))
	}
	if size < headBytes || size > MaxRecord || size%8 != 0 {
		return Record{}, r.fail(fmt.Errorf("%w: a record of %d bytes, want %d to %d by 8",
			ErrDamaged, size, headBytes, MaxRecord))
	}
	b, err := r.r.Peek(size)
	if err != nil {
		return Record{}, r.fail(err)
	}
	rec, err := decode(b)
	if err != nil {
		return Record{}, r.fail(err)
	}
	_, _ = r.r.Discard(size) // As above.
	r.offset += int64(size)
	r.count++
	return rec, nil
}

// zeros reads the rest.
func (r *Reader) zeros() bool {
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if c != 0 {
			return false
		}
	}
}

// fail adds the position.
func (r *Reader) fail(err error) error {
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: it ends within a record", ErrTorn)
	}
	return fmt.Errorf("%w, at offset %d, after %d records", err, r.offset, r.count)
}
