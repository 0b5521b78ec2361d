package server

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// boxSample is the task of a client that asks where the boxes of a collection are on its curve. It reads
// all of them, as slotLoad does.
func (v *service) boxSample(from *peer, name string) *task {
	return v.newWork(from, func(t *task) ([]byte, error) {
		p, err := t.s.placed()
		switch {
		case err != nil:
			return nil, err
		case p == nil:
			return nil, fmt.Errorf("%w: this server has no map of groups", model.ErrNotReady)
		}
		world, err := p.World(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", model.ErrNotPermitted, err)
		}
		st, err := t.s.Store()
		if err != nil {
			return nil, err
		}
		e, err := st.Of(name, store.KindBoxes)
		if err != nil {
			return nil, err
		}
		if e.Boxes == nil {
			return nil, fmt.Errorf("%w: the boxes of %q are in memory alone, and their ranges stay as they are", model.ErrNotPermitted, name)
		}
		seen, err := e.Boxes.Survey(t.s.ctx, func() error {
			if t.to.ended() {
				return errHungUp
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return wire.AppendBoxSample(nil, seen.Boxes, seen.Positions(world)), nil
	})
}
