package record

// mutation is a rule of readers.go that is broken on purpose, to show that
// the tests would notice. Only builds with the tag mutants have any but the
// first.
type mutation int

const (
	faithful mutation = iota

	// The heap.
	sameGeneration // a place is used again under the same generation
	noGrace        // a place is free as soon as the latest lease has ended
	noLease        // a place is free after the base grace, whatever the lease
	aliveEarly     // the guardian is alive before the bytes are written
	deadGranted    // a lease is granted after the record's death
	keyUnchecked   // the check sum does not cover the key
	leaseLost      // Compact makes a head without the leases of the one that it replaces
	blockEarly     // the place of a block that Compact moved is free at once

	// Readers.
	sumIgnored        // the check sum is not compared
	generationIgnored // the generation is not compared
	deadAccepted      // a record by a kept reference is taken though the guardian is dead

	// The heap's caller.
	ackEarly  // an update is acknowledged before the guardian is marked
	killEarly // the guardian is marked before the index drops the reference
)
