package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// CSV: a header line, then one rectangle or point per line. Numbers only, so
// quoting is neither needed nor supported. Blank lines are skipped.
const (
	csvRects  = "id,minx,miny,maxx,maxy"
	csvPoints = "id,x,y"
	// maxLine bounds a line: five numbers of up to 768 digits, which is the
	// longest decimal whose last digit still affects a float64.
	maxLine = 4096
)

func readCSV(p *pass, r io.Reader) error {
	lines := newLineReader(r)
	header, err := lines.next()
	if err != nil && err != io.EOF {
		return p.fail(lines.number, -1, err)
	}
	columns := strings.ToLower(strings.ReplaceAll(string(header), " ", ""))
	if columns != csvRects && columns != csvPoints {
		return p.fail(max(lines.number, 1), -1, fmt.Errorf(
			"%w: header line %s, want %s or %s",
			ErrSyntax, input.Quote(string(header)), csvRects, csvPoints))
	}
	want := strings.Count(columns, ",") + 1
	var fields [5][]byte
	for {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err == nil && len(line) == 0 {
			continue
		}
		if err == nil {
			err = csvItem(p, line, fields[:want])
		}
		if err != nil {
			return p.fail(lines.number, -1, err)
		}
	}
}

// csvItem delivers the item of one line that has len(fields) columns.
func csvItem(p *pass, line []byte, fields [][]byte) error {
	if n := bytes.Count(line, comma) + 1; n != len(fields) {
		return fmt.Errorf("%w: %d fields in %s, want %d: an id and %d coordinates",
			ErrSyntax, n, input.Quote(string(line)), len(fields), len(fields)-1)
	}
	for i := range fields {
		field, rest, _ := bytes.Cut(line, comma)
		fields[i], line = bytes.TrimSpace(field), rest
	}
	id, err := parseID(fields[0])
	if err != nil {
		return err
	}
	var c [4]float64
	for i, f := range fields[1:] {
		if c[i], err = parseCoordinate(f); err != nil {
			return err
		}
	}
	if len(fields) == 3 {
		c[2], c[3] = c[0], c[1]
	}
	return p.emit(rstar.Rect{MinX: c[0], MinY: c[1], MaxX: c[2], MaxY: c[3]}, id)
}

var comma = []byte(",")

func parseID(b []byte) (uint64, error) {
	id, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: id %s, want an integer from 0 to 2^64-1",
			ErrSyntax, input.Quote(string(b)))
	}
	return id, nil
}

// parseCoordinate accepts NaN and infinities: rstar.Rect.Validate reports the
// coordinate that has one.
func parseCoordinate(b []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(b), 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%w: coordinate %s is beyond float64, want a finite number",
			rstar.ErrBadRect, input.Quote(string(b)))
	}
	if err != nil {
		return 0, fmt.Errorf("%w: coordinate %s is not a number", ErrSyntax, input.Quote(string(b)))
	}
	return v, nil
}

// lineReader returns lines without their ends, byte order mark and
// surrounding blanks, and counts them from 1.
type lineReader struct {
	r      *bufio.Reader
	number int64
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxLine)}
}

// next returns a line that is valid until the next call, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if len(line) > 0 || err == nil {
		l.number++
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull), len(line) > maxLine:
		return nil, fmt.Errorf("%w: the line exceeds %d bytes", ErrSyntax, maxLine)
	case err == io.EOF && len(line) > 0: // last line without its end
	case err != nil:
		return nil, err
	}
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte(input.ByteOrderMark))
	}
	return bytes.TrimSpace(line), nil
}
