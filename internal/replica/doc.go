// Package replica is the replication protocol of a group of servers, as a state machine
// without a clock, goroutines or I/O: Member.Step takes an Event and returns Actions.
// Adapters make the events and carry out the actions: log lanes, the disk, the config
// store (etcd), a timer, and the server that takes writes.
//
//	            config store: one key a group, changed by compare-and-set
//	              ^ Change | Learned                  ^ Change | Learned
//	              |        v                          |        v
//	Propose --> +------------+   Frame: entries,    +-------------+
//	  Reply <-- |  primary   | ---- a beacon -----> |  secondary  |
//	            |            | <-- Ack: received, --|             |
//	            +------------+  durable, the echo   +-------------+
//	           Publish |   | Grant                    Publish |
//	                   v   v                                  v
//	         memory: values, lease                      memory: values
//	                   ^   ^
//	       value first |   | then the lease
//	            one-sided reader
//
// This is PacificA (Lin et al., 2008) with term histories (Kafka's KIP-101): a primary
// acknowledges what all in-sync members have, a slow one is removed from the set before
// that, and any member of the set may be promoted.
//
// # Words
//
//	entry      of the log, numbered by its revision from 1 without gaps
//	term       of a primary: the config's, greater with each
//	in sync    in the config's InSync
//	committed  all in-sync members have the entry: it is published and acknowledged
//	session    a connection of a boot of a follower with a primary
//	boot       a run of a member's process
//	lease      until when a primary is surely the only one, by its clock: L after the
//	           sent time of a beacon that all in-sync secondaries have heard
//	grace      how long a secondary hears no beacon before it asks for promotion: G >= L
//
// # Nothing committed is lost
//
// The invariant, which the explorer asserts in each state:
//
//	Whatever any member has published is a prefix of the log of each in-sync member
//	that may be promoted.
//
//	primary      |--------- committed ---------|--- sent ---|
//	secondary a  |---- published ----|-------- received ---|        may be promoted
//	secondary b  |------ published ------|---- received ------|     may be promoted
//	learner      |-- received --|                                   may not
//
// So no promotion loses it. These steps could break the invariant:
//
//	commit     The primary waits for its disk and for each secondary of every config
//	           that the store may have: the latest that it read, and the one that it
//	           asked for. Acknowledgements of other sessions do not count: a follower
//	           that was restarted may have less.
//	removal    makes the set smaller. Until the change is read, the member counts.
//	addition   The learner has what is committed, in a term in which the primary knows
//	           that (its first entry is committed), and counts from before the change
//	           is asked for.
//	promotion  The candidate is of the set, the new set is of the old one.
//	hand-over  The new primary has all of the log, on its disk, and no entry follows.
//	undo       A follower cuts off what its primary lacks. The primary has all that was
//	           published, by the invariant, so that nothing published is cut off.
//	crash      A member has what its disk has. A primary's disk has all that is
//	           committed: it waits for it, and a secondary's log is on its disk before
//	           it asks for promotion. A secondary at level Received may have less than
//	           it acknowledged. It is in doubt, and may not be promoted, until it has
//	           all that was committed when its new session began.
//
// # One primary at a time acknowledges
//
// A term has one primary, in one boot: the store takes one change of a version, a
// primary that was restarted takes a new term, and the store refuses changes that an
// earlier boot asked for. A primary of an earlier term commits nothing after a promotion:
// it would need the acknowledgement of the new primary, which refused its frames from
// before it asked; and to remove it from the set, a change of a version that has passed.
//
// # Logs that differ
//
// Each primary begins with an entry that says its term. The entries of a term were
// numbered by one boot of one primary, and each follower's log in that term is a prefix of
// the primary's. So two logs with the same term at a revision are the same up to it, and
// History.agree finds the last such revision. What a follower has after it is cut off.
//
// # No stale read is believed
//
// A one-sided read is believed if the lease covers it (Lease.Covers). Let it be of term
// t, looked at when the primary's clock was before V. Then no other primary had
// acknowledged anything by then:
//
//	primary    beacon sent s ------------------------ V <= s+L  (least over the set)
//	                  \                                   |
//	secondary          heard h >= s ------------- h+G     |      asks for promotion,
//	                                               |      |      after V since G >= L
//	reader            begins --- value --- lease? -'      |
//	                             (before V)               V
//
// A candidate counts its grace from the last beacon that it heard, or from its start, and
// hears none while it may be the primary. A secondary that was added counts for the lease
// from before the change: no lease was granted that it did not echo. A primary alone in
// the set is believed for L after each tick, not for ever: a second one may be added. A
// primary that was restarted waits for G, because memory of its earlier boot may still be
// read. Before a hand-over the lease runs out: the old primary could crash, start
// again, and acknowledge as a secondary while its old memory is believed.
//
// And the new primary has no lease before its first entry is committed, so that it shows
// all that the old one acknowledged.
//
// It would do to look at the lease at any moment after the read began. After the value is
// better for readers of several places: memory of a deposed primary may be changed in the
// middle of a read, and a member that copies its state again shows nothing whole.
//
// # Reads at secondaries
//
// A secondary publishes what is committed, a prefix of the same log at all members. A
// client that has seen or written revision r reads where the published revision is r or
// more: then it never goes back. Freshness bounds how far others' writes are ahead of it.
//
// # Exactly once
//
// An entry names the client's number of the write, and all members keep these
// (Results), so that a write that is repeated at any primary is found. A write that was
// found is answered when its entry is committed. What was undone is forgotten.
//
// The servers' members keep them in their stores (package store), which have what
// is committed: the entries that node proposes have no Client here. That is the same rule,
// since a primary's batches are refused before its store has all of the log that its term
// began with (Node.Propose), and a batch is judged in that state.
//
// # What is not promised
//
// Writes wait while the store is away and a secondary is slow. With level Received a
// group waits for its primary's disk if all in-sync secondaries crashed within the time
// that theirs need for a sync; an operator may promote another member, and lose that.
//
// rules.go lists the rules. For each the explorer, explore_world_test.go, shows what goes
// wrong without it. docs/decisions/replication-protocol.md has what it found.
package replica
