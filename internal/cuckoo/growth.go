package cuckoo

// Growth while serving
//
// A growth makes a pair of tables of twice the size after all present ones. Bucket i of
// n splits into i and i+n: since at most as many items as one bucket holds come from
// it, there is always room, and no split kicks.
//
// Each write splits a few buckets more, in order, and the buckets of its own item. With
// two of each table a write, the growth has ended after n/2 writes, when the new
// tables, of 4n buckets, have little more than the old ones held. The items in the
// stash follow, one with each write. Their places may be taken; such an item stays
// where it is.
//
// A table grows at the load MaxLoad, or when its stash is half full at 0.6 times
// MaxLoad or more. Keys that were chosen to collide fill the stash at once, and a table
// of twice the size helps little; so below that load inserts of them return
// ErrTooManyAlike, and cannot make the tables larger than four times what the items
// need. After a growth the load is half of MaxLoad at most, hence 0.6: a stash that
// stays full cannot cause two growths in a row.
//
// Memory for the new tables may be refused (Options.Grow). Then the table fills up as
// it would at the end of its slab: searches become longer, the stash is used. An
// insertion for which there is no room asks again, and so does one of many before, so
// that the table grows before it is completely full.
//
// The old tables' bytes are not used again. So a late reader, with an old header, finds
// lines there that are marked moved, or zeros if they were released. The sizes are a
// geometric series: all old tables together are no larger than the present ones.

const (
	splitsPerWrite = 2
	stashGrowth    = StashItems / 2
	stashLoad      = 0.6
	// askAgain is the number of insertions between two requests for memory. A refusal
	// that takes 10 us is then a tenth of the time of these insertions. From the
	// default MaxLoad on 4 % of the places are left, which are more than askAgain in
	// tables of a megabyte: small ones ask when they are full.
	askAgain = 1024
)

// growthItems is the number of items at which a full stash makes the table
// grow, growthLoad the one at which it grows anyway.
func (t *table) growthItems() int {
	return int(stashLoad * t.o.MaxLoad * float64(t.vertices()*t.items))
}

func (t *table) growthLoad() int {
	return int(t.o.MaxLoad * float64(t.vertices()*t.items))
}

func (t *table) nextEnd() uint64 { return t.end + tablesBytes(t.h.Log2+1) }

// wantsGrowth reports whether a growth is due and possible.
func (t *table) wantsGrowth() bool {
	n := t.stats.Items
	return (n >= t.growthLoad() || t.stats.Stash >= stashGrowth && n >= t.growthItems()) &&
		t.h.Generation < maxGen && t.h.Log2 < maxLog2 && t.nextEnd() <= uint64(len(t.mem))
}

// due reports whether this insertion is to begin a growth.
func (t *table) due() bool {
	if !t.wantsGrowth() {
		return false
	}
	t.patience--
	return t.patience < 0
}

// grow begins a growth, if there is memory for it.
func (t *table) grow() bool {
	usable, err := t.o.ask(t.nextEnd(), t.usable)
	if t.denied = err; err != nil {
		t.patience = askAgain
		return false
	}
	t.usable, t.patience = usable, 0
	t.h.Old, t.h.Tables = t.h.Tables, t.end
	t.end = t.nextEnd()
	t.h.Log2++
	t.h.Generation++
	t.next = 0
	t.oldHashes, t.hashes = t.hashes, make([]uint64, t.vertices()*t.items)
	t.rule.reset()
	t.stats.Grown++
	t.publishHeader()
	return true
}

// Advance implements Index.
func (t *table) Advance(buckets int) bool {
	if !t.h.growing() {
		return false
	}
	n := uint64(1) << (t.h.Log2 - 1)
	for ; buckets > 0 && t.next < n; buckets-- {
		t.split(0, t.next)
		t.split(1, t.next)
		t.next++
	}
	t.stashEmpty()
	if t.next < n {
		return true
	}
	old := t.h.Old
	t.h.Old, t.oldHashes = 0, nil
	t.publishHeader()
	if t.o.Release != nil {
		t.o.Release(old, tablesBytes(t.h.Log2-1))
	}
	return false
}

// own splits the old bucket that v of the present tables comes from. Writers
// call it before they look at v.
func (t *table) own(v uint64) {
	if t.h.growing() && t.line(v)[0] == 0 {
		side := uint(v >> t.h.Log2)
		t.split(side, v&(1<<(t.h.Log2-1)-1))
	}
}

// split moves the items of a bucket of the old tables, unless that was done.
func (t *table) split(side uint, i uint64) {
	n := uint64(1) << (t.h.Log2 - 1)
	from := uint64(side)*n + i
	p := t.at(t.h.Old + from*LineBytes)
	if p.Moved() {
		return
	}
	moved := *p
	moved[laneMeta] |= metaMoved
	if mutant == movedEarly {
		empty := Line{laneMeta: uint64(t.h.Generation) << metaGenShift}
		t.publish(t.line(uint64(side)<<t.h.Log2+i), &empty)
		t.publish(t.line(uint64(side)<<t.h.Log2+i+n), &empty)
		t.publish(p, &moved)
	}
	for half := range uint64(2) {
		l := Line{laneMeta: uint64(t.h.Generation) << metaGenShift}
		to := spot{vertex: uint64(side)<<t.h.Log2 + i + half*n}
		for j := range t.items {
			hash := t.oldHashes[from*t.items+j]
			if p[laneRef+j] == 0 || t.vertex(hash, side) != to.vertex {
				continue
			}
			l.set(to.place, signatureOf(hash), p[laneRef+j])
			t.hashes[to.vertex*t.items+uint64(to.place)] = hash
			to.place++
			t.rule.added(hash)
		}
		if side == 0 && p.Stashed() && t.stashHas(to.vertex) && mutant != stashDropped {
			l[laneMeta] |= metaStashed
		}
		t.publish(t.line(to.vertex), &l)
	}
	if mutant != movedEarly {
		t.publish(p, &moved)
	}
}
