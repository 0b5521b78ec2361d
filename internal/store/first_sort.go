package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// How the first are sorted
//
// A page of 10,000 features takes some milliseconds to sort, and a search may ask for larger ones. So
// that is divided into steps, as looking at features is: blocks are sorted, and then
// merged pair by pair, each pass from one piece of memory into the other.
//
//	order  | 256 sorted | 256 sorted | 256 sorted | 100 sorted |
//	spare  | 512 sorted              | 356 sorted              |
//	order  | 868 sorted                                        |

// block is how many entries are processed between two checks of whether a step has
// ended: some 5 us.
const block = 256

// firstKey is an entry with the bytes of its id after the prefix that all ids share.
type firstKey struct {
	word uint64
	i    int
}

// sort makes order: the entries by id, each id once.
func (k *firsts) sort(b *Buffer) error {
	n := len(k.all)
	k.order = slices.Grow(k.order[:0], n)
	if n > block {
		k.spare = slices.Grow(k.spare[:0], n)
	}
	if err := k.hold(b); err != nil || n == 0 {
		return err
	}
	prefix := k.id(0)
	if err := b.blocks(n, func(i int) {
		for id := k.id(i); !bytes.HasPrefix(id, prefix); {
			prefix = prefix[:len(prefix)-1]
		}
	}); err != nil {
		return err
	}
	if err := b.blocks(n, func(i int) {
		k.order = append(k.order, firstKey{wordOf(k.id(i)[len(prefix):]), i})
		if at := len(k.order); at%block == 0 || at == n {
			k.sortBlock(k.order[(at-1)/block*block:])
		}
	}); err != nil {
		return err
	}
	for width := block; width < n; width *= 2 {
		k.spare = k.spare[:0]
		for from := 0; from < n; from += 2 * width {
			mid, end := min(from+width, n), min(from+2*width, n)
			if err := k.merge(k.order[from:mid], k.order[mid:end], b); err != nil {
				return err
			}
		}
		k.order, k.spare = k.spare, k.order
	}
	// A feature that moved may have been met twice: it counts as it was first.
	once := 0
	err := b.blocks(n, func(i int) {
		if o := k.order[i]; once == 0 || !k.same(k.order[once-1], o) {
			k.order[once] = o
			once++
		}
	})
	k.order = k.order[:once]
	return err
}

// merge appends two sorted runs to spare, as one.
func (k *firsts) merge(x, y []firstKey, b *Buffer) error {
	return b.blocks(len(x)+len(y), func(int) {
		if len(y) == 0 || len(x) > 0 && !k.before(y[0], x[0]) {
			k.spare, x = append(k.spare, x[0]), x[1:]
		} else {
			k.spare, y = append(k.spare, y[0]), y[1:]
		}
	})
}

func (k *firsts) before(x, y firstKey) bool {
	if x.word != y.word {
		return x.word < y.word
	}
	return k.compare(x, y) < 0
}

func (k *firsts) same(x, y firstKey) bool {
	return x.word == y.word && bytes.Equal(k.id(x.i), k.id(y.i))
}

func (k *firsts) compare(x, y firstKey) int {
	if x.word != y.word {
		return cmp.Compare(x.word, y.word)
	}
	return cmp.Or(bytes.Compare(k.id(x.i), k.id(y.i)), x.i-y.i)
}

// fewAlike is how many keys of a block may share a bucket (sortEven): insertion takes
// as long as the square of that.
const fewAlike = 32

// sortBlock sorts the keys of a block, or fewer.
func (k *firsts) sortBlock(keys []firstKey) {
	if !k.sortEven(keys) {
		slices.SortFunc(keys, k.compare)
	}
}

// sortEven sorts by counting how many keys are in which part of the range of words,
// which nearly sorts them, and inserting each where it belongs: a third of the time
// that comparisons alone take. If too many are alike, it returns false, and changes
// nothing.
func (k *firsts) sortEven(keys []firstKey) (done bool) {
	low, high := keys[0].word, keys[0].word
	for _, o := range keys {
		low, high = min(low, o.word), max(high, o.word)
	}
	shift := bits.Len64((high - low) >> 8)
	var ends [256]uint16
	for _, o := range keys {
		ends[(o.word-low)>>shift]++
	}
	at := uint16(0)
	for i, in := range ends {
		if in > fewAlike {
			return false
		}
		at += in
		ends[i] = at
	}
	var sorted [block]firstKey
	for i := len(keys) - 1; i >= 0; i-- {
		e := &ends[(keys[i].word-low)>>shift]
		*e--
		sorted[*e] = keys[i]
	}
	for i, o := range sorted[:len(keys)] {
		for ; i > 0 && k.before(o, keys[i-1]); i-- {
			keys[i] = keys[i-1]
		}
		keys[i] = o
	}
	return true
}

// wordOf are the first bytes of an id as a number: ids of different numbers are in the
// order of these.
func wordOf(id []byte) uint64 {
	if len(id) >= 8 {
		return binary.BigEndian.Uint64(id)
	}
	var b [8]byte
	copy(b[:], id)
	return binary.BigEndian.Uint64(b[:])
}
