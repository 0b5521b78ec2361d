package store

import (
	"context"

	"github.com/catfish-index/catfish/internal/placement"
)

// Survey looks at all different boxes of the collection, in the directory, as plans of moves
// need it; those of other groups' ranges, too. pace is called every 65,536 of them; its error ends the work.
func (c *Boxes) Survey(ctx context.Context, pace func() error) (*placement.Survey, error) {
	seen := new(placement.Survey)
	for after := []byte(nil); ; {
		if err := pace(); err != nil {
			return nil, err
		}
		last, err := c.eachKey(ctx, after, func(key []byte) error {
			it, _, err := parseBox(key, oneCopy[:])
			if err == nil {
				seen.Add(it.Rect)
			}
			return err
		})
		if err != nil || last == nil {
			return seen, err
		}
		after = last
	}
}

// oneCopy is a value, for keys of which the number of copies does not matter.
var oneCopy = [boxValueBytes]byte{1}

// eachKey calls f with up to lookAtOnce keys after one, in their order, and returns the last of
// them, nil at the end. A key is good until f returns.
func (c *Boxes) eachKey(ctx context.Context, after []byte, f func(key []byte) error) (last []byte, err error) {
	if after != nil {
		after = append(after[:len(after):len(after)], 0) // the next one
	}
	keys, err := c.st.db.Keys(c.num, after)
	if err != nil {
		return nil, err
	}
	defer keys.Close()
	for n := 1; keys.Next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ended(ctx)
		}
		if err := f(keys.Key()); err != nil {
			return nil, err
		}
		if n == lookAtOnce {
			return append([]byte(nil), keys.Key()...), nil
		}
	}
	return nil, keys.Err()
}
