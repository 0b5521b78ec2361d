package cuckoo

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/prefetch"
)

// table is the Index of kinds GCuckoo and Conventional.
//
// A vertex is a bucket of the present tables as the writer numbers them: those
// of the first table, then those of the second. A spot is a vertex and a place
// in it. The hashes of all items are in private memory, by spot: a kick needs
// the item's other bucket, and a split the next bit.
type table struct {
	base  unsafe.Pointer // of mem
	mem   []byte
	o     Options
	items uint64 // per bucket
	kind  Kind
	head  atomic.Pointer[Header] // the header that local readers use
	h     Header                 // the same, the writer's
	rule  rule

	hashes      []uint64 // of the present tables' items, by spot
	oldHashes   []uint64 // of the old ones', while growing
	stashHashes [StashItems]uint64
	stashNext   int    // the item that a growth tries next
	next        uint64 // growing: the first old bucket that may not be split
	end         uint64 // of the tables, bytes
	usable      uint64 // bytes that Options.Grow has given
	denied      error  // its last error
	patience    int    // inserts until it is asked again for a growth
	moves       moveLog
	stats       Stats

	onStore func(w *uint64, v uint64) // tests: after each store
	onLoad  func()                    // tests: in a local reader, between its loads
}

// rule decides where a new item goes.
type rule interface {
	// place inserts the item, after kicks if need be, and reports whether
	// there was room.
	place(hash, ref uint64) bool
	// added and removed are called for items that enter or leave the present tables
	// otherwise.
	added(hash uint64)
	removed(hash uint64)
	// reset is called when a growth begins: the present tables are empty.
	reset()
}

type spot struct {
	vertex uint64
	place  int
}

func newTable(kind Kind, mem []byte, o Options) (*table, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &table{
		mem: mem, o: o, kind: kind, items: uint64(o.Items),
		h: Header{
			Seed: o.Seed, BootID: o.BootID, Tables: firstTables,
			Items: uint8(o.Items), StashLines: StashLines, Generation: 1,
		},
	}
	for 1<<t.h.Log2 < o.Buckets {
		t.h.Log2++
	}
	t.end = firstTables + tablesBytes(t.h.Log2)
	if err := checkMemory(mem, t.end); err != nil {
		return nil, err
	}
	if t.usable, err = o.ask(t.end, 0); err != nil {
		return nil, fmt.Errorf("cuckoo: no memory for the first tables: %w", err)
	}
	t.base = unsafe.Pointer(&mem[0])
	t.hashes = make([]uint64, t.vertices()*t.items)
	live := Line{laneMeta: 1 << metaGenShift}
	for v := range t.vertices() {
		t.publish(t.line(v), &live)
	}
	for i := range uint64(StashLines) {
		t.publish(t.at(stashOffset+i*LineBytes), &live)
	}
	t.publishHeader()
	switch {
	case kind == Conventional:
		t.rule = newWalk(t)
	case o.Items == 1:
		t.rule = newForest(t)
	default:
		t.rule = &search{t: t}
	}
	return t, nil
}

func checkMemory(mem []byte, need uint64) error {
	if one := uint64(1); *(*byte)(unsafe.Pointer(&one)) != 1 {
		return fmt.Errorf("%w: it is little-endian, this machine is not", ErrLayout)
	}
	if uint64(len(mem)) < need {
		return fmt.Errorf("%w: %d bytes, want at least %d", ErrMemory, len(mem), need)
	}
	if uintptr(unsafe.Pointer(&mem[0]))%LineBytes != 0 {
		return fmt.Errorf("%w: it does not begin at a multiple of %d", ErrMemory, LineBytes)
	}
	if *(*uint64)(unsafe.Pointer(&mem[0])) != 0 {
		return fmt.Errorf("%w: in use", ErrMemory)
	}
	return nil
}

func (t *table) publishHeader() {
	l := t.h.line()
	t.publish(t.at(0), &l)
	h := t.h
	t.head.Store(&h)
}

// vertices is the number of buckets of the present tables.
func (t *table) vertices() uint64 { return 2 << t.h.Log2 }

func (t *table) line(v uint64) *Line { return t.at(t.h.Tables + v*LineBytes) }

// vertex is the bucket of a hash.
func (t *table) vertex(hash uint64, side uint) uint64 {
	return uint64(side)<<t.h.Log2 + bucketOf(hash, side, uint(t.h.Log2))
}

// other is the other bucket of the item with this hash that is in v.
func (t *table) other(v, hash uint64) uint64 {
	return t.vertex(hash, 1-uint(v>>t.h.Log2))
}

func (t *table) hashAt(s spot) uint64 { return t.hashes[s.vertex*t.items+uint64(s.place)] }

// vacant returns a vacant place of the bucket, or -1.
func (t *table) vacant(v uint64) int { return t.line(v).vacant(int(t.items)) }

// put writes an item to a spot. One that is overwritten was kicked.
func (t *table) put(s spot, hash, ref uint64) {
	p := t.line(s.vertex)
	l := *p
	if l.ref(s.place) != 0 && mutant != noKickMark {
		l[laneMeta] |= 1 << kickedBit(l.signature(s.place))
	}
	l.set(s.place, signatureOf(hash), ref)
	t.hashes[s.vertex*t.items+uint64(s.place)] = hash
	t.publish(p, &l)
}

// kick moves the item of each spot to the next, the last of which is vacant, and puts
// the new item into the first. It begins at the vacancy and goes backwards, so that
// each item is copied before it is overwritten.
func (t *table) kick(path []spot, hash, ref uint64) {
	if mutant == overwriteLast {
		t.kickForwards(path, hash, ref)
		return
	}
	for j := len(path) - 1; j > 0; j-- {
		from := path[j-1]
		moved := t.hashAt(from)
		t.put(path[j], moved, t.line(from.vertex).ref(from.place))
		if path[j].vertex>>t.h.Log2 == 0 {
			t.moves.add(moved)
		}
	}
	t.put(path[0], hash, ref)
	t.stats.Kicks += uint64(len(path) - 1)
	t.stats.LongestKick = max(t.stats.LongestKick, len(path)-1)
}

func (t *table) kickForwards(path []spot, hash, ref uint64) {
	for _, s := range path {
		h, r := t.hashAt(s), t.line(s.vertex).ref(s.place)
		t.put(s, hash, ref)
		hash, ref = h, r
	}
}

// Insert implements Index.
func (t *table) Insert(hash, ref uint64) error {
	if ref == 0 {
		return fmt.Errorf("%w: 0", ErrRef)
	}
	if t.h.growing() {
		t.Advance(splitsPerWrite)
	} else if t.due() {
		t.grow()
	}
	if !t.place(hash, ref) {
		// Memory that was refused may be available now.
		if t.h.growing() || !t.wantsGrowth() || !t.grow() || !t.place(hash, ref) {
			return t.noRoom()
		}
	}
	t.stats.Items++
	t.stats.Inserts++
	return nil
}

// place puts a new item into a bucket with room, or the stash.
func (t *table) place(hash, ref uint64) bool {
	t.own(t.vertex(hash, 0))
	t.own(t.vertex(hash, 1))
	return t.rule.place(hash, ref) || t.stashPut(hash, ref)
}

// noRoom returns the reason why an insertion failed.
func (t *table) noRoom() error {
	switch {
	case t.h.growing() || t.stats.Items < t.growthItems():
		return fmt.Errorf("%w: the stash has %d, the tables %d in %d places",
			ErrTooManyAlike, t.stats.Stash, t.stats.Items-t.stats.Stash, t.vertices()*t.items)
	case t.denied != nil:
		return fmt.Errorf("%w: %d items; tables twice as large end at %d bytes: %w",
			ErrFull, t.stats.Items, t.nextEnd(), t.denied)
	}
	return fmt.Errorf("%w: %d items in %d bytes; twice as large tables need %d",
		ErrFull, t.stats.Items, len(t.mem), t.nextEnd())
}

// find returns the line that holds an item, and the place in it. The item's
// buckets are split. vertex is only valid if the line is not the stash's.
func (t *table) find(hash, ref uint64) (p *Line, s spot, stashed, ok bool) {
	for side := range uint(2) {
		s.vertex = t.vertex(hash, side)
		p = t.line(s.vertex)
		for s.place = range int(t.items) {
			if p.ref(s.place) == ref && t.hashAt(s) == hash {
				return p, s, false, true
			}
		}
	}
	if i := t.stashFind(hash, ref); i >= 0 {
		return t.stashLine(i), spot{place: i % MaxItems}, true, true
	}
	return nil, s, false, false
}

// Replace implements Index.
func (t *table) Replace(hash, old, ref uint64) error {
	if ref == 0 || old == 0 {
		return fmt.Errorf("%w: %d for %d", ErrRef, ref, old)
	}
	t.begin(hash)
	p, s, _, ok := t.find(hash, old)
	if !ok {
		return fmt.Errorf("%w: hash %#x, reference %#x", ErrNotFound, hash, old)
	}
	l := *p
	l[laneRef+s.place] = ref
	t.publish(p, &l)
	return nil
}

// Delete implements Index.
func (t *table) Delete(hash, ref uint64) error {
	if ref == 0 {
		return fmt.Errorf("%w: 0", ErrRef)
	}
	t.begin(hash)
	p, s, stashed, ok := t.find(hash, ref)
	if !ok {
		return fmt.Errorf("%w: hash %#x, reference %#x", ErrNotFound, hash, ref)
	}
	l := *p
	l.set(s.place, 0, 0)
	t.publish(p, &l)
	t.stats.Items--
	if stashed {
		t.stats.Stash--
	} else {
		t.rule.removed(hash)
	}
	return nil
}

// PrefetchWrite implements Index.
func (t *table) PrefetchWrite(hash uint64) {
	for side := range uint(2) {
		h := t.hashes[t.vertex(hash, side)*t.items:][:t.items]
		prefetch.Lines(unsafe.Pointer(&h[0]), 1)
		prefetch.Lines(unsafe.Pointer(&h[len(h)-1]), 1) // five may lie in two lines
	}
}

// begin is the first step of a write to an item.
func (t *table) begin(hash uint64) {
	if t.h.growing() {
		t.Advance(splitsPerWrite)
	}
	t.own(t.vertex(hash, 0))
	t.own(t.vertex(hash, 1))
}

// Len implements Index.
func (t *table) Len() int { return t.stats.Items }

// Stats implements Index.
func (t *table) Stats() Stats {
	s := t.stats
	s.Buckets = int(t.vertices())
	s.Capacity = int(t.vertices() * t.items)
	s.Bytes = t.end
	s.Growing = t.h.growing()
	return s
}
