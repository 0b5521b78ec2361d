package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// epochs is which epoch of the map each connection of a session has sent to its server.
type epochs struct {
	of      *cluster
	sending chan struct{} // has an element while a goroutine sends: an older epoch never comes later

	mu    sync.Mutex
	epoch map[caller]uint64
}

func newEpochs(of *cluster) *epochs {
	return &epochs{of: of, sending: make(chan struct{}, 1), epoch: map[caller]uint64{}}
}

func (t *epochs) last(by caller) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.epoch[by]
}

// send sends the epoch of the present map over a connection, unless it was the last one there;
// or again. It learns the server's map if that is later.
func (t *epochs) send(ctx context.Context, s *session, by caller, again bool) error {
	if !again && t.last(by) == t.of.view.Load().epoch {
		return nil
	}
	select {
	case t.sending <- struct{}{}:
		defer func() { <-t.sending }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", model.ErrNotSent, ctx.Err())
	}
	v := t.of.view.Load()
	if !again && t.last(by) == v.epoch {
		return nil
	}
	if !s.knows(wire.KindMap) {
		return s.cannot("be one of several groups")
	}
	b, err := s.callBy(ctx, by, wire.KindMap, wire.MapRequest{Epoch: v.epoch, Version: v.version}.Append(nil), nil)
	if err != nil {
		if errors.Is(err, model.ErrUnknownOutcome) { // The request itself was not sent.
			err = fmt.Errorf("%w: sending the epoch of the map: %s", model.ErrNotSent, err.Error())
		}
		return err
	}
	t.mu.Lock()
	t.epoch[by] = v.epoch
	t.mu.Unlock()
	return t.of.learn(b)
}
