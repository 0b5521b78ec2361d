package kv

// Two indexes of the records
//
// The key index leads to a record, and so may the follower (Options.Follow): a tree
// that leads to records by area. A write changes them in order, while readers that take
// no lock may read both:
//
//	(1) the new record; nothing leads to it
//	(2) the key index leads to it, instead of the old one
//	(3) the follower leads to it, too (follow)
//	(4) the old record is dead, now
//	(5) the write is acknowledged
//
// If (3) fails the write is undone: the index leads to the old record again, then the
// new one is dead, then the error is returned. A deletion is the same without a new
// record.
//
// # What readers see
//
// Acknowledged: a reader that begins after (5) sees the write, by either index, since
// (2) and (3) come before (5). A kept reference is taken if its record is alive, and
// (4) comes before (5), too.
//
// In time: a reader that took a reference from either index, at R, posted the read of
// that index at P <= R, and may read the record until P + grace. (4) comes after both
// indexes have dropped the reference, so R is before the death D, and P + grace before
// D + grace, when the place may be used again (internal/record/readers.go). D is the time of
// (4), not when the write began: between the two the writer may be stopped for any
// time, or the follower may wait for a lock.
//
// By id in this process (Get): the index always leads to a living record. Therefore (4)
// comes after (2), and undoing (2) before the new record dies.
//
// One index: the states to which one index leads are those of the writes, in their
// order. So reads by one index are linearizable, except for a write that fails: a
// reader by id may see it while it is in flight, and not after. The follower never
// leads to it.
//
// # What is not promised
//
// Both indexes together, while a write is in flight: between (2) and (3) a reader by id
// finds the new record, and a reader by area that begins after the first has ended
// finds the old one. From (5) on they agree.
//
// explore_follow_test.go tries every script of a few writes, with every reader. Builds
// with the tag mutants break each rule, one at a time (mutant.go).
