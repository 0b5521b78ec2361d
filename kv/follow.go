package kv

// Two ways to a record
//
// The key index leads to a record, and so may something else, which follows it
// (Options.Follow): a tree that leads to records by area. A write changes one after
// the other, in the sight of readers who take no lock:
//
//	(1) the new record; nothing leads to it
//	(2) the key index leads to it, instead of the old one
//	(3) what follows does (follow)
//	(4) the old record is dead, now
//	(5) the write is acknowledged
//
// If (3) fails the write is undone: the index leads to the old record again, then
// the new one is dead, then the error is given. A deletion is the same without a new
// record.
//
// # What readers see
//
// Acknowledged: who begins to read after (5) sees the write, by either way, since
// (2) and (3) come before (5). A kept reference is taken if its record is alive, and
// (4) comes before (5), too.
//
// In time: who took a reference by either way, at R, may read the record until the
// grace after its read was posted, at P <= R. (4) comes after both ways have let go,
// so R is before the death D, and P + grace before D + grace, when the place may be
// used again (record/readers.go). D is the time of (4), not when the write began:
// between the two a writer may be stopped for however long, or what follows may wait
// for a lock.
//
// By id in this process (Get): the index leads to what is alive, always. Therefore
// (4) comes after (2), and undoing (2) before the new record dies.
//
// One way: the states that a way leads to are those of the writes, in their order.
// So reads by one way are linearizable, but for a write that fails: by id it may be
// seen, while it is under way, and is gone then. What follows never leads to it.
//
// # What is not promised
//
// Both ways together, while a write is under way: between (2) and (3) a reader by id
// finds the new record, and one by area that begins after it has ended the old one.
// From (5) on they agree.
//
// explore_follow_test.go tries every script of a few writes, with every reader. In
// builds with the tag mutants each rule is broken in turn (mutant.go).
