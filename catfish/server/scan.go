package server

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// DefaultMaxResults bounds one answer: 168 MB.
const DefaultMaxResults = 1 << 22

// pieces is a search in steps: *rstar.Scan, or nearestScan.
type pieces interface {
	Step(nodes int) (done bool)
	Err() error
	Count() int
	Take() []rstar.Item // the results, piece by piece, nil after the last
	Held() int          // bytes of memory
	Close()
}

// scan is the steps of a search, count or nearest that visits more than soonNodes nodes.
type scan struct {
	pieces
	s    *Server
	req  request
	as   recordAs
	many int          // of a searchMany: how many searches; this is the first
	next []rstar.Item // the piece to send next
}

// newScan returns a task that continues a search.
func (v *service) newScan(from *peer, req *request, rest pieces) *task {
	c := &scan{pieces: rest, s: v.s, req: *req, as: v.as(from)}
	if req.kind == wire.KindSearchMany {
		c.req.kind, c.req.rect, c.many = wire.KindSearch, req.rects[0], len(req.rects)
	}
	return &task{s: v.s, source: v.source(from), steps: c}
}

func (c *scan) longStep() bool { return false }

func (c *scan) step(nodes int) (ready bool, err error) {
	ready = c.Step(nodes)
	if err := c.req.coll.Gone(); err != nil {
		return true, err
	}
	if err := c.Err(); err != nil {
		return true, err
	}
	if c.req.kind != wire.KindCount && c.Count() > c.s.opts.MaxResults {
		return true, c.s.tooLarge()
	}
	if ready {
		c.next = c.Take()
		c.as.recordRead(&c.req, c.Count())
	}
	return ready, nil
}

// tooLarge returns the error of a search that finds too much.
func (s *Server) tooLarge() error {
	return fmt.Errorf("%w: more than %d objects; ask for a smaller rectangle, or for the first ones by a limit",
		model.ErrTooLarge, s.opts.MaxResults)
}

func (c *scan) memory() int64 { return int64(c.Held()) }

func (c *scan) bytes() int {
	if c.req.kind == wire.KindCount {
		return 8
	}
	return 4*c.many + c.Count()*wire.ItemBytes
}

func (c *scan) piece(out []byte) (_ []byte, last bool) {
	if c.req.kind == wire.KindCount {
		return binary.LittleEndian.AppendUint64(out, uint64(c.Count())), true
	}
	if c.many > 0 {
		out = binary.LittleEndian.AppendUint32(out, uint32(c.Count()))
		for ; c.many > 1; c.many-- {
			out = binary.LittleEndian.AppendUint32(out, wire.Unanswered)
		}
		c.many = 0
	}
	for _, it := range c.next {
		out = wire.AppendItem(out, it)
	}
	c.next = c.Take()
	return out, c.next == nil
}

func (c *scan) close() { c.Close() }
