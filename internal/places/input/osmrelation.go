package input

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The parts of an OpenStreetMap block that refer to its string table: tags,
// and the roles of a relation's members. osmblock.go draws the layout.

// pair combines the keys and values of an object into tags.
func (b *osmBlock) pair(keys, values packedInts) error {
	b.tags = b.tags[:0]
	for len(keys) > 0 {
		key, err := keys.next()
		if err != nil {
			return err
		}
		if _, err := b.string(key); err != nil {
			return err
		}
		value, err := values.next()
		if err != nil {
			return fmt.Errorf("a tag's value: %w", err)
		}
		if err := b.tag(key, value); err != nil {
			return err
		}
	}
	if len(values) > 0 {
		return fmt.Errorf("%w: more values of tags than keys", ErrSyntax)
	}
	return nil
}

func (b *osmBlock) tag(key, value uint64) error {
	k, err := b.string(key)
	if err != nil {
		return err
	}
	v, err := b.string(value)
	if err != nil {
		return err
	}
	b.tags = append(b.tags, OSMTag{k, v})
	return nil
}

func (b *osmBlock) string(index uint64) ([]byte, error) {
	if index >= uint64(len(b.strings)) {
		return nil, fmt.Errorf("%w: tag or role with string %d, the table has %d",
			ErrSyntax, index, len(b.strings))
	}
	return b.strings[index], nil
}

func (b *osmBlock) relation(data []byte) error {
	var id int64
	var keys, values, roles, ids, kinds packedInts
	err := eachField(data, func(f protoField) error {
		switch f.number {
		case 1:
			id = int64(f.varint)
			return f.want(protowire.VarintType)
		case 2:
			keys = f.bytes
		case 3:
			values = f.bytes
		case 8:
			roles = f.bytes
		case 9:
			ids = f.bytes
		case 10:
			kinds = f.bytes
		default:
			return nil
		}
		return f.want(protowire.BytesType)
	})
	if err == nil {
		err = b.pair(keys, values)
	}
	if err == nil {
		err = b.join(roles, ids, kinds)
	}
	if err != nil {
		return fmt.Errorf("relation %d: %w", id, err)
	}
	return b.visitor.Relation(id, b.members, b.tags)
}

// join makes the members of a relation from its three columns.
func (b *osmBlock) join(roles, ids, kinds packedInts) error {
	b.members = b.members[:0]
	var id int64
	for len(ids) > 0 {
		if len(b.members) == maxMembers {
			return fmt.Errorf("%w: more than %d members, the most that are read",
				ErrTooLarge, maxMembers)
		}
		delta, err := ids.zigzag()
		if err != nil {
			return err
		}
		id += delta
		kind, err := kinds.next()
		if err != nil {
			return fmt.Errorf("kind of member %d: %w", id, err)
		}
		if kind > uint64(OSMRelation) {
			return fmt.Errorf("%w: member %d of kind %d, want 0 to %d",
				ErrSyntax, id, kind, OSMRelation)
		}
		index, err := roles.next()
		if err != nil {
			return fmt.Errorf("role of member %d: %w", id, err)
		}
		role, err := b.string(index)
		if err != nil {
			return err
		}
		b.members = append(b.members, OSMMember{id, OSMKind(kind), role})
	}
	if len(roles) > 0 || len(kinds) > 0 {
		return fmt.Errorf("%w: fewer members than roles or kinds", ErrSyntax)
	}
	return nil
}
