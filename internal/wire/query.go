package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/query"
)

// CutText cuts off a text with its length in front, perhaps an empty one.
func CutText(b []byte) (text, rest []byte, err error) {
	if len(b) < 2 || len(b)-2 < int(binary.LittleEndian.Uint16(b)) {
		return nil, nil, fmt.Errorf("%w: text in %d bytes", model.ErrProtocol, len(b))
	}
	n := int(binary.LittleEndian.Uint16(b))
	return b[2 : 2+n], b[2+n:], nil
}

// AppendText appends a text behind its length.
func AppendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
}

const (
	queryBytes = 8
	boxBytes   = 32
	// boxFindBytes is a find by a box without a cursor, filter or fields.
	boxFindBytes = HeadBytes + queryBytes + 4 + boxBytes
)

// IsBoxFind reports whether a message is a find by a box, in any order, with
// no other parameter than a limit.
func IsBoxFind(m *fastmsg.Message) bool {
	// Limit; order, relation, shape, flags; bytes of cursor and filter; box.
	return m.Kind == KindFind && len(m.Payload) == boxFindBytes &&
		binary.LittleEndian.Uint64(m.Payload[HeadBytes+4:])&^(0xff<<8) ==
			uint64(query.AnyOrder)|uint64(query.ShapeBox)<<16
}

// GetBoxFind decodes the box, relation and limit of a message that IsBoxFind accepts.
func GetBoxFind(p []byte) (q query.BoxSearch) {
	p = p[HeadBytes:]
	q.Limit, q.Relation = int(binary.LittleEndian.Uint32(p)), feature.Relation(p[5])
	for i := range q.Box {
		q.Box[i] = F64(p[queryBytes+4+8*i:])
	}
	return q
}

// AppendSelection appends which parts of features are wanted.
func AppendSelection(b []byte, s *feature.Selection) ([]byte, error) {
	flags := byte(0)
	if s.NoProperties {
		flags |= 1
	}
	if s.NoGeometry {
		flags |= 2
	}
	if len(s.Fields) > query.MaxFields {
		return b, fmt.Errorf("%w: %d fields, at most %d", fault.ErrQuery, len(s.Fields), query.MaxFields)
	}
	b = binary.LittleEndian.AppendUint16(append(b, flags), uint16(len(s.Fields)))
	for _, name := range s.Fields {
		if len(name) > math.MaxUint16 {
			return b, fmt.Errorf("%w: a field of %d bytes", fault.ErrQuery, len(name))
		}
		b = AppendText(b, name)
	}
	return b, nil
}

// GetSelection decodes which parts of features are wanted.
func GetSelection(b []byte) (s feature.Selection, rest []byte, err error) {
	if len(b) < 3 || b[0] > 3 {
		return s, nil, fmt.Errorf("%w: fields in %d bytes", model.ErrProtocol, len(b))
	}
	s.NoProperties, s.NoGeometry = b[0]&1 != 0, b[0]&2 != 0
	n := int(binary.LittleEndian.Uint16(b[1:]))
	if b = b[3:]; n > query.MaxFields {
		return s, nil, fmt.Errorf("%w: %d fields, at most %d", model.ErrProtocol, n, query.MaxFields)
	}
	for range n {
		var name []byte
		if name, b, err = CutText(b); err != nil {
			return s, nil, err
		}
		s.Fields = append(s.Fields, string(name))
	}
	return s, b, nil
}

// GetNames decodes a swap.
func GetNames(p []byte) (a, b string, err error) {
	x, p, err := CutText(p)
	if err != nil {
		return "", "", err
	}
	y, p, err := CutText(p)
	if err == nil && len(p) > 0 {
		err = fmt.Errorf("%w: two names with %d bytes behind them", model.ErrProtocol, len(p))
	}
	return string(x), string(y), err
}

// AppendFindQuery appends a query in an area.
func AppendFindQuery(b []byte, q *query.Query, space feature.Space) (_ []byte, err error) {
	if len(q.Filter) > math.MaxUint16 || len(q.After) > math.MaxUint16 || q.Limit < 0 {
		return b, fmt.Errorf("%w: limit %d, filter of %d bytes, cursor of %d", fault.ErrQuery, q.Limit, len(q.Filter), len(q.After))
	}
	if q.Nowhere {
		return b, fmt.Errorf("%w: features without a geometry in an area are found by a store alone", fault.ErrQuery)
	}
	shape := byte(NoArea)
	if q.Area != nil {
		shape = byte(q.Area.Shape)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(min(q.Limit, math.MaxUint32)))
	flags := byte(0)
	if !q.Fields.All() {
		flags = WithFields
	}
	b = append(b, byte(q.Order), byte(q.Relation), shape, flags)
	b = AppendText(AppendText(b, q.After), q.Filter)
	if flags != 0 {
		if b, err = AppendSelection(b, &q.Fields); err != nil {
			return b, err
		}
	}
	switch {
	case q.Area == nil:
	case q.Area.Shape == query.ShapeBox:
		for _, v := range q.Area.Box {
			b = appendF64(b, v)
		}
	case q.Area.Shape == query.ShapeCircle:
		b = appendF64(appendF64(appendF64(b, q.Area.Centre[0]), q.Area.Centre[1]), q.Area.Radius)
	default:
		g, err := feature.Normalise(q.Area.Polygon, feature.Options{Space: space})
		if err != nil {
			return b, fmt.Errorf("%w: area: %w", fault.ErrQuery, err)
		}
		return feature.Append(b, g, nil)
	}
	return b, nil
}

// GetFindQuery decodes a query in an area.
func GetFindQuery(b []byte) (q query.Query, err error) {
	if len(b) < queryBytes {
		return q, fmt.Errorf("%w: query of %d bytes", model.ErrProtocol, len(b))
	}
	q.Limit = int(binary.LittleEndian.Uint32(b))
	q.Order, q.Relation = query.Order(b[4]), feature.Relation(b[5])
	shape, flags := b[6], b[7]
	after, b, err := CutText(b[queryBytes:])
	if err != nil {
		return q, err
	}
	expr, b, err := CutText(b)
	if err != nil {
		return q, err
	}
	q.After, q.Filter = string(after), string(expr)
	if flags&WithFields != 0 {
		if q.Fields, b, err = GetSelection(b); err != nil {
			return q, err
		}
	}
	want := -1
	switch shape {
	case NoArea:
		want = 0
	case byte(query.ShapeBox):
		want = boxBytes
	case byte(query.ShapeCircle):
		want = 24
	case byte(query.ShapePolygon):
		want = len(b)
	}
	if len(b) != want {
		return q, fmt.Errorf("%w: shape %d in %d bytes", model.ErrProtocol, shape, len(b))
	}
	switch shape {
	case NoArea:
	case byte(query.ShapeBox):
		q.Area = query.Box(F64(b), F64(b[8:]), F64(b[16:]), F64(b[24:]))
	case byte(query.ShapeCircle):
		q.Area = query.Circle(F64(b), F64(b[8:]), F64(b[16:]))
	default:
		v, err := feature.Parse(b)
		if err != nil {
			return q, fmt.Errorf("%w: polygon: %w", model.ErrProtocol, err)
		}
		q.Area = query.Polygon(v.Geometry())
	}
	return q, nil
}

// NearArgument is the argument of a request for the nearest.
func NearArgument(q *query.NearestQuery) uint32 {
	if q.Fields.All() {
		return uint32(q.K)
	}
	return uint32(q.K) | NearFields
}

// AppendNear appends a query for the nearest.
func AppendNear(b []byte, q *query.NearestQuery) (_ []byte, err error) {
	if len(q.Filter) > math.MaxUint16 {
		return b, fmt.Errorf("%w: filter of %d bytes", fault.ErrQuery, len(q.Filter))
	}
	b = appendF64(appendF64(appendF64(b, q.X), q.Y), q.Within)
	if !q.Fields.All() {
		if b, err = AppendSelection(b, &q.Fields); err != nil {
			return b, err
		}
	}
	return append(b, q.Filter...), nil
}

// GetNear decodes a query for the nearest.
func GetNear(k uint32, b []byte) (q query.NearestQuery, err error) {
	fields := k&NearFields != 0
	k &^= NearFields
	if len(b) < 24 || k > query.MaxNearest {
		return q, fmt.Errorf("%w: %d nearest, in %d bytes", model.ErrProtocol, k, len(b))
	}
	q = query.NearestQuery{X: F64(b), Y: F64(b[8:]), Within: F64(b[16:]), K: int(k)}
	if b = b[24:]; fields {
		if q.Fields, b, err = GetSelection(b); err != nil {
			return q, err
		}
	}
	q.Filter = string(b)
	return q, nil
}

func appendF64(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// CheckNearest is the server's check of a request's numbers.
func CheckNearest(k uint32, within float64) error {
	if k > MaxNearest {
		return fmt.Errorf("%w: k is %d, limit %d", model.ErrTooLarge, k, MaxNearest)
	}
	if !(within >= 0) {
		return fmt.Errorf("%w: distance %v, want 0 or more", model.ErrProtocol, within)
	}
	return nil
}
