package client

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Many searches in few messages. The rectangles are cut into parts of one
// message each. Some messages are in flight while the caller takes the
// answers, in order:
//
//	rects   | part 0 | part 1 | part 2 | part 3 | ...
//	         handed   answered asked    asked
//
// An answer may stop short (kinds.go of package wire). The rest of that part is asked again
// before any answer of the next one is handed out. So only in-flight messages
// take memory, and a lost connection repeats no answer that the caller has
// seen.

// manyAhead bounds the in-flight messages of one SearchMany: 4096 searches,
// which hide a round trip of a millisecond, and answers of 16 MiB.
const manyAhead = 16

// SearchMany searches for every rectangle, and calls each with its index
// and the objects that intersect it, in the order of rects; items are in no
// particular order, and valid during the call. It is for many searches that
// are known at once: up to 256 travel in one message, and the server makes
// them together, which is faster than one by one.
//
// Each search promises what Search does; together they are no snapshot.
// The policy is asked once for each message. each runs on the caller's
// goroutine, one call at a time, and may use the client.
//
// An error ends it: of each, which is returned unchanged, or one that names
// the index of the first search without an answer. Every search before that
// one was handed out, exactly once. A bad rectangle is found before any search
// begins. Memory: the in-flight answers, 16 of at most 1 MiB or one
// search's; there is no limit on len(rects).
func (c *Client) SearchMany(ctx context.Context, rects []rstar.Rect, each func(i int, items []rstar.Item) error) error {
	for i, r := range rects {
		if err := r.Validate(); err != nil {
			return fmt.Errorf("search %d of %d: %w", i, len(rects), err)
		}
	}
	if len(rects) <= wire.MaxMany {
		p := newPart(rects, 0)
		defer p.release()
		p.ask(ctx, c)
		return p.handOut(ctx, c, each)
	}
	ctx, cancel := context.WithCancel(ctx)
	var asked []*part // oldest first
	defer func() {
		cancel()
		for _, p := range asked {
			<-p.done
			p.release()
		}
	}()
	for next := 0; next < len(rects) || len(asked) > 0; {
		for next < len(rects) && len(asked) < manyAhead {
			p := newPart(rects[next:min(next+wire.MaxMany, len(rects))], next)
			p.done = make(chan struct{})
			go func() {
				defer close(p.done)
				p.ask(ctx, c)
			}()
			asked = append(asked, p)
			next += len(p.q.rects)
		}
		p := asked[0]
		<-p.done
		if err := p.handOut(ctx, c, each); err != nil {
			return err
		}
		asked = asked[1:]
		p.release()
	}
	return nil
}

// part is up to wire.MaxMany searches.
type part struct {
	q     boxQuery // rects: the searches without an answer
	first int      // index of the first of them
	err   error
	done  chan struct{} // closed when asked; nil if no goroutine asks
}

var parts = sync.Pool{New: func() any { return new(part) }}

func newPart(rects []rstar.Rect, first int) *part {
	p := parts.Get().(*part)
	p.q.kind, p.q.rects, p.first = wire.KindSearchMany, rects, first
	return p
}

func (p *part) release() {
	q := &p.q
	q.read.release()
	if cap(q.items) > wire.KeepBytes/wire.ItemBytes {
		q.items = nil
	}
	q.rects, p.err, p.done = nil, nil, nil
	parts.Put(p)
}

// ask gets answers for some of the searches without an answer.
func (p *part) ask(ctx context.Context, c *Client) {
	p.q.items, p.q.counts = p.q.items[:0], p.q.counts[:0]
	if len(p.q.rects) == 0 {
		return
	}
	if err := c.runBoxes(ctx, &p.q); err != nil {
		p.err = fmt.Errorf("search %d: %w", p.first, err)
	}
}

// handOut hands the answers out, and asks until there is one for each.
func (p *part) handOut(ctx context.Context, c *Client, each func(int, []rstar.Item) error) error {
	for ; p.err == nil; p.ask(ctx, c) {
		items := p.q.items
		for _, n := range p.q.counts {
			if err := each(p.first, items[:n:n]); err != nil {
				return err
			}
			items, p.first = items[n:], p.first+1
		}
		p.q.rects = p.q.rects[len(p.q.counts):]
		if len(p.q.rects) == 0 {
			return nil
		}
	}
	return p.err
}

// messageMany asks for as many of q's searches as fit into a message, and
// takes the answers of as many as the server answers: at least one.
func (q *boxQuery) messageMany(ctx context.Context, c *Client, s *session) (err error) {
	n := len(q.rects)
	if m, ok := s.caller.(interface{ MaxPayload() int }); ok {
		n = min(n, (m.MaxPayload()-wire.HeadBytes)/wire.RectBytes) // the smallest ring takes 31
	}
	q.req = wire.AppendHead(q.req[:0], q.open.coll, uint32(n))
	for _, r := range q.rects[:n] {
		q.req = wire.AppendRect(q.req, r)
	}
	if err := q.ask(ctx, c, s, q.kind); err != nil {
		return err
	}
	var items []byte
	if q.counts, items, err = getCounts(q.counts[:0], q.ans, n); err != nil {
		return err
	}
	q.items = slices.Grow(q.items, len(items)/wire.ItemBytes)
	q.items, err = wire.AppendItems(q.items, items)
	return err
}

// getCounts decodes the front of the answer to n searches: how many items
// each of the answered ones has. The items follow.
func getCounts(dst []uint32, b []byte, n int) (counts []uint32, items []byte, err error) {
	if len(b) < 4*n {
		return dst, nil, fmt.Errorf("%w: %d searches answered with %d bytes, want at least %d", model.ErrProtocol, n, len(b), 4*n)
	}
	items = b[4*n:]
	var total uint64
	for i := range n {
		count := binary.LittleEndian.Uint32(b[4*i:])
		switch {
		case count == wire.Unanswered && i == 0:
			return dst, nil, fmt.Errorf("%w: none of %d searches is answered", model.ErrProtocol, n)
		case count != wire.Unanswered && len(dst) < i:
			return dst, nil, fmt.Errorf("%w: search %d of %d is answered, search %d is not", model.ErrProtocol, i, n, len(dst))
		case count != wire.Unanswered:
			dst = append(dst, count)
			total += uint64(count)
		}
	}
	if total*wire.ItemBytes != uint64(len(items)) {
		return dst, nil, fmt.Errorf("%w: %d searches answered with %d items in %d bytes, want %d a piece",
			model.ErrProtocol, len(dst), total, len(items), wire.ItemBytes)
	}
	return dst, items, nil
}
