package kv

// mutation is a rule of follow.go that is broken on purpose, to show that the tests
// would notice. Only builds with the tag mutants have any but the first.
type mutation int

const (
	faithful mutation = iota

	deadAtFirst // a record is dead as of when the write began
	notFollowed // the follower is not called
	notUndone   // a write that fails is not undone
	undoneLate  // it is undone after its record is dead
	undoneAlive // its record stays alive

	killFirst   // the old record is dead before the index drops it
	killBetween // and before the follower does
	neverDead   // the old record stays alive
)
