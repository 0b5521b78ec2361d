package server

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// slotLoad is the task of a client that asks how many bytes each slot has. Like a backup, it
// reads all data, and takes no scheduling slot among searches.
func (v *service) slotLoad(from *peer, p []byte) (*task, error) {
	if len(p) != 0 {
		return nil, fmt.Errorf("%w: request for the load of slots of %d bytes, want none", model.ErrProtocol, len(p))
	}
	return v.newWork(from, func(t *task) ([]byte, error) {
		st, err := t.s.Store()
		if err != nil {
			return nil, err
		}
		load, err := st.SlotLoad(t.s.ctx, func() error {
			if t.to.ended() {
				return errHungUp
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return wire.AppendSlotLoad(nil, load), nil
	}), nil
}

// slotRequests answers a client that asks how many requests came for each slot.
func (v *service) slotRequests(p, out []byte) ([]byte, error) {
	if len(p) != 0 {
		return nil, fmt.Errorf("%w: request for the requests of slots of %d bytes, want none", model.ErrProtocol, len(p))
	}
	st, err := v.s.Store()
	if err != nil {
		return nil, err
	}
	return wire.AppendSlotRequests(out, st.SlotRequests()), nil
}
