//go:build linux

package rounds

import (
	"fmt"
	"math/rand/v2"

	"github.com/catfish-index/catfish/internal/placement"
)

// Groups of a round that has several. Two members survive each fault of one.
const (
	membersOfGroup = 2
	maxGroups      = 3 // at first: one more may be added
)

func groupName(i int) string { return fmt.Sprintf("g%d", i+1) }

// Action is what an operator does with the slots of several groups.
type Action struct {
	Name string
	What string // for people
}

const (
	moveSlots  = "move"
	moveBoth   = "move-both"
	moveBack   = "move-back"
	undoMoves  = "undo"
	addGroup   = "add-group"
	drainGroup = "drain"
	planDrain  = "plan"
)

// The group of which the victim is a member.
const (
	victimSource      = "source"
	victimDestination = "destination"
)

// Actions lists all.
func Actions() []Action {
	return []Action{
		{moveSlots, "slots move to another group"},
		{moveBoth, "slots move between two groups, both ways"},
		{moveBack, "slots move to another group, and back"},
		{undoMoves, "slots move, and their moves are undone"},
		{addGroup, "a group is added, and gets slots"},
		{drainGroup, "a group gives away all that it has"},
		{planDrain, "a planner empties a group, is killed in the middle, and runs again"},
	}
}

// Moving is what happens in a round of several groups beside the fault.
type Moving struct {
	Action Action
	Step   placement.Step // of the moves, at which the fault begins
	// Source: the victim is of the group that gives, else of the one that gets.
	Source   bool
	From, To int // groups
	Slots    int // that move
}

const (
	fewestSlots = 100
	mostSlots   = 200
	// drainedSlots are all that a group has which is drained: as many as may move at once.
	drainedSlots = placement.MaxMoves
)

// newMoving draws what happens in a round of some groups, beside one of some faults. Seeds that follow each
// other have all actions, and in the end each fault has each action beside it.
func newMoving(r *rand.Rand, seed uint64, faults, groups int) *Moving {
	all := Actions()
	turn := faults // until faults and actions come together again
	for turn%len(all) != 0 {
		turn += faults
	}
	m := &Moving{
		Action: all[(seed+seed/uint64(turn))%uint64(len(all))], Step: placement.Step(r.IntN(int(placement.Drop) + 1)), Source: r.IntN(2) == 0,
		From: r.IntN(groups), Slots: fewestSlots + r.IntN(mostSlots-fewestSlots),
	}
	m.To = (m.From + 1 + r.IntN(groups-1)) % groups
	switch m.Action.Name {
	case moveBoth:
		m.Slots = fewestSlots // of each
	case undoMoves:
		m.Step = min(m.Step, placement.Wait)
	case addGroup:
		m.To = groups
	case drainGroup, planDrain:
		m.From, m.To, m.Slots = groups-1, r.IntN(groups-1), drainedSlots
	}
	return m
}

// String describes it as a part of a line.
func (m *Moving) String() string {
	side := "that gets them"
	if m.Source {
		side = "that gives them"
	}
	return fmt.Sprintf("%s, %d of %s to %s, the fault begins at step %v, in the group %s", m.Action.What, m.Slots, groupName(m.From), groupName(m.To), m.Step, side)
}

// initial are the groups of the first map, with weights by which one that is drained has few.
func (m *Moving) initial(groups int) (args []string) {
	for i := range groups {
		weight := 1
		if (m.Action.Name == drainGroup || m.Action.Name == planDrain) && i != m.From {
			weight = (placement.Slots/drainedSlots - 1) / (groups - 1)
		}
		args = append(args, fmt.Sprintf("%s:%d", groupName(i), weight))
	}
	return args
}
