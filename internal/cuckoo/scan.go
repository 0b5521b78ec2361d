package cuckoo

// Scanning while others write
//
// A scan goes through the first table, the second, and the stash, in classes:
// all buckets of one table with the same low bits of their number, as many
// bits as the table had when the scan began. An item's class never changes,
// whatever grows meanwhile. A call may end within a class; if the tables have
// another size at the next one, the class begins again.
//
// An item is missed only if it moves from a part still to be scanned to one that was
// scanned before: from the second table to the first, or out of the stash. Once a scan
// has begun, writers note the hash of each item that moves so, and each call of Scan
// gives the notes since the call before. The notes are a ring; if it was overrun in the
// meantime, the scan is lost.

// Cursor is a place in a scan. The zero value is the beginning. It is plain
// data, which may be given to a client and taken back: any value is safe.
type Cursor struct {
	Moves uint64 // notes that were given
	Next  uint64 // the next class: of the first table, the second, then the stash
	Sub   uint64 // of this class, buckets that were given
	Log2  uint8  // classes of one table, plus 1; 0: the scan begins
	Size  uint8  // of the tables for which Sub counts
	Done  bool   // the scan has ended
}

// movesKept is the size of the ring: 256 KiB. A table that is nearly full
// makes one such move in some four inserts, so a scan may pause for a hundred
// thousand inserts.
const movesKept = 1 << 15

// scanBuckets bounds the buckets that a call examines for each item that it may give: a
// table that was full once is scanned in as many calls when it is empty.
const scanBuckets = 8

type moveLog struct {
	ring  []uint64 // nil: no scan has begun yet
	count uint64   // notes ever made
}

func (m *moveLog) add(hash uint64) {
	if m.ring != nil {
		m.ring[m.count%movesKept] = hash
		m.count++
	}
}

// Scan implements Index.
func (t *table) Scan(c Cursor, limit int, f func(hash, ref uint64)) (Cursor, error) {
	if c.Done {
		return c, nil
	}
	if c.Log2 == 0 || c.Log2 > t.h.Log2+1 {
		if t.moves.ring == nil {
			t.moves.ring = make([]uint64, movesKept)
		}
		log2 := t.h.Log2
		if t.h.growing() {
			log2--
		}
		c = Cursor{Moves: t.moves.count, Log2: log2 + 1}
	}
	given := 0
	if c.Moves > t.moves.count || t.moves.count-c.Moves > movesKept {
		return c, ErrScanLost
	}
	for ; c.Moves < t.moves.count && given < limit; c.Moves++ {
		given += t.scanHash(t.moves.ring[c.Moves%movesKept], f)
	}
	classes := uint64(1) << (c.Log2 - 1)
	for buckets := scanBuckets * limit; given < limit && c.Next < 2*classes && buckets > 0; buckets-- {
		given += t.scanBucket(&c, classes, f)
	}
	if given >= limit || c.Next < 2*classes || c.Moves < t.moves.count {
		return c, nil
	}
	for i := range StashItems {
		if r := t.stashRef(i); r != 0 {
			f(t.stashHashes[i], r)
		}
	}
	c.Done = true
	return c, nil
}

// scanBucket gives the items of one bucket, with those that it splits into
// while the table grows, and sets the cursor to the next.
func (t *table) scanBucket(c *Cursor, classes uint64, f func(hash, ref uint64)) (given int) {
	n, log2 := uint64(1)<<t.h.Log2, t.h.Log2
	if t.h.growing() {
		log2--
	}
	if c.Size != log2 {
		c.Size, c.Sub = log2, 0
	}
	side := c.Next / classes
	i := c.Next%classes + c.Sub*classes
	if c.Sub >= n || i >= 1<<log2 {
		c.Next, c.Sub = c.Next+1, 0
		return 0
	}
	c.Sub++
	if t.h.growing() {
		v := side*n/2 + i
		if p := t.at(t.h.Old + v*LineBytes); !p.Moved() {
			return p.each(t.oldHashes[v*t.items:][:t.items], f)
		}
		given = t.scanVertex(side*n+i+n/2, f)
	}
	return given + t.scanVertex(side*n+i, f)
}

func (t *table) scanVertex(v uint64, f func(hash, ref uint64)) (given int) {
	return t.line(v).each(t.hashes[v*t.items:][:t.items], f)
}

// each gives the items of a line.
func (l *Line) each(hashes []uint64, f func(hash, ref uint64)) (given int) {
	for i, h := range hashes {
		if r := l.ref(i); r != 0 {
			f(h, r)
			given++
		}
	}
	return given
}

// scanHash gives the items with this hash.
func (t *table) scanHash(hash uint64, f func(hash, ref uint64)) (given int) {
	t.own(t.vertex(hash, 0))
	t.own(t.vertex(hash, 1))
	only := func(h, r uint64) {
		if h == hash {
			f(h, r)
			given++
		}
	}
	for side := range uint(2) {
		t.scanVertex(t.vertex(hash, side), only)
	}
	for i := range StashItems {
		if r := t.stashRef(i); r != 0 {
			only(t.stashHashes[i], r)
		}
	}
	return max(given, 1) // so that a scan of many such notes is bounded
}
