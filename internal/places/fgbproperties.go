package places

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Properties are pairs of a column's number (u16) and a value, whose length
// depends on the column's type; text has a u32 length before it. A missing
// property is null.
type fgbColumn struct {
	key  []byte // "name": as JSON
	kind int
	used *bool // by the current feature
}

// The types of columns.
const (
	fgbByte = iota
	fgbUByte
	fgbBool
	fgbShort
	fgbUShort
	fgbInt
	fgbUInt
	fgbLong
	fgbULong
	fgbFloat
	fgbDouble
	fgbString
	fgbJSON
	fgbDateTime
	fgbBinary
)

// fgbSizes are the sizes, in bytes, of values with a fixed size.
var fgbSizes = [...]int{1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8}

func (f *flat) columns(v vector) []fgbColumn {
	var all []fgbColumn
	for i := 0; i < v.n && f.err == nil; i++ {
		t := f.element(v, i)
		name := f.text(t, 0)
		if len(name) == 0 || !utf8.Valid(name) {
			f.fail("column %d has the name %s", i, input.Quote(name))
		}
		c := fgbColumn{append(appendString(nil, name), ':'), f.u8(t, 1), new(bool)}
		if c.kind > fgbBinary {
			f.fail("column %s of type %d, want 0 to %d", input.Quote(name), c.kind, fgbBinary)
		}
		all = append(all, c)
	}
	return all
}

// properties makes a JSON object. A column occurs once: otherwise a small feature
// could expand into a huge one by repeating a long name.
func (s *fgbSource) properties(f *flat, values []byte, columns []fgbColumn) []byte {
	for i := range columns {
		*columns[i].used = false
	}
	text := s.text[:0]
	text = append(text, '{')
	for len(values) > 0 && f.err == nil {
		if len(values) < 2 {
			f.fail("half of a column's number")
			break
		}
		n := int(binary.LittleEndian.Uint16(values))
		if n >= len(columns) || *columns[n].used {
			f.fail("a value of column %d, of %d, that is unknown or there twice", n, len(columns))
			break
		}
		c := columns[n]
		*c.used = true
		value, rest, ok := c.cut(values[2:])
		if !ok {
			f.fail("a value of %d bytes of column %s", len(values)-2, c.key)
			break
		}
		values = rest
		before := len(text)
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(text, c.key...)
		if text, ok = c.appendJSON(text, value); !ok {
			text = text[:before] // null
		}
	}
	text = append(text, '}')
	if s.text = text; len(text) == len("{}") || f.err != nil {
		return nil
	}
	return slices.Clone(text)
}

// cut splits off a value.
func (c fgbColumn) cut(b []byte) (value, rest []byte, ok bool) {
	n := 0
	if c.kind < len(fgbSizes) {
		n = fgbSizes[c.kind]
	} else {
		if len(b) < 4 {
			return nil, nil, false
		}
		n, b = int(binary.LittleEndian.Uint32(b)), b[4:]
	}
	if n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// appendJSON appends a value; ok is false for one that JSON cannot represent: NaN,
// infinity, or an invalid value of a JSON column. Binary becomes base64.
func (c fgbColumn) appendJSON(dst, v []byte) (text []byte, ok bool) {
	var word [8]byte
	copy(word[:], v)
	u := binary.LittleEndian.Uint64(word[:])
	switch c.kind {
	case fgbByte:
		return strconv.AppendInt(dst, int64(int8(u)), 10), true
	case fgbShort:
		return strconv.AppendInt(dst, int64(int16(u)), 10), true
	case fgbInt:
		return strconv.AppendInt(dst, int64(int32(u)), 10), true
	case fgbLong:
		return strconv.AppendInt(dst, int64(u), 10), true
	case fgbUByte, fgbUShort, fgbUInt, fgbULong:
		return strconv.AppendUint(dst, u, 10), true
	case fgbBool:
		return strconv.AppendBool(dst, u != 0), true
	case fgbFloat:
		return appendFloat(dst, float64(math.Float32frombits(uint32(u))), 32)
	case fgbDouble:
		return appendFloat(dst, math.Float64frombits(u), 64)
	case fgbJSON:
		var compact bytes.Buffer
		if !utf8.Valid(v) || json.Compact(&compact, v) != nil {
			return dst, false
		}
		return append(dst, compact.Bytes()...), true
	case fgbBinary:
		return appendString(dst, base64.StdEncoding.EncodeToString(v)), true
	}
	return appendString(dst, v), true
}

func appendFloat(dst []byte, v float64, size int) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, false
	}
	return strconv.AppendFloat(dst, v, 'g', -1, size), true
}
