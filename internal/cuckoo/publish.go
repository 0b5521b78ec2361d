package cuckoo

import (
	"sync/atomic"
	"unsafe"
)

// Readers without locks
//
// One writer at a time. In the meantime readers of this process and remote
// ones read the same lines and take no lock.
//
// # One line
//
// A writer that turns a line from version v (even) to v+2 stores v+1, then
// the lanes that change, then v+2, in this order. A remote reader gets a line
// as it was at one instant and refuses an odd version. A local one loads the
// version, the lanes that it needs, and the version again, all by sync/atomic,
// which keeps program order. So what either accepts is what the line held at one instant.
//
// # Where an item is
//
// The logical bucket of a side is the line of the old tables while the table
// grows and that line is not marked as moved, else the line of the present
// ones. The rules of writers:
//
//	(1) An item is, at every instant, in one of its two logical buckets or
//	    in the stash, from when its insert ends to when its delete begins.
//	    A kick copies it to its other bucket first and overwrites it then.
//	(2) What overwrites a kicked item sets its bit in the line's kicked.
//	(3) Before an item goes to the stash its first bucket is marked stashed.
//	    It stays in its place of the stash until it leaves it for a bucket,
//	    copied first.
//	(4) Marks stay as long as the line.
//	(5) A growth publishes the header first. It splits a bucket by writing
//	    the two lines of the new tables and then marking the old one moved.
//	    New lines are marked stashed if an item in the stash is theirs.
//	    When all are split, it publishes the header without the old tables.
//	(6) While a table grows, writers change only lines of the present
//	    tables, and split an old bucket before they touch its new ones.
//
// Lines of the present tables that no split has written are zeros, of
// generation 0, which no reader takes for a bucket, whatever its header says:
// it looks again. A line that a reader finds moved or of another generation
// than its header says means that the header is old. So of (5) the order of
// headers only keeps readers from waiting; the order of lines is essential.
//
// # Local readers
//
// A reader takes both logical buckets, then the stash if the first bucket is
// marked, then looks whether both buckets still have the versions from
// before. If so, both were in one state from when the second was read to when
// the first was looked at again, and the stash was read in this time. At the
// instant when the item's place in the stash was read, the item was in it, or
// in one of the buckets, or it was not in the index. By (3) an unmarked first
// bucket has nothing in the stash at that instant.
//
// # Remote readers
//
// They read both lines in one round trip, each at an instant of its own, in
// any order. Suppose an item was in the index all the time, the reader read P
// without it, and later Q without it, and neither shows stashed. When P was read, the
// item was in Q or in the stash. The latter is impossible if P is the first
// bucket, by (3); if it is the second, the first is Q, read later, which would
// be marked, by (4). So it was in Q and has left it for P, or for nowhere,
// since nothing goes from a bucket to the stash. By (2) Q shows a bit for its
// signature, by (4) still when it is read. So:
//
//	in neither, and neither is marked: the item is absent
//	in neither, but kicked or stashed is marked: not certain
//
// This includes a kick from the bucket read second to the one read first: the
// mark is in the line read second, and in the other case, too, as neither
// order is assumed. A line that moves between does no harm. If Q was split
// after P was read, the reader sees the mark moved, and reads the line of the
// new tables. A kick from Q before the split has left its bit in the old
// line, which was read as well, and one after the split in the new line: by
// (6) no kick leaves a line that is not split, while growing, and (2) holds
// for the line that it leaves. The reader counts the marks of all lines that
// it has read. If it read only new lines because its header was without old
// ones, all splits ended before it began.
//
// In a case that is not certain it reads the stash if that is marked, after the
// buckets, and after that the buckets again. If no version has changed, the argument
// for local readers holds. If one has, the second look becomes the first, a bounded
// number of times.
//
// A reader that finds the key in a record needs none of this: each line shows its
// content at an instant during the lookup.
//
// # A replaced reference
//
// Replace changes the lane in place, so a reader sees the old reference or the new one.

// publish turns the line at p into l, whose version is ignored.
func (t *table) publish(p, l *Line) {
	v := p[0]
	if mutant != noLineMarks {
		t.store(&p[0], v|1)
	}
	for i := 1; i < lanes; i++ {
		if p[i] != l[i] {
			t.store(&p[i], l[i])
		}
	}
	t.store(&p[0], v+2)
}

func (t *table) store(w *uint64, v uint64) {
	atomic.StoreUint64(w, v)
	if t.onStore != nil {
		t.onStore(w, v)
	}
}

// at returns the line at an offset.
func (t *table) at(offset uint64) *Line {
	// SAFETY: offsets come from headers that this table made, whose tables
	// lie in mem.
	return (*Line)(unsafe.Add(t.base, uintptr(offset)))
}
