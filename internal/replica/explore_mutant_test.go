package replica

import "testing"

// mutants says in which world the explorer notices that a rule is left out, and in
// how many moves after the group has begun.
var mutants = []struct {
	rule  rule
	name  string
	world string
	moves int
}{
	{acksOfAll, "acksOfAll", "three", 1},
	{ownSync, "ownSync", "syncs", 3},
	{ackOfLevel, "ackOfLevel", "durable", 4},
	{ackOfSession, "ackOfSession", "syncs", 11},
	{sessionForgets, "sessionForgets", "doubt", 11},
	{publishAfterAcks, "publishAfterAcks", "two", 1},
	{askedCounted, "askedCounted", "two", 8},
	{removedFirst, "removedFirst", "two", 3},
	{termEntry, "termEntry", "lossUndo", 9},
	{minInSync, "minInSync", "min", 5},
	{minOfInSync, "minOfInSync", "min", 5},
	{unknownOutcome, "unknownOutcome", "two", 7},
	{frameOfTerm, "frameOfTerm", "threeOld", 10},
	{noGap, "noGap", "loss", 5},
	{startFirst, "startFirst", "lossUndo", 10},
	{undoTail, "undoTail", "two", 8},
	{undoByTerms, "undoByTerms", "two", 8},
	{undoDurable, "undoDurable", "undoDurable", 12},
	{publishCommitted, "publishCommitted", "syncs", 2},
	{durableIsSynced, "durableIsSynced", "durable", 4},
	{failureEnds, "failureEnds", "fails", 4},
	{doubtUntilCaughtUp, "doubtUntilCaughtUp", "doubt", 11},
	{doubtUntilKnown, "doubtUntilKnown", "threeDoubt", 11},
	{promoteInSync, "promoteInSync", "two", 8},
	{promoteSure, "promoteSure", "syncs", 10},
	{promoteSynced, "promoteSynced", "syncs", 7},
	{graceOfLease, "graceOfLease", "two", 4},
	{graceOfBoot, "graceOfBoot", "twoCrash", 11},
	{bootOfTerm, "bootOfTerm", "twoCrash", 3},
	{candidateRefuses, "candidateRefuses", "two", 8},
	{outcomeAwaited, "outcomeAwaited", "two", 2},
	{configRises, "configRises", "late", 11},
	{learnerCaughtUp, "learnerCaughtUp", "two", 8},
	{learnerCovered, "learnerCovered", "learner", 12},
	{leaseOfAll, "leaseOfAll", "three", 7},
	{leaseFromSent, "leaseFromSent", "two", 8},
	{learnerAfterStart, "learnerAfterStart", "threeMoved", 12},
	{leaseAfterStart, "leaseAfterStart", "threeDoubt", 12},
	{leaseAlone, "leaseAlone", "twoCrash", 12},
	{leaseEnds, "leaseEnds", "handOver", 16},
	{handOverWaits, "handOverWaits", "handOver", 12},
	{handOverStops, "handOverStops", "handOverSync", 7},
	{handOverSynced, "handOverSynced", "handOverSync", 7},
	{resultsLooked, "resultsLooked", "twoWrites", 5},
	{resultsAtAll, "resultsAtAll", "twoWrites", 7},
	{resultsCommitted, "resultsCommitted", "twoWrites", 2},
	{undoResults, "undoResults", "undo", 16},
}

// worldMutants are the same for rules of readers and of the config store.
var worldMutants = []struct {
	rule  worldRule
	name  string
	world string
	moves int
}{
	{leaseAfterBegin, "leaseAfterBegin", "reader", 7},
	{sameTerm, "sameTerm", "readerBack", 18},
	{upperBound, "upperBound", "reader", 8},
	{primarysClock, "primarysClock", "reader", 8},
	{cleanIfSure, "cleanIfSure", "cleanTwice", 6},
	{fencedBoots, "fencedBoots", "twoCrash", 11},
}

// TestMutants: whichever rule is left out, the explorer finds moves that lead to
// something wrong.
func TestMutants(t *testing.T) {
	if len(mutants) != int(rules)-1 || len(worldMutants) != int(worldRules)-1 {
		t.Errorf("%d and %d rules are left out, of %d and %d", len(mutants), len(worldMutants), rules-1, worldRules-1)
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { t.Parallel(); testMutant(t, m.rule, worldKept, m.world, m.moves) })
	}
	for _, m := range worldMutants {
		t.Run(m.name, func(t *testing.T) { t.Parallel(); testMutant(t, allKept, m.rule, m.world, m.moves) })
	}
}

func testMutant(t *testing.T, r rule, wr worldRule, name string, moves int) {
	for _, s := range worlds {
		if s.name != name {
			continue
		}
		l := s.with()
		l.without, l.world = r, wr
		f := search(l, maxStates, 0, false)
		if f.wrong == nil {
			t.Fatalf("not noticed in %d states of %s", f.states, name)
		}
		t.Logf("%s: %d states\n%s", name, f.states, f)
		if len(f.path) != moves {
			t.Errorf("%d moves, want %d", len(f.path), moves)
		}
		return
	}
	t.Fatalf("there is no world %s", name)
}
