package server

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// request is a request to a collection, decoded and checked. Which fields
// are set depends on its kind. Package wire has the encoding (kinds.go).
type request struct {
	kind  fastmsg.Kind
	coll  *collection
	limit uint32     // search: 0 for no limit; nearest: k
	rect  rstar.Rect // search, count, insert, delete; update: the old one; nearest: the point
	to    rstar.Rect // update: the new one
	id    uint64     // insert, delete, update
	// within bounds nearest by distance.
	within float64
	// rects are the queries of a searchMany. decode reuses the memory.
	rects []rstar.Rect
	// items are the items of an insertMany, still encoded: each is checked when
	// it is inserted.
	items []byte
}

// head reads what a request to a collection begins with: the collection's number, and an
// argument.
func (s *Server) head(kind fastmsg.Kind, p []byte) (c *collection, arg uint32, body []byte, err error) {
	if len(p) < wire.HeadBytes {
		return nil, 0, nil, fmt.Errorf("%w: request kind %d of %d bytes", model.ErrProtocol, kind, len(p))
	}
	c, err = s.store.ByNumber(binary.LittleEndian.Uint32(p))
	return c, binary.LittleEndian.Uint32(p[4:]), p[wire.HeadBytes:], err
}

// decode reads a request to a collection into req, and checks it. Every request
// is decoded here, whether it is served alone or in a batch. The rectangles of
// writes are not checked: the tree does that. Only req.items refers to p.
func (s *Server) decode(kind fastmsg.Kind, p []byte, req *request) error {
	c, arg, p, err := s.head(kind, p)
	if err == nil && (kind != wire.KindCheck || c.Features == nil) { // a check is also for the tree of features
		err = c.Is(store.KindBoxes)
	}
	if err != nil {
		return err
	}
	if want := bodyBytes(kind, arg); len(p) != want {
		return fmt.Errorf("%w: request kind %d, argument %d, %d bytes of body, want %d",
			model.ErrProtocol, kind, arg, len(p), want)
	}
	req.kind, req.coll = kind, c
	switch kind {
	case wire.KindSearch, wire.KindCount:
		req.limit, req.rect = arg, wire.GetRect(p)
		return req.rect.Validate()
	case wire.KindNearest, wire.KindWithin:
		req.kind, req.within = wire.KindNearest, math.Inf(1)
		if kind == wire.KindWithin {
			req.within = wire.F64(p[16:])
		}
		x, y := wire.F64(p), wire.F64(p[8:])
		req.limit, req.rect = arg, rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}
		if err := wire.CheckNearest(arg, req.within); err != nil {
			return err
		}
		return req.rect.Validate()
	case wire.KindInsert, wire.KindDelete:
		it := wire.GetItem(p)
		req.rect, req.id = it.Rect, it.ID
	case wire.KindUpdate:
		req.rect, req.to = wire.GetRect(p), wire.GetRect(p[wire.RectBytes:])
		req.id = binary.LittleEndian.Uint64(p[2*wire.RectBytes:])
	case wire.KindInsertMany:
		req.items = p
	case wire.KindSearchMany:
		req.rects = req.rects[:0]
		for i := 0; len(p) > 0; i, p = i+1, p[wire.RectBytes:] {
			q := wire.GetRect(p)
			if err := q.Validate(); err != nil {
				return fmt.Errorf("search %d: %w", i, err)
			}
			req.rects = append(req.rects, q)
		}
	}
	return nil
}

// bodyBytes is the exact size of each request's body; insertMany and
// searchMany are checked against their counts. It is -1 for other kinds
// and for counts that are not allowed.
func bodyBytes(kind fastmsg.Kind, arg uint32) int {
	switch kind {
	case wire.KindSearch, wire.KindCount:
		return wire.RectBytes
	case wire.KindNearest:
		return 16
	case wire.KindWithin:
		return 24
	case wire.KindInsert, wire.KindDelete:
		return wire.ItemBytes
	case wire.KindUpdate:
		return 2*wire.RectBytes + 8
	case wire.KindInsertMany:
		if arg <= wire.MaxBatch {
			return int(arg) * wire.ItemBytes
		}
		return -1
	case wire.KindCheck:
		return 0
	case wire.KindSearchMany:
		if arg > 0 && arg <= wire.MaxMany {
			return int(arg) * wire.RectBytes
		}
	}
	return -1
}
