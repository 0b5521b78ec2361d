package tile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"unsafe"

	"github.com/catfish-index/catfish/internal/feature"
)

// A tile's bytes (MVT specification 4, as Protocol Buffers)
//
//	tile     3 layer
//	layer    15 version = 2 | 1 name | 2 feature ... | 3 key ... | 4 value ... | 5 extent
//	feature  1 id | 2 tags, packed | 3 type | 4 geometry, packed
//	tags     index of a key, index of a value, and so on
//
// Features come in any order. At the end they are sorted: clusters by their cells, then
// features by their ids; and keys and values are numbered in the order of their first
// use. So neither the bytes nor whether they are too many depend on the order.

// layer collects features. It is reusable memory for one layer at a time.
type layer struct {
	most  int // bytes
	bytes int // lower bound of the size so far
	items []item
	order []byte // sort keys of the items
	geom  []byte
	tags  []uint32 // key, value, in the order of arrival

	keys, values dictionary
	value        []byte
	fields       []string
	noProperties bool

	body []byte
}

// item is one feature of the layer; from and to are in order, geom and tags.
type item struct {
	order, geom, tags [2]int
	id                uint64 // if hasID
	hasID             bool
	typ               geomType
}

// dictionary numbers texts.
type dictionary struct {
	of    map[string]uint32
	all   []string
	again []uint32 // the number in the tile, plus one
}

func (d *dictionary) reset() {
	clear(d.of)
	clear(d.all)
	d.all = d.all[:0]
	if d.of == nil {
		d.of = map[string]uint32{}
	}
}

// number returns the number of a text, and whether it is a new one.
func (d *dictionary) number(text []byte) (n uint32, added bool) {
	if n, ok := d.of[string(text)]; ok {
		return n, false
	}
	n = uint32(len(d.all))
	s := string(text)
	d.of[s] = n
	d.all = append(d.all, s)
	return n, true
}

func (l *layer) reset(most int, o *Options) {
	l.most, l.fields, l.noProperties = most, o.Fields, o.NoProperties
	l.clear()
}

// clear removes all features.
func (l *layer) clear() {
	l.bytes = 0
	l.items, l.order, l.geom, l.tags = l.items[:0], l.order[:0], l.geom[:0], l.tags[:0]
	l.keys.reset()
	l.values.reset()
}

// The first bytes of the items' sort keys.
const (
	orderCluster = 0
	orderFeature = 1
)

// tag adds a property to the current item; value is the result of appendValue.
func (l *layer) tag(key, value []byte) {
	if len(value) == 0 {
		return
	}
	k, added := l.keys.number(key)
	if added {
		l.bytes += 2 + len(key)
	}
	v, added := l.values.number(value)
	if added {
		l.bytes += 2 + len(value)
	}
	l.tags = append(l.tags, k, v)
	l.bytes += 2
}

var (
	keyID      = []byte("id")
	keyCluster = []byte("cluster")
	keyCount   = []byte("point_count")
	keySampled = []byte("sampled")
)

// feature adds what is drawn of a feature; false: the tile has no room.
func (l *layer) feature(id []byte, v *feature.View, s *shaper) bool {
	drawn := false
	for t := typePoint; t < geomTypes; t++ {
		drawn = drawn || len(s.out[t]) > 0
	}
	if !drawn {
		return true
	}
	order, tags := len(l.order), len(l.tags)
	l.order = append(append(l.order, orderFeature), id...)
	l.value = appendString(l.value[:0], id)
	l.tag(keyID, l.value)
	if !l.noProperties {
		v.Values(func(name, text []byte, t feature.JSONType) {
			if !l.wants(name) {
				return
			}
			l.value = appendValue(l.value[:0], text, t)
			l.tag(name, l.value)
		})
	}
	n, err := strconv.ParseUint(unsafe.String(unsafe.SliceData(id), len(id)), 10, 64) // SAFETY: s is not kept.
	for t := typePoint; t < geomTypes; t++ {
		if len(s.out[t]) == 0 {
			continue
		}
		geom := len(l.geom)
		l.geom = append(l.geom, s.out[t]...)
		l.items = append(l.items, item{
			order: [2]int{order, len(l.order)}, geom: [2]int{geom, len(l.geom)}, tags: [2]int{tags, len(l.tags)},
			id: n, hasID: err == nil && (id[0] != '0' || len(id) == 1), typ: t,
		})
		l.bytes += 8 + len(s.out[t])
	}
	return l.bytes <= l.most
}

// wants reports whether a property is selected, except "id", which is the feature's.
func (l *layer) wants(name []byte) bool {
	if string(name) == "id" {
		return false
	}
	for _, f := range l.fields {
		if f == string(name) {
			return true
		}
	}
	return len(l.fields) == 0
}

// cluster adds a point for a number of boxes; false: the tile has no room. cell
// is its place in the order. If sampled is not 0 the number is of a sample.
func (l *layer) cluster(cell int, at spot, count uint32, sampled int) bool {
	order, tags, geom := len(l.order), len(l.tags), len(l.geom)
	l.order = binary.BigEndian.AppendUint32(append(l.order, orderCluster), uint32(cell))
	l.tag(keyCluster, []byte{valueBool, 1})
	l.value = binary.AppendUvarint(append(l.value[:0], valueInt), uint64(count))
	l.tag(keyCount, l.value)
	if sampled != 0 {
		l.value = binary.AppendUvarint(append(l.value[:0], valueInt), uint64(sampled))
		l.tag(keySampled, l.value)
	}
	l.geom = append(l.geom, 1<<3|moveTo)
	l.geom = binary.AppendUvarint(l.geom, zigzag(int64(at.x)))
	l.geom = binary.AppendUvarint(l.geom, zigzag(int64(at.y)))
	l.items = append(l.items, item{
		order: [2]int{order, len(l.order)}, geom: [2]int{geom, len(l.geom)}, tags: [2]int{tags, len(l.tags)}, typ: typePoint,
	})
	l.bytes += 8 + len(l.geom) - geom
	return l.bytes <= l.most
}

// encode returns the tile, nil if it is empty; false: it is too large.
func (l *layer) encode(name string) ([]byte, bool) {
	if len(l.items) == 0 {
		return nil, true
	}
	slices.SortFunc(l.items, func(a, b item) int {
		if c := bytes.Compare(l.order[a.order[0]:a.order[1]], l.order[b.order[0]:b.order[1]]); c != 0 {
			return c
		}
		return int(a.typ) - int(b.typ)
	})
	out := make([]byte, 0, l.bytes+len(name)+1024)
	out = append(out, 15<<3, 2, 1<<3|2)
	out = binary.AppendUvarint(out, uint64(len(name)))
	out = append(out, name...)
	keys, values := l.keys.renumber(), l.values.renumber()
	var packed []byte
	for i := range l.items {
		it := &l.items[i]
		b := l.body[:0]
		if it.hasID {
			b = binary.AppendUvarint(append(b, 1<<3), it.id)
		}
		packed = packed[:0]
		for t := it.tags[0]; t < it.tags[1]; t += 2 {
			packed = binary.AppendUvarint(packed, keys.next(l.tags[t]))
			packed = binary.AppendUvarint(packed, values.next(l.tags[t+1]))
		}
		b = appendBytes(b, 2<<3|2, packed)
		b = append(b, 3<<3, byte(it.typ))
		b = appendBytes(b, 4<<3|2, l.geom[it.geom[0]:it.geom[1]])
		out = appendBytes(out, 2<<3|2, b)
		l.body = b
	}
	for _, k := range keys.order {
		out = appendBytes(out, 3<<3|2, []byte(l.keys.all[k]))
	}
	for _, v := range values.order {
		out = appendBytes(out, 4<<3|2, []byte(l.values.all[v]))
	}
	out = binary.AppendUvarint(append(out, 5<<3), extent)
	head := binary.AppendUvarint([]byte{3<<3 | 2}, uint64(len(out)))
	out = slices.Insert(out, 0, head...)
	return out, len(out) <= l.most
}

func appendBytes(dst []byte, tag byte, b []byte) []byte {
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(b)))
	return append(dst, b...)
}

// renumbered renumbers a dictionary in the order of use.
type renumbered struct {
	again *[]uint32
	order []uint32
}

func (d *dictionary) renumber() renumbered {
	d.again = slices.Grow(d.again[:0], len(d.all))[:len(d.all)]
	clear(d.again)
	return renumbered{&d.again, make([]uint32, 0, len(d.all))}
}

func (r *renumbered) next(n uint32) uint64 {
	again := *r.again
	if again[n] == 0 {
		r.order = append(r.order, n)
		again[n] = uint32(len(r.order))
	}
	return uint64(again[n] - 1)
}
