package replica

// rule is a rule of the protocol. The explorer leaves out one at a time, to show that it
// notices (explore_mutant_test.go). A member outside tests keeps all.
type rule uint8

const (
	allKept rule = iota

	// Commits.
	acksOfAll        // all in-sync secondaries have what is committed, not just one
	ownSync          // and the primary's disk
	ackOfLevel       // at level Durable, their disks
	ackOfSession     // acknowledgements of earlier terms and sessions do not count
	sessionForgets   // nor those of a session before
	publishAfterAcks // readers see nothing before
	askedCounted     // members that may be in sync, or are about to be, count
	removedFirst     // a member counts until it is known to be removed
	termEntry        // each primary's first entry says its term
	minInSync        // with fewer in sync than MinInSync no write is made
	minOfInSync      // for which learners do not count
	unknownOutcome   // a deposed primary does not say that its last writes were refused

	// Followers.
	frameOfTerm        // frames of earlier terms and sessions are refused
	noGap              // and those after a gap
	startFirst         // and those before the first of a session
	undoTail           // what the primary lacks is cut off
	undoByTerms        // which term histories show, not lengths
	undoDurable        // and is not durable any more
	publishCommitted   // what is received is not published before it is committed
	durableIsSynced    // what is queued for the disk is not durable (RDMA_Mongo's T_L)
	failureEnds        // a failed entry is not discarded and asked for again (HydraDB)
	doubtUntilCaughtUp // the first frame of a session does not end doubt
	doubtUntilKnown    // nor what a primary takes for committed before its first entry is

	// Promotion.
	promoteInSync    // only of members of the in-sync set
	promoteSure      // that have all that they ever acknowledged
	promoteSynced    // on their disks
	graceOfLease     // after the old primary's lease
	graceOfBoot      // also if the old primary was an earlier boot of the same member
	bootOfTerm       // which takes a term of its own
	candidateRefuses // a member that may be the primary does not follow
	outcomeAwaited   // and is none before it has read so
	configRises      // a config that is late is not taken for the latest

	// Learners.
	learnerCaughtUp   // are added when they have what is committed
	learnerCovered    // and no longer lease was granted without them
	learnerAfterStart // and the primary knows what is committed

	// Leases.
	leaseOfAll      // are of a beacon that all in-sync secondaries heard
	leaseFromSent   // and last from when it was sent
	leaseAfterStart // and begin when the log of the primary before is published
	leaseAlone      // and end also if there are no others: one may be added
	leaseEnds       // and are not extended during a hand-over

	// Handing over.
	handOverWaits  // is asked for after the lease
	handOverStops  // after which no write is taken
	handOverSynced // when the new primary's disk has all

	// Writes that are repeated.
	resultsLooked    // are not made again
	resultsAtAll     // also at a primary that was a secondary
	resultsCommitted // nor answered before they are committed
	undoResults      // unless they were undone

	rules // how many there are
)

// keeps reports whether a member keeps a rule.
func (m *Member) keeps(r rule) bool { return m.without != r }
