package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/rstar"
)

// readAtOnce is how many features one call reads back.
const readAtOnce = 500

// check reads everything back.
func (u *users) check(ctx context.Context, s *Summary) error {
	var err error
	if s.InSync, err = u.g.whole(ctx); err != nil {
		return err
	}
	there := map[uint64]int{}
	if u.g.slots == nil {
		if err := u.boxes(ctx, there); err != nil {
			return err
		}
	} else if s.Spread, err = u.spread(ctx); err != nil {
		return err
	}
	var notes []write
	boxes := map[uint64]bool{}
	for _, w := range u.written {
		if !w.box {
			notes = append(notes, w)
			continue
		}
		boxes[w.id] = true
		if there[w.id] == 0 && !w.unknown {
			s.lose(fmt.Sprintf("box %d", w.id))
		}
	}
	for id, n := range there {
		if n > 1 {
			s.Doubled++
		}
		if !boxes[id] {
			s.Invented++
		}
	}
	for some := range slices.Chunk(notes, readAtOnce) {
		if err := u.checkNotes(ctx, s, some); err != nil {
			return err
		}
	}
	return nil
}

// boxes counts those of each number.
func (u *users) boxes(ctx context.Context, there map[uint64]int) error {
	kept, err := u.clients[Message].Collection(keptName)
	if err != nil {
		return err
	}
	items, err := kept.Search(ctx, rstar.Rect{MinX: -1, MinY: -1, MaxX: 1e12, MaxY: 2})
	for _, it := range items {
		there[it.ID]++
	}
	return err
}

// spread counts the features of each group.
func (u *users) spread(ctx context.Context) (map[string]int, error) {
	st, err := u.clients[Message].Stats(ctx)
	n := map[string]int{}
	for name, of := range st.Groups {
		n[name] = of.Features[mapName].Records.Index.Items + of.Features[notesName].Records.Index.Items
	}
	return n, err
}

func (s *Summary) lose(what string) {
	if s.Lost++; s.FirstLost == "" {
		s.FirstLost = what
	}
}

func (u *users) checkNotes(ctx context.Context, s *Summary, notes []write) error {
	ids := make([]string, len(notes))
	for i, w := range notes {
		ids[i] = noteID(w.id)
	}
	found, err := u.features(Message, notesName).GetMany(ctx, ids)
	if err != nil {
		return err
	}
	for i, w := range notes {
		want := fmt.Sprintf(`{"number":%d}`, w.id)
		switch {
		case found[i].ID == "" && !w.unknown:
			s.lose(ids[i])
		case found[i].ID != "" && string(found[i].Properties) != want:
			s.lose(fmt.Sprintf("%s, which has %s", ids[i], found[i].Properties))
		}
	}
	return nil
}
