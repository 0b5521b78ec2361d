package input

import (
	"fmt"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// OpenStreetMap PBF, the blocks
//
//	HeaderBlock     4 required_features (string, repeated)
//	PrimitiveBlock  1 stringtable   17 granularity (default 100)
//	                2 groups        19 lat_offset  20 lon_offset
//	StringTable     1 s (bytes, repeated)
//	PrimitiveGroup  1 nodes  2 dense  3 ways  4 relations
//	Node            1 id (sint64)  2 keys  3 values  8 lat  9 lon (sint64)
//	DenseNodes      1 id  8 lat  9 lon (sint64, packed, deltas)
//	                10 keys_vals (packed): (key value)* 0 per node
//	Way             1 id (int64)  2 keys  3 values (packed)
//	                8 refs (sint64, packed, deltas)
//	Relation        1 id (int64)  2 keys  3 values (packed)  8 roles (packed)
//	                9 member ids (sint64, packed, deltas)  10 kinds (packed)
//
// Keys, values and roles are indices into the string table.
//
// A position in degrees is 1e-9 * (offset + granularity * value). Dividing by
// 1e9 instead gives the float64 nearest to the decimal.

// osmFeatures are the required features that this reader supports.
var osmFeatures = []string{"OsmSchema-V0.6", "DenseNodes"}

func checkOSMHeader(data []byte) error {
	return eachField(data, func(f protoField) error {
		if f.number != 4 || slices.Contains(osmFeatures, string(f.bytes)) {
			return nil
		}
		return fmt.Errorf("%w: the file requires %s, known are %q",
			ErrUnsupported, Quote(string(f.bytes)), osmFeatures)
	})
}

type osmBlock struct {
	visitor     OSMVisitor
	granularity int64
	lat0, lon0  int64
	strings     [][]byte // parts of the block

	refs    []int64 // these are reused
	tags    []OSMTag
	members []OSMMember
}

// read decodes a PrimitiveBlock: the table and the scale first, because the
// groups need them.
func (b *osmBlock) read(data []byte) error {
	b.granularity, b.lat0, b.lon0 = 100, 0, 0
	b.strings = b.strings[:0]
	err := eachField(data, func(f protoField) error {
		switch f.number {
		case 1:
			return b.table(f)
		case 17:
			b.granularity = int64(int32(f.varint))
			return f.want(protowire.VarintType)
		case 19:
			b.lat0 = int64(f.varint)
			return f.want(protowire.VarintType)
		case 20:
			b.lon0 = int64(f.varint)
			return f.want(protowire.VarintType)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return eachField(data, func(f protoField) error {
		if f.number != 2 {
			return nil
		}
		if err := f.want(protowire.BytesType); err != nil {
			return err
		}
		return b.group(f.bytes)
	})
}

func (b *osmBlock) table(f protoField) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	return eachField(f.bytes, func(f protoField) error {
		if f.number != 1 {
			return nil
		}
		b.strings = append(b.strings, f.bytes)
		return f.want(protowire.BytesType)
	})
}

func (b *osmBlock) group(data []byte) error {
	return eachField(data, func(f protoField) error {
		if f.number > 4 {
			return nil
		}
		if err := f.want(protowire.BytesType); err != nil {
			return err
		}
		switch f.number {
		case 1:
			return b.node(f.bytes)
		case 2:
			return b.dense(f.bytes)
		case 3:
			return b.way(f.bytes)
		}
		return b.relation(f.bytes)
	})
}

func (b *osmBlock) node(data []byte) error {
	var id, lat, lon int64
	var keys, values packedInts
	err := eachField(data, func(f protoField) error {
		switch f.number {
		case 1:
			id = protowire.DecodeZigZag(f.varint)
		case 2:
			keys = f.bytes
			return f.want(protowire.BytesType)
		case 3:
			values = f.bytes
			return f.want(protowire.BytesType)
		case 8:
			lat = protowire.DecodeZigZag(f.varint)
		case 9:
			lon = protowire.DecodeZigZag(f.varint)
		default:
			return nil
		}
		return f.want(protowire.VarintType)
	})
	if err != nil {
		return err
	}
	if err := b.pair(keys, values); err != nil {
		return fmt.Errorf("node %d: %w", id, err)
	}
	return b.place(id, lat, lon)
}

func (b *osmBlock) dense(data []byte) error {
	var ids, lats, lons, tags packedInts
	err := eachField(data, func(f protoField) error {
		switch f.number {
		case 1:
			ids = f.bytes
		case 8:
			lats = f.bytes
		case 9:
			lons = f.bytes
		case 10:
			tags = f.bytes
		default:
			return nil
		}
		return f.want(protowire.BytesType)
	})
	if err != nil {
		return err
	}
	var id, lat, lon int64
	anyTags := len(tags) > 0
	for len(ids) > 0 {
		for _, column := range [...]struct {
			from *packedInts
			sum  *int64
		}{{&ids, &id}, {&lats, &lat}, {&lons, &lon}} {
			delta, err := column.from.zigzag()
			if err != nil {
				return fmt.Errorf("dense nodes after id %d: %w", id, err)
			}
			*column.sum += delta
		}
		b.tags = b.tags[:0]
		for anyTags {
			key, err := tags.next()
			if err != nil {
				return fmt.Errorf("tags of node %d: %w", id, err)
			}
			if key == 0 {
				break
			}
			value, err := tags.next()
			if err != nil {
				return fmt.Errorf("tags of node %d: %w", id, err)
			}
			if err := b.tag(key, value); err != nil {
				return err
			}
		}
		if err := b.place(id, lat, lon); err != nil {
			return err
		}
	}
	if len(lats) > 0 || len(lons) > 0 || len(tags) > 0 {
		return fmt.Errorf("%w: dense nodes with fewer ids than places or tags", ErrSyntax)
	}
	return nil
}

func (b *osmBlock) way(data []byte) error {
	var id int64
	var keys, values packedInts
	b.refs = b.refs[:0]
	err := eachField(data, func(f protoField) error {
		switch f.number {
		case 1:
			id = int64(f.varint)
			return f.want(protowire.VarintType)
		case 2:
			keys = f.bytes
			return f.want(protowire.BytesType)
		case 3:
			values = f.bytes
			return f.want(protowire.BytesType)
		case 8:
			var ref int64
			for refs := packedInts(f.bytes); len(refs) > 0; {
				delta, err := refs.zigzag()
				if err != nil {
					return fmt.Errorf("nodes of way %d: %w", id, err)
				}
				if len(b.refs) == maxWayNodes {
					return fmt.Errorf("%w: way %d has more than %d nodes, the most that are read",
						ErrTooLarge, id, maxWayNodes)
				}
				ref += delta
				b.refs = append(b.refs, ref)
			}
			return f.want(protowire.BytesType)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.pair(keys, values); err != nil {
		return fmt.Errorf("way %d: %w", id, err)
	}
	return b.visitor.Way(id, b.refs, b.tags)
}

func (b *osmBlock) place(id, lat, lon int64) error {
	y, okY := b.degrees(b.lat0, lat, 90)
	x, okX := b.degrees(b.lon0, lon, 180)
	if !okX || !okY {
		return fmt.Errorf("%w: node %d at longitude %d, latitude %d (in units of %d"+
			" nanodegrees), want within 180 and 90 degrees",
			ErrSyntax, id, lon, lat, b.granularity)
	}
	return b.visitor.Node(id, x, y, b.tags)
}

// degrees reports false if the position is off the globe, including overflow.
func (b *osmBlock) degrees(offset, value, limit int64) (float64, bool) {
	const perDegree = 1_000_000_000
	hi, lo := bits.Mul64(magnitude(b.granularity), magnitude(value))
	if hi != 0 || lo > 1<<62 || magnitude(offset) > 1<<62 {
		return 0, false
	}
	n := offset + b.granularity*value
	return float64(n) / perDegree, -limit*perDegree <= n && n <= limit*perDegree
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
