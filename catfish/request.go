package catfish

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
)

// request is a request to a collection, decoded and checked. Which fields
// are set depends on its kind. wire.go has the encoding.
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

// decode reads a request to a collection into req, and checks it. Every request
// is decoded here, whether it is served alone or in a batch. The rectangles of
// writes are not checked: the tree does that. Only req.items refers to p.
func (s *Server) decode(kind fastmsg.Kind, p []byte, req *request) error {
	if len(p) < headBytes {
		return fmt.Errorf("%w: request kind %d of %d bytes", ErrProtocol, kind, len(p))
	}
	c, err := s.colls.byNumber(binary.LittleEndian.Uint32(p))
	if err == nil && (kind != kindCheck || c.features == nil) { // a check is also for the tree of features
		err = c.isOf(KindBoxes)
	}
	if err != nil {
		return err
	}
	arg := binary.LittleEndian.Uint32(p[4:])
	p = p[headBytes:]
	if want := bodyBytes(kind, arg); len(p) != want {
		return fmt.Errorf("%w: request kind %d, argument %d, %d bytes of body, want %d",
			ErrProtocol, kind, arg, len(p), want)
	}
	req.kind, req.coll = kind, c
	switch kind {
	case kindSearch, kindCount:
		req.limit, req.rect = arg, getRect(p)
		return req.rect.Validate()
	case kindNearest, kindWithin:
		req.kind, req.within = kindNearest, math.Inf(1)
		if kind == kindWithin {
			req.within = f64(p[16:])
		}
		x, y := f64(p), f64(p[8:])
		req.limit, req.rect = arg, rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}
		if err := checkNearest(arg, req.within); err != nil {
			return err
		}
		return req.rect.Validate()
	case kindInsert, kindDelete:
		it := getItem(p)
		req.rect, req.id = it.Rect, it.ID
	case kindUpdate:
		req.rect, req.to = getRect(p), getRect(p[rectBytes:])
		req.id = binary.LittleEndian.Uint64(p[2*rectBytes:])
	case kindInsertMany:
		req.items = p
	case kindSearchMany:
		req.rects = req.rects[:0]
		for i := 0; len(p) > 0; i, p = i+1, p[rectBytes:] {
			q := getRect(p)
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
	case kindSearch, kindCount:
		return rectBytes
	case kindNearest:
		return 16
	case kindWithin:
		return 24
	case kindInsert, kindDelete:
		return itemBytes
	case kindUpdate:
		return 2*rectBytes + 8
	case kindInsertMany:
		if arg <= maxBatch {
			return int(arg) * itemBytes
		}
		return -1
	case kindCheck:
		return 0
	case kindSearchMany:
		if arg > 0 && arg <= maxMany {
			return int(arg) * rectBytes
		}
	}
	return -1
}
