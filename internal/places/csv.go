package places

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// CSV (RFC 4180): a header line, then one place a line, with quotes around
// fields that contain separators, quotes or line ends. A column is a position, a
// geometry as text, the id, or a property. A property is a number if its whole
// field is written as one (isNumber) and Options.Text does not name its column, else
// text; an empty field is no property.

// maxRowBytes bounds a row. encoding/csv uses up to 24 bytes of memory for a
// byte of input, if the byte is a separator.
const maxRowBytes = 16 << 20

type csvSource struct {
	rows    *csv.Reader
	columns *columns
	limit   *rowLimit
	text    []byte // reused
}

func newCSV(in *bufio.Reader, head []byte, opts Options) (*csvSource, error) {
	if string(head[:min(len(head), 3)]) == input.ByteOrderMark {
		_, _ = in.Discard(3) // was just seen
	}
	limit := &rowLimit{r: in}
	rows := csv.NewReader(limit)
	rows.ReuseRecord = true
	rows.FieldsPerRecord = -1 // checked below, once the header is known
	if rows.Comma = opts.Separator; rows.Comma == 0 {
		var err error
		if rows.Comma, err = findSeparator(headerLine(head)); err != nil {
			return nil, err
		}
	}
	header, err := rows.Read()
	if err == io.EOF {
		err = fmt.Errorf("%w: no header line", input.ErrTruncated)
	}
	if err != nil {
		return nil, csvError(err)
	}
	c, err := findColumns(header, opts)
	if err != nil {
		return nil, err
	}
	return &csvSource{rows: rows, columns: c, limit: limit}, nil
}

func (s *csvSource) next() (Place, error) {
	offset := s.rows.InputOffset()
	s.limit.begun = offset
	row, err := s.rows.Read()
	var bad *csv.ParseError
	switch {
	case err == io.EOF:
		return Place{}, err
	case errors.As(err, &bad):
		return Place{}, badAt(int64(bad.StartLine), offset, csvError(err))
	case err != nil:
		return Place{}, finalAt(0, offset, err)
	}
	p, err := s.place(row)
	if err != nil {
		line, _ := s.at()
		return Place{}, badAt(line, offset, err)
	}
	return p, nil
}

func (s *csvSource) at() (line, offset int64) {
	at, _ := s.rows.FieldPos(0)
	return int64(at), s.limit.begun
}

// csvError gives errors of encoding/csv a kind.
func csvError(err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("%w: column %d: %w", input.ErrSyntax, bad.Column, bad.Err)
	}
	return err
}

func (s *csvSource) place(row []string) (p Place, err error) {
	c := s.columns
	if len(row) != len(c.names) {
		return p, fmt.Errorf("%w: %d fields, the header has %d",
			input.ErrSyntax, len(row), len(c.names))
	}
	for i, field := range row {
		if !utf8.ValidString(field) {
			return p, fmt.Errorf("%w: %s is %s, which is not UTF-8; convert the file first",
				input.ErrSyntax, input.Quote(c.names[i]), input.Quote(field))
		}
	}
	if c.wkt >= 0 {
		err = p.decodeWKT(row[c.wkt])
	} else {
		p.Geometry, err = position(row[c.x], row[c.y])
	}
	if err != nil {
		return p, err
	}
	if c.id >= 0 {
		if p.ID = strings.Clone(row[c.id]); p.ID == "" && !c.idIsOptional {
			return p, noID(c.names[c.id])
		}
	}
	p.Properties = s.properties(row)
	return p, nil
}

// properties makes a JSON object of the fields that are not empty.
func (s *csvSource) properties(row []string) []byte {
	text := s.text[:0]
	text = append(text, '{')
	for i, field := range row {
		key := s.columns.keys[i]
		if key == nil || field == "" {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(text, key...)
		if !s.columns.text[i] && isNumber(field) {
			text = append(text, field...)
		} else {
			text = appendString(text, field)
		}
	}
	text = append(text, '}')
	if s.text = text; len(text) == len("{}") {
		return nil
	}
	return slices.Clone(text)
}

// position returns nil if both fields are empty.
func position(x, y string) (orb.Geometry, error) {
	x, y = strings.TrimSpace(x), strings.TrimSpace(y)
	if x == "" && y == "" {
		return nil, nil
	}
	var p orb.Point
	for i, field := range [2]string{x, y} {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%w: coordinate %s, want a finite number",
				input.ErrSyntax, input.Quote(field))
		}
		p[i] = v
	}
	return p, nil
}

// rowLimit ends the input when a row is longer than maxRowBytes, for instance
// one with an unclosed quote.
type rowLimit struct {
	r     io.Reader
	begun int64 // the offset at which the row begins
	read  int64
}

func (l *rowLimit) Read(b []byte) (int, error) {
	if l.read-l.begun > maxRowBytes {
		return 0, fmt.Errorf("%w: the row at offset %d has more than %d bytes; is there"+
			" a quote that is not closed?", input.ErrTooLarge, l.begun, maxRowBytes)
	}
	n, err := l.r.Read(b)
	l.read += int64(n)
	return n, err
}
