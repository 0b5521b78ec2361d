package cuckoo

// mutation is a rule of publish.go that is broken on purpose, to show that
// the tests would notice. Only builds with the tag mutants have any but the
// first.
type mutation int

const (
	faithful mutation = iota

	noLineMarks   // lines are written under an even version
	overwriteLast // kicks overwrite an item before it is copied
	noKickMark    // (2): kicked is not set
	noStashMark   // (3): the first bucket is not marked
	movedEarly    // (5): new lines are written, but empty, when a bucket is marked moved
	stashDropped  // (5): new lines are not marked stashed
	unconfirmed   // local readers do not read the buckets again
)
