package server

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Boxes of several groups
//
// A group has the boxes whose centres are in its ranges, and takes no writes of others. The store
// judges writes of kept boxes when they are committed (store/parts.go). Boxes in memory alone do not move
// between groups, so they are judged here, by the map that there is when a write comes; kept ones,
// too, so that what is refused waits for no commit.

// placed is the map as it judges boxes. It does not change.
type placed struct {
	*placement.Map
	me placement.Index
}

// LoadBy says by which map TakesBox judges before SetCluster is called: what a member loads before it
// joins its group. For packages of this module.
func (s *Server) LoadBy(c *wire.Cluster) { s.loadBy.Store(c) }

// placed is nil without a map.
func (s *Server) placed() (*placed, error) {
	c := s.cluster()
	if c == nil {
		c = s.loadBy.Load()
	}
	if c == nil {
		return nil, nil
	}
	if p := s.placedBy.Load(); p != nil && p.Version == c.Version {
		return p, nil
	}
	h := s.groupHello()
	if h == nil {
		return nil, fmt.Errorf("%w: this server is in no group yet", fault.ErrNotReady)
	}
	m, err := placement.Decode(c.Map)
	if err != nil {
		return nil, err
	}
	p := &placed{Map: m}
	if p.me, err = m.Find(h.Name); err != nil {
		return nil, err
	}
	s.placedBy.Store(p)
	return p, nil
}

// TakesBox says why this server's group does not have a box of a collection; nil: it has.
// ErrMoved: another group has. placement.ErrUnknown: the collection is not placed, and no group
// has. A new box must also be of a size that searches expect: rstar.ErrBadRect. For packages of this
// module.
func (s *Server) TakesBox(collection string, box rstar.Rect, isNew bool) error {
	p, err := s.placed()
	if p == nil || err != nil {
		return err
	}
	return p.takes(collection, box, isNew)
}

func (p *placed) takes(collection string, box rstar.Rect, isNew bool) error {
	err := p.TakesBox(p.me, collection, box)
	switch {
	case errors.Is(err, placement.ErrFrozen), errors.Is(err, placement.ErrMoved), errors.Is(err, placement.ErrUnknown):
		return fmt.Errorf("%w: %w", fault.ErrMoved, err)
	case err != nil || !isNew:
		return err
	}
	if err = p.FitsBox(collection, box); errors.Is(err, placement.ErrBounds) {
		err = fmt.Errorf("%w: %w", rstar.ErrBadRect, err)
	}
	return err
}

// mayWriteBoxes judges a write: nothing of it is done if it has a box of another group.
func (s *Server) mayWriteBoxes(req *request) error {
	p, err := s.placed()
	if p == nil || err != nil {
		return err
	}
	name := req.coll.Name
	switch req.kind {
	case wire.KindInsertMany:
		for b := req.items; len(b) > 0 && err == nil; b = b[wire.ItemBytes:] {
			err = p.takes(name, wire.GetRect(b), true)
		}
	case wire.KindUpdate:
		if err = p.takes(name, req.rect, false); err == nil {
			err = p.takes(name, req.to, true)
		}
	default:
		err = p.takes(name, req.rect, req.kind == wire.KindInsert)
	}
	return err
}
