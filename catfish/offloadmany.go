package catfish

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// walksAtOnce bounds the searches of one walk. Each has some four reads, of
// which a window takes 16; more searches would only wait.
const walksAtOnce = 32

// manyWalk is several searches as one walk, so that their reads share
// doorbells and round trips. The reads of search i carry i in their tags.
type manyWalk struct {
	walks []searchWalk
	again []bool   // i is to be begun again, by itself
	ready []uint16 // those that may know more to read, the next one last
	begun int      // how many have, the first ones
	found int      // objects, of all
}

const (
	manyShift = 40
	manyMask  = (1<<16 - 1) << manyShift
)

func (m *manyWalk) begin(s *slab, rects []rstar.Rect) {
	for len(m.walks) < len(rects) {
		m.walks, m.again = append(m.walks, searchWalk{}), append(m.again, false)
	}
	m.ready, m.begun, m.found = m.ready[:0], 0, 0
	for i, r := range rects {
		w := &m.walks[i]
		w.q, w.items = r, w.items[:0]
		w.restart(s, 0)
		m.again[i] = false
		m.ready = append(m.ready, uint16(len(rects)-1-i))
	}
}

// Next asks the searches in their order. None begins once there is an answer
// of the length at which a server would stop.
func (m *manyWalk) Next() (offload.Ref, bool, error) {
	for len(m.ready) > 0 {
		i := m.ready[len(m.ready)-1]
		if int(i) == m.begun && m.found <= manyBytes/itemBytes {
			m.begun++
		}
		if int(i) < m.begun && !m.again[i] {
			r, ok, err := m.walks[i].Next()
			if ok || err != nil {
				r.Tag |= uint64(i) << manyShift
				return r, ok, err
			}
		}
		m.ready = m.ready[:len(m.ready)-1]
	}
	return offload.Ref{}, false, nil
}

// Visit passes a block on. A search that has to begin again leaves the
// others alone.
func (m *manyWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	i := uint16(ref.Tag & manyMask >> manyShift)
	if m.again[i] {
		return offload.Accept, nil
	}
	ref.Tag &^= manyMask
	w := &m.walks[i]
	m.found -= len(w.items)
	v, err := w.Visit(ref, b)
	m.found += len(w.items)
	switch {
	case err != nil || v == offload.Retry:
		return v, err
	case v == offload.Restart:
		m.again[i] = true
	default:
		m.ready = append(m.ready, i)
	}
	return offload.Accept, nil
}

// offloadMany makes q's searches, until their answers are as long as a
// server would let them be: at least one.
func (c *Client) offloadMany(ctx context.Context, s *session, o *openSlab, q *query) (st offload.Stats, err error) {
	l, err := c.lane(ctx, s)
	if err != nil {
		return st, err
	}
	defer s.lanes.put(l)
	defer func() { c.addOffload(&st) }()
	base := len(q.items)
	q.counts = q.counts[:0]
	for len(q.counts) < len(q.rects) && len(q.items)-base <= manyBytes/itemBytes {
		rects := q.rects[len(q.counts):]
		if err := l.runMany(ctx, o, q, rects[:min(len(rects), walksAtOnce)], &st); err != nil {
			return st, err
		}
	}
	return st, nil
}

// runMany makes some of q's searches as one walk, and those again, one by
// one, that something moved under.
func (l *lane) runMany(ctx context.Context, o *openSlab, q *query, rects []rstar.Rect, st *offload.Stats) error {
	m := &l.many
	m.begin(&o.slab, rects)
	err := l.Run(ctx, o.base, m, st)
	rects = rects[:m.begun]
	for i := range rects {
		m.walks[i].tell(st)
	}
	if err != nil {
		return err
	}
	for i, r := range rects {
		before := len(q.items)
		if !m.again[i] {
			w := &m.walks[i]
			if q.items = append(q.items, w.items...); cap(w.items) > keepBytes/itemBytes {
				w.items = nil
			}
		} else if err := l.alone(ctx, o, q, r, st); err != nil {
			return err
		}
		q.counts = append(q.counts, uint32(len(q.items)-before))
	}
	return nil
}

// alone makes a search that has begun once as part of a batch.
func (l *lane) alone(ctx context.Context, o *openSlab, q *query, r rstar.Rect, st *offload.Stats) (err error) {
	one := query{kind: kindSearch, rect: r, items: q.items}
	st.Restarts++
	for try := 1; try <= maxRestarts; try++ {
		if try == 1 {
			l.search.items, l.search.base = one.items, len(one.items)
		}
		if err = l.runSearch(ctx, o, &one, try, st); !errors.Is(err, offload.ErrRestart) {
			break
		}
	}
	if err == nil {
		q.items = one.items
	}
	return err
}
