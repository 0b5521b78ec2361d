package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/internal/placement"
)

// ClusterMap is which group has how much of a store, as 'cluster status --json' prints it.
type ClusterMap struct {
	Version uint64         `json:"version"`
	Epoch   uint64         `json:"epoch"` // the version at which a slot had another owner last
	Groups  []ClusterHas   `json:"groups"`
	Moves   []ClusterMove  `json:"moves"` // under way
	Boxes   []ClusterBoxes `json:"boxes,omitempty"`
}

// ClusterHas is the part of a group.
type ClusterHas struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
	Slots  int    `json:"slots"`
}

// ClusterMove is a move of a slot, or of a range of boxes.
type ClusterMove struct {
	placement.Part
	From string `json:"from"`
	To   string `json:"to"`
	Step string `json:"step"`
	// Until is the revision of From's log that To needs; 0: not known yet.
	Until uint64 `json:"until,omitempty"`
}

// clusterMap is nil if each group has a store of its own.
func clusterMap(m *placement.Map) *ClusterMap {
	if m == nil {
		return nil
	}
	c := &ClusterMap{Version: m.Version, Epoch: m.Epoch, Groups: make([]ClusterHas, len(m.Groups)), Moves: make([]ClusterMove, len(m.Moves))}
	for i, g := range m.Groups {
		c.Groups[i] = ClusterHas{Name: g.Name, Weight: int(g.Weight)}
	}
	for _, g := range m.Slots {
		c.Groups[g].Slots++
	}
	for i, v := range m.Moves {
		c.Moves[i] = ClusterMove{v.Part, m.Groups[v.From].Name, m.Groups[v.To].Name, v.Step.String(), v.Until}
	}
	for i := range m.Boxes {
		c.Boxes = append(c.Boxes, clusterBoxes(m, &m.Boxes[i]))
	}
	return c
}

func (c *ClusterMap) text() string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "map of version %d, epoch %d:", c.Version, c.Epoch)
	for i, g := range c.Groups {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " group %s has %d of %d slots", g.Name, g.Slots, placement.Slots)
		if g.Weight == 0 {
			b.WriteString(" (weight 0)")
		}
	}
	b.WriteByte('\n')
	// Moves from a group to another one, in the order of the first of them.
	for i, v := range c.Moves {
		same := func(o ClusterMove) bool { return o.From == v.From && o.To == v.To }
		if slices.IndexFunc(c.Moves, same) < i {
			continue
		}
		fmt.Fprintf(&b, "  %s -> %s: %s\n", v.From, v.To, stepsText(slices.DeleteFunc(slices.Clone(c.Moves), func(o ClusterMove) bool { return !same(o) })))
	}
	for i := range c.Boxes {
		b.WriteString(c.Boxes[i].text())
	}
	return b.String()
}

// stepsText says how many moves are at each step.
func stepsText(moves []ClusterMove) string {
	if len(moves) == 0 {
		return "none moves"
	}
	var at []string
	for s := placement.Copy; s <= placement.Drop; s++ {
		n := 0
		for _, v := range moves {
			if v.Step == s.String() {
				n++
			}
		}
		if n > 0 {
			at = append(at, fmt.Sprintf("%s %d", s, n))
		}
	}
	if len(moves) == 1 {
		return "1 moves (" + at[0] + ")"
	}
	return fmt.Sprintf("%d move (%s)", len(moves), strings.Join(at, ", "))
}
