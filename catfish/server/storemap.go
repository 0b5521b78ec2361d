package server

import (
	"cmp"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// storeMap is the map of several groups for people, nil: there is none.
func (s *Server) storeMap() *model.StoreMap {
	c := s.cluster()
	if c == nil {
		return nil
	}
	m, err := placement.Decode(c.Map)
	if err != nil {
		s.log.Warn("the map of groups cannot be shown", "error", err)
		return nil
	}
	is := &model.StoreMap{Version: m.Version, Epoch: m.Epoch, Groups: make([]model.GroupSlots, len(m.Groups)), Moves: []model.GroupMoves{}}
	for i, g := range m.Groups {
		is.Groups[i].Name = g.Name
	}
	for _, g := range m.Slots {
		is.Groups[g].Slots++
	}
	moves := slices.Clone(m.Moves)
	slices.SortFunc(moves, func(a, b placement.Move) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Step, b.Step))
	})
	for i, v := range moves {
		if v.Step.Frozen() && v.Collection == "" {
			is.Groups[v.From].Frozen++
		}
		if i > 0 && v.From == moves[i-1].From && v.To == moves[i-1].To && v.Step == moves[i-1].Step {
			is.Moves[len(is.Moves)-1].Parts++
			continue
		}
		is.Moves = append(is.Moves, model.GroupMoves{From: m.Groups[v.From].Name, To: m.Groups[v.To].Name, Step: v.Step.String(), Parts: 1})
	}
	return is
}
