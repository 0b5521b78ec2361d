package catfish

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// cutText cuts off a text with its length in front, perhaps an empty one.
func cutText(b []byte) (text, rest []byte, err error) {
	if len(b) < 2 || len(b)-2 < int(binary.LittleEndian.Uint16(b)) {
		return nil, nil, fmt.Errorf("%w: text in %d bytes", ErrProtocol, len(b))
	}
	n := int(binary.LittleEndian.Uint16(b))
	return b[2 : 2+n], b[2+n:], nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
}

const (
	queryBytes = 8
	boxBytes   = 32
	// boxFindBytes is a find by a box without a cursor, filter or fields.
	boxFindBytes = headBytes + queryBytes + 4 + boxBytes
)

// isBoxFind reports whether a message is a find by a box, in any order, with
// no other parameter than a limit.
func isBoxFind(m *fastmsg.Message) bool {
	// Limit; order, relation, shape, flags; bytes of cursor and filter; box.
	return m.Kind == kindFind && len(m.Payload) == boxFindBytes &&
		binary.LittleEndian.Uint64(m.Payload[headBytes+4:])&^(0xff<<8) ==
			uint64(query.AnyOrder)|uint64(query.ShapeBox)<<16
}

// getBoxFind decodes the box, relation and limit of a message that isBoxFind accepts.
func getBoxFind(p []byte) (q store.BoxSearch) {
	p = p[headBytes:]
	q.Limit, q.Relation = int(binary.LittleEndian.Uint32(p)), feature.Relation(p[5])
	for i := range q.Box {
		q.Box[i] = f64(p[queryBytes+4+8*i:])
	}
	return q
}

func appendSelection(b []byte, s *feature.Selection) ([]byte, error) {
	flags := byte(0)
	if s.NoProperties {
		flags |= 1
	}
	if s.NoGeometry {
		flags |= 2
	}
	if len(s.Fields) > query.MaxFields {
		return b, fmt.Errorf("%w: %d fields, at most %d", store.ErrQuery, len(s.Fields), query.MaxFields)
	}
	b = binary.LittleEndian.AppendUint16(append(b, flags), uint16(len(s.Fields)))
	for _, name := range s.Fields {
		if len(name) > math.MaxUint16 {
			return b, fmt.Errorf("%w: a field of %d bytes", store.ErrQuery, len(name))
		}
		b = appendText(b, name)
	}
	return b, nil
}

func getSelection(b []byte) (s feature.Selection, rest []byte, err error) {
	if len(b) < 3 || b[0] > 3 {
		return s, nil, fmt.Errorf("%w: fields in %d bytes", ErrProtocol, len(b))
	}
	s.NoProperties, s.NoGeometry = b[0]&1 != 0, b[0]&2 != 0
	n := int(binary.LittleEndian.Uint16(b[1:]))
	if b = b[3:]; n > query.MaxFields {
		return s, nil, fmt.Errorf("%w: %d fields, at most %d", ErrProtocol, n, query.MaxFields)
	}
	for range n {
		var name []byte
		if name, b, err = cutText(b); err != nil {
			return s, nil, err
		}
		s.Fields = append(s.Fields, string(name))
	}
	return s, b, nil
}

// getNames decodes a swap.
func getNames(p []byte) (a, b string, err error) {
	x, p, err := cutText(p)
	if err != nil {
		return "", "", err
	}
	y, p, err := cutText(p)
	if err == nil && len(p) > 0 {
		err = fmt.Errorf("%w: two names with %d bytes behind them", ErrProtocol, len(p))
	}
	return string(x), string(y), err
}

func appendFindQuery(b []byte, q *store.Query, space feature.Space) (_ []byte, err error) {
	if len(q.Filter) > math.MaxUint16 || len(q.After) > math.MaxUint16 || q.Limit < 0 {
		return b, fmt.Errorf("%w: limit %d, filter of %d bytes, cursor of %d", store.ErrQuery, q.Limit, len(q.Filter), len(q.After))
	}
	if q.Nowhere {
		return b, fmt.Errorf("%w: features without a geometry in an area are found by a store alone", store.ErrQuery)
	}
	shape := byte(noArea)
	if q.Area != nil {
		shape = byte(q.Area.Shape)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(min(q.Limit, math.MaxUint32)))
	flags := byte(0)
	if !q.Fields.All() {
		flags = withFields
	}
	b = append(b, byte(q.Order), byte(q.Relation), shape, flags)
	b = appendText(appendText(b, q.After), q.Filter)
	if flags != 0 {
		if b, err = appendSelection(b, &q.Fields); err != nil {
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
			return b, fmt.Errorf("%w: area: %w", store.ErrQuery, err)
		}
		return feature.Append(b, g, nil)
	}
	return b, nil
}

func getFindQuery(b []byte) (q store.Query, err error) {
	if len(b) < queryBytes {
		return q, fmt.Errorf("%w: query of %d bytes", ErrProtocol, len(b))
	}
	q.Limit = int(binary.LittleEndian.Uint32(b))
	q.Order, q.Relation = store.Order(b[4]), feature.Relation(b[5])
	shape, flags := b[6], b[7]
	after, b, err := cutText(b[queryBytes:])
	if err != nil {
		return q, err
	}
	expr, b, err := cutText(b)
	if err != nil {
		return q, err
	}
	q.After, q.Filter = string(after), string(expr)
	if flags&withFields != 0 {
		if q.Fields, b, err = getSelection(b); err != nil {
			return q, err
		}
	}
	want := -1
	switch shape {
	case noArea:
		want = 0
	case byte(query.ShapeBox):
		want = boxBytes
	case byte(query.ShapeCircle):
		want = 24
	case byte(query.ShapePolygon):
		want = len(b)
	}
	if len(b) != want {
		return q, fmt.Errorf("%w: shape %d in %d bytes", ErrProtocol, shape, len(b))
	}
	switch shape {
	case noArea:
	case byte(query.ShapeBox):
		q.Area = query.Box(f64(b), f64(b[8:]), f64(b[16:]), f64(b[24:]))
	case byte(query.ShapeCircle):
		q.Area = query.Circle(f64(b), f64(b[8:]), f64(b[16:]))
	default:
		v, err := feature.Parse(b)
		if err != nil {
			return q, fmt.Errorf("%w: polygon: %w", ErrProtocol, err)
		}
		q.Area = query.Polygon(v.Geometry())
	}
	return q, nil
}

func nearArgument(q *store.NearestQuery) uint32 {
	if q.Fields.All() {
		return uint32(q.K)
	}
	return uint32(q.K) | nearFields
}

func appendNear(b []byte, q *store.NearestQuery) (_ []byte, err error) {
	if len(q.Filter) > math.MaxUint16 {
		return b, fmt.Errorf("%w: filter of %d bytes", store.ErrQuery, len(q.Filter))
	}
	b = appendF64(appendF64(appendF64(b, q.X), q.Y), q.Within)
	if !q.Fields.All() {
		if b, err = appendSelection(b, &q.Fields); err != nil {
			return b, err
		}
	}
	return append(b, q.Filter...), nil
}

func getNear(k uint32, b []byte) (q store.NearestQuery, err error) {
	fields := k&nearFields != 0
	k &^= nearFields
	if len(b) < 24 || k > query.MaxNearest {
		return q, fmt.Errorf("%w: %d nearest, in %d bytes", ErrProtocol, k, len(b))
	}
	q = store.NearestQuery{X: f64(b), Y: f64(b[8:]), Within: f64(b[16:]), K: int(k)}
	if b = b[24:]; fields {
		if q.Fields, b, err = getSelection(b); err != nil {
			return q, err
		}
	}
	q.Filter = string(b)
	return q, nil
}

func appendF64(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}
