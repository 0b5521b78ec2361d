package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// Kept boxes
//
// A collection of boxes is a multiset: the same rectangle with the same id may be in it
// several times. Readers find the boxes in an R*-tree, like those that are not kept. On
// disk each different box is a key, and its value is the number of its copies:
//
//	key    id u64 | min x | min y | max x | max y    big-endian, floats by their bits
//	value  count u64                                 little-endian, 1 or more; copyMark: a move between groups wrote it
//
// So an entry of the log states a fact, as those of features do, and not an operation:
// it may be applied again. A write of one box is one entry, which puts the new
// count, or deletes the key; a move is two; and all entries of a write are in one
// batch, so a crash leaves all of them or none. -0 is 0 in a key, as for the tree.
//
// Writes pass the commit queue (commit_queue.go), with those of features:
//
//	judge    how many copies exist? The tree says whether there is one, and the map
//	         more how many more; the batch's earlier writes come on top
//	number   a revision for each entry
//	room     for each added box the tree has nodes (Tree.RoomFor), and no other
//	         goroutine takes them: only the commit leader writes the tree
//	commit   with all the others
//	publish  into the tree, so that readers never see what is not durable
//
// A box costs 8 bytes of value and 40 of key on disk, and in memory nothing beside
// the tree, except for boxes with several copies.

// Boxes is a kept collection of boxes. All methods are safe for concurrent
// use. Reads are its tree's.
type Boxes struct {
	st      *Store
	name    string
	tree    *rstar.Tree
	dropped atomic.Bool

	// Used by the commit leader.
	num  uint32
	more map[rstar.Item]uint64 // the number of copies of a box, less one
}

// boxesFormat is the format of a data directory with boxes.
const boxesFormat = 2

// boxFlag marks entries of boxes: watchers follow features, and skip these entries.
const boxFlag = 2

// metadata of a collection of boxes, or of records. That of features has no kind.
type metadata struct {
	Kind string `json:"kind,omitempty"`
	// Loading: a bulk load is running, or was when the process ended. Then
	// nothing of it counts.
	Loading bool `json:"loading,omitempty"`
	// Options of records.
	Table  uint8 `json:"table,omitempty"`
	Items  int   `json:"items,omitempty"`
	Shards int   `json:"shards,omitempty"`
	// MaxBytes is the limit of a cache.
	MaxBytes int64 `json:"max_bytes,omitempty"`
}

const boxesKind = "boxes"

func (m metadata) encode() []byte {
	b, _ := json.Marshal(m) // No field of it can fail.
	return b
}

const (
	boxKeyBytes   = 8 + 4*8
	boxValueBytes = 8
)

func appendBoxKey(b []byte, it rstar.Item) []byte {
	b = binary.BigEndian.AppendUint64(b, it.ID)
	r := it.Rect
	for _, f := range [4]float64{r.MinX, r.MinY, r.MaxX, r.MaxY} {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(f+0)) // -0 + 0 is 0
	}
	return b
}

// copyMark in the value of a box: a move has put it there (parts.go), from slotsFormat on.
const copyMark = 1 << 63

// isCopy reports whether a value has copyMark.
func isCopy(value []byte) bool { return len(value) == boxValueBytes && value[boxValueBytes-1]>>7 != 0 }

// parseBox decodes what is on disk, and trusts none of it.
func parseBox(key, value []byte) (it rstar.Item, count uint64, err error) {
	if len(key) != boxKeyBytes || len(value) != boxValueBytes {
		return it, 0, fmt.Errorf("%w: a box with a key of %d and a value of %d bytes, want %d and %d",
			ErrCorrupt, len(key), len(value), boxKeyBytes, boxValueBytes)
	}
	f := func(i int) float64 { return math.Float64frombits(binary.BigEndian.Uint64(key[8+8*i:])) }
	it = rstar.Item{ID: binary.BigEndian.Uint64(key), Rect: rstar.Rect{MinX: f(0), MinY: f(1), MaxX: f(2), MaxY: f(3)}}
	if err := it.Rect.Validate(); err != nil {
		return it, 0, fmt.Errorf("%w: box %d: %w", ErrCorrupt, it.ID, err)
	}
	if count = binary.LittleEndian.Uint64(value) &^ copyMark; count == 0 {
		return it, 0, fmt.Errorf("%w: box %d is there 0 times", ErrCorrupt, it.ID)
	}
	return it, count, nil
}

// Name of the collection.
func (c *Boxes) Name() string { return c.name }

// Tree has the boxes, for reading. Only the store may write it.
func (c *Boxes) Tree() *rstar.Tree { return c.tree }

// close ends reads, and waits for those in flight.
func (c *Boxes) close() {
	c.dropped.Store(true)
	_ = c.tree.Close()
}

// restore loads the collection: by all processors from disk, and then all at once
// into the tree, which packs it.
func (c *Boxes) restore(ctx context.Context) error {
	st, began := c.st, time.Now()
	workers := cmp.Or(st.o.Workers, runtime.GOMAXPROCS(0))
	items := make([][]rstar.Item, workers)
	more := make([]map[rstar.Item]uint64, workers)
	room, total := uint64(c.tree.LoadRoom()), atomic.Uint64{}
	err := st.db.Load(ctx, c.num, workers, func(w int, key, value []byte, _ uint64, _ int64, _ uint16) error {
		it, count, err := parseBox(key, value)
		if err != nil {
			return err
		}
		// Before memory is taken for a count that no store has written.
		if n := total.Add(count); count > room || n > room {
			return fmt.Errorf("%w: box %d is there %d times, and there is room for %d boxes", rstar.ErrSlabFull, it.ID, count, room)
		}
		for range count {
			items[w] = append(items[w], it)
		}
		if count > 1 {
			if more[w] == nil {
				more[w] = map[rstar.Item]uint64{}
			}
			more[w][it] = count - 1
		}
		return nil
	})
	if err != nil {
		return err
	}
	all := slices.Concat(items...)
	clear(items)
	for _, m := range more {
		for it, n := range m {
			c.more[it] = n
		}
	}
	if err := c.tree.Load(all); err != nil {
		return err
	}
	if len(all) > 0 {
		st.o.Logger.Info("collection loaded", "collection", c.name, "boxes", len(all), "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}
