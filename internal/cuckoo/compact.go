package cuckoo

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/prefetch"
)

// HydraDB's compact table (section 4.1), to compare: chains of 64-byte buckets
// with a header word and seven slots. Remote readers do not use it; HydraDB's
// clients get references by message.
//
//	bucket   lane 0                             1 .. 7
//	       | link << 8 | seven bits: slot used | signature u16 << 48 | ref 48 |
//
// Link is the number of the next bucket of the chain, 0: none. The heads of
// chains are buckets 1 to n, overflow buckets follow. A chain's bucket that
// becomes empty is taken out and used again; before that a delete fills the
// hole that it makes with the last item of the chain, so that only a chain's
// last bucket has vacant slots.
//
// # Readers
//
// A slot is one word, stored before its bit in the header is set, and replaced
// by one store. So a reader needs care only where a delete moves an item, or
// gives a bucket back: it counts moves up before and after, and a reader that
// finds another number after its lookup than before, or an odd one, looks
// again.

const (
	compactSlots = 7
	compactUsed  = 1<<compactSlots - 1
	linkShift    = 8
	refBits      = 48
	// MaxCompactRef is the largest reference of kind Compact.
	MaxCompactRef = 1<<refBits - 1
)

type compact struct {
	base    unsafe.Pointer
	heads   uint64
	buckets uint64 // that fit into the slab, with the unused bucket 0
	used    uint64 // buckets ever used, with bucket 0
	usable  uint64 // bytes that Options.Grow has given
	o       Options
	free    []uint32
	hashes  []uint64 // by bucket and slot
	moves   atomic.Uint64
	stats   Stats
	onLoad  func()
}

func newCompact(mem []byte, o Options) (*compact, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	heads := uint64(o.Buckets)
	if err := checkMemory(mem, (heads+1)*LineBytes); err != nil {
		return nil, err
	}
	usable, err := o.ask((heads+1)*LineBytes, 0)
	if err != nil {
		return nil, fmt.Errorf("cuckoo: no memory for the first buckets: %w", err)
	}
	return &compact{
		o: o, usable: usable,
		base: unsafe.Pointer(&mem[0]), heads: heads, used: heads + 1,
		buckets: min(uint64(len(mem)/LineBytes), 1<<32),
		hashes:  make([]uint64, (heads+1)*compactSlots),
	}, nil
}

// at returns a bucket, which must exist.
func (c *compact) at(b uint64) *Line {
	// SAFETY: b is below c.buckets, which all lie in the slab.
	return (*Line)(unsafe.Add(c.base, uintptr(b)*LineBytes))
}

func (c *compact) head(hash uint64) uint64 { return 1 + hash&(c.heads-1) }

// Prefetch implements Index. It asks for the chain's head, where most chains
// end.
func (c *compact) Prefetch(hash uint64) {
	prefetch.Lines(unsafe.Pointer(c.at(c.head(hash))), 1)
}

// PrefetchWrite implements Index.
func (c *compact) PrefetchWrite(hash uint64) {
	prefetch.Lines(unsafe.Pointer(&c.hashes[c.head(hash)*compactSlots]), 1)
}

// Lookup implements Index.
func (c *compact) Lookup(dst []uint64, hash uint64) []uint64 {
	from := len(dst)
	sig := uint64(signatureOf(hash))
	for {
		moves := c.moves.Load()
		for b := c.head(hash); b != 0; {
			p := c.at(b)
			if c.onLoad != nil {
				c.onLoad()
			}
			h := atomic.LoadUint64(&p[0])
			for i := range compactSlots {
				s := atomic.LoadUint64(&p[1+i])
				if h>>i&1 != 0 && s>>refBits == sig && s&MaxCompactRef != 0 {
					dst = append(dst, s&MaxCompactRef)
				}
			}
			b = h >> linkShift
			if c.moves.Load() != moves {
				break // a bucket that was given back may have any link
			}
		}
		if moves&1 == 0 && c.moves.Load() == moves {
			return dst
		}
		dst = dst[:from]
		runtime.Gosched()
	}
}

func slotOf(hash, ref uint64) uint64 { return uint64(signatureOf(hash))<<refBits | ref }

func checkCompactRef(ref uint64) error {
	if ref == 0 || ref > MaxCompactRef {
		return fmt.Errorf("%w: %#x, want 1 to %#x", ErrRef, ref, uint64(MaxCompactRef))
	}
	return nil
}

// last is the last bucket of a chain, and the number of buckets before it.
func (c *compact) last(hash uint64) (b, before uint64, links int) {
	b = c.head(hash)
	for c.at(b)[0]>>linkShift != 0 {
		b, before = c.at(b)[0]>>linkShift, b
		links++
	}
	return b, before, links
}

// Insert implements Index.
func (c *compact) Insert(hash, ref uint64) error {
	if err := checkCompactRef(ref); err != nil {
		return err
	}
	b, _, links := c.last(hash)
	p := c.at(b)
	if p[0]&compactUsed == compactUsed {
		o, err := c.overflow()
		if err != nil {
			return err
		}
		c.fill(o, 0, hash, ref)
		atomic.StoreUint64(&p[0], p[0]&compactUsed|o<<linkShift)
		c.stats.Overflows++
		c.stats.LongestLink = max(c.stats.LongestLink, links+2)
	} else {
		i := 0
		for p[0]>>i&1 != 0 {
			i++
		}
		c.fill(b, i, hash, ref)
	}
	c.stats.Items++
	c.stats.Inserts++
	return nil
}

// fill puts an item into a vacant slot.
func (c *compact) fill(b uint64, i int, hash, ref uint64) {
	p := c.at(b)
	c.hashes[b*compactSlots+uint64(i)] = hash
	atomic.StoreUint64(&p[1+i], slotOf(hash, ref))
	atomic.StoreUint64(&p[0], p[0]|1<<i)
}

// overflow returns a bucket that is empty and in no chain.
func (c *compact) overflow() (uint64, error) {
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free = c.free[:n-1]
		return uint64(b), nil
	}
	if c.used == c.buckets {
		return 0, fmt.Errorf("%w: %d items in %d buckets", ErrFull, c.stats.Items, c.buckets-1)
	}
	usable, err := c.o.ask((c.used+1)*LineBytes, c.usable)
	if err != nil {
		return 0, fmt.Errorf("%w: %d items in %d buckets: %w", ErrFull, c.stats.Items, c.used-1, err)
	}
	c.usable = usable
	c.used++
	c.hashes = append(c.hashes, make([]uint64, compactSlots)...)
	return c.used - 1, nil
}

// find returns an item's place.
func (c *compact) find(hash, ref uint64) (b uint64, i int, err error) {
	want := slotOf(hash, ref)
	for b = c.head(hash); b != 0; b = c.at(b)[0] >> linkShift {
		p := c.at(b)
		for i := range compactSlots {
			if p[0]>>i&1 != 0 && p[1+i] == want && c.hashes[b*compactSlots+uint64(i)] == hash {
				return b, i, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("%w: hash %#x, reference %#x", ErrNotFound, hash, ref)
}

// Replace implements Index.
func (c *compact) Replace(hash, old, ref uint64) error {
	if err := checkCompactRef(ref); err != nil {
		return err
	}
	b, i, err := c.find(hash, old)
	if err == nil {
		atomic.StoreUint64(&c.at(b)[1+i], slotOf(hash, ref))
	}
	return err
}

// Delete implements Index.
func (c *compact) Delete(hash, ref uint64) error {
	b, i, err := c.find(hash, ref)
	if err != nil {
		return err
	}
	c.stats.Items--
	end, before, _ := c.last(hash)
	p, q := c.at(b), c.at(end)
	j := compactSlots - 1
	for q[0]>>j&1 == 0 {
		j--
	}
	if b == end && (before == 0 || q[0]&compactUsed != 1<<i) {
		atomic.StoreUint64(&p[0], p[0]&^(1<<i)) // nothing moves
		return nil
	}
	c.moves.Add(1)
	if b != end {
		c.hashes[b*compactSlots+uint64(i)] = c.hashes[end*compactSlots+uint64(j)]
		atomic.StoreUint64(&p[1+i], q[1+j])
	} else {
		j = i
	}
	atomic.StoreUint64(&q[0], q[0]&^(1<<j))
	if before != 0 && q[0]&compactUsed == 0 {
		atomic.StoreUint64(&c.at(before)[0], c.at(before)[0]&compactUsed)
		c.free = append(c.free, uint32(end))
		c.stats.Merges++
	}
	c.moves.Add(1)
	return nil
}

// Scan implements Index. A chain is given whole, which may exceed limit if an attacker
// chose keys that fall into one chain.
func (c *compact) Scan(at Cursor, limit int, f func(hash, ref uint64)) (Cursor, error) {
	for given, end := 0, at.Next+scanBuckets*uint64(limit); given < limit && at.Next < min(end, c.heads); at.Next++ {
		for b := 1 + at.Next; b != 0; b = c.at(b)[0] >> linkShift {
			p := c.at(b)
			for i := range compactSlots {
				if p[0]>>i&1 != 0 {
					f(c.hashes[b*compactSlots+uint64(i)], p[1+i]&MaxCompactRef)
					given++
				}
			}
		}
	}
	at.Done = at.Next >= c.heads
	return at, nil
}

// Advance implements Index: a chain grows at once.
func (c *compact) Advance(int) bool { return false }

// Len implements Index.
func (c *compact) Len() int { return c.stats.Items }

// Stats implements Index.
func (c *compact) Stats() Stats {
	s := c.stats
	s.Buckets = int(c.used) - 1 - len(c.free)
	s.Capacity = s.Buckets * compactSlots
	s.Bytes = c.used * LineBytes
	return s
}
