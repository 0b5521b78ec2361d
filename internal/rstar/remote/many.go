package remote

import (
	"context"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// walksAtOnce bounds the searches of one walk. Each has some four reads, of
// which a window takes 16; more searches would only wait.
const walksAtOnce = 32

// manyWalk is several searches as one walk, so that their reads share
// doorbells and round trips. The reads of search i carry i in their tags.
type manyWalk struct {
	walks     []searchWalk
	restarted []bool   // search i is to be made again, alone
	ready     []uint16 // searches that may know more to read, the next one last
	begun     int      // number of searches that have begun, from the first on
	found     int      // objects, of all searches
	limits    Limits
}

// keepItems is the largest buffer of a search that is reused: 1 MiB.
const keepItems = 1 << 20 / 40

const (
	manyShift = 40
	manyMask  = (1<<16 - 1) << manyShift
)

func (m *manyWalk) begin(t *Tree, rects []rstar.Rect, limits Limits) {
	m.limits = limits
	for len(m.walks) < len(rects) {
		m.walks, m.restarted = append(m.walks, searchWalk{}), append(m.restarted, false)
	}
	m.ready, m.begun, m.found = m.ready[:0], 0, 0
	for i, r := range rects {
		w := &m.walks[i]
		w.q, w.most, w.items = r, limits.Items, w.items[:0]
		w.restart(t, 0)
		m.restarted[i] = false
		m.ready = append(m.ready, uint16(len(rects)-1-i))
	}
}

// Next asks the searches in their order. None begins once there are more
// objects than Limits.Batch.
func (m *manyWalk) Next() (offload.Ref, bool, error) {
	for len(m.ready) > 0 {
		i := m.ready[len(m.ready)-1]
		if int(i) == m.begun && !m.limits.enough(m.found) {
			m.begun++
		}
		if int(i) < m.begun && !m.restarted[i] {
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

// Visit passes a block on to its search. A search that restarts does not disturb the
// others.
func (m *manyWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	i := uint16(ref.Tag & manyMask >> manyShift)
	if m.restarted[i] {
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
		m.restarted[i] = true
	default:
		m.ready = append(m.ready, i)
	}
	return offload.Accept, nil
}

// SearchMany makes several searches as one walk. For each of rects, in order, it
// appends the objects that intersect it to items, and their number to counts. It stops
// after the search with which there are more objects than Limits.Batch; at least one is
// made. After an error both are returned unchanged.
func (r *Reader) SearchMany(ctx context.Context, t *Tree, rects []rstar.Rect, items []rstar.Item, counts []uint32) (
	[]rstar.Item, []uint32, error,
) {
	r.stats = offload.Stats{}
	base, first := len(items), len(counts)
	for len(rects) > 0 && !r.limits.enough(len(items)-base) {
		before := len(counts)
		var err error
		items, counts, err = r.searchSome(ctx, t, rects[:min(len(rects), walksAtOnce)], items, counts)
		if err != nil {
			return items[:base], counts[:first], err
		}
		rects = rects[len(counts)-before:]
	}
	return items, counts, nil
}

// trim gives large buffers back, whether their searches failed or not.
func (m *manyWalk) trim() {
	for i := range m.walks {
		if w := &m.walks[i]; cap(w.items) > keepItems {
			w.items = nil
		}
	}
}

// searchSome makes some searches as one walk, and then, one by one, repeats those that
// met a move.
func (r *Reader) searchSome(ctx context.Context, t *Tree, rects []rstar.Rect, items []rstar.Item, counts []uint32) (
	[]rstar.Item, []uint32, error,
) {
	m := &r.many
	m.begin(t, rects, r.limits)
	defer m.trim()
	err := r.run(ctx, t, m)
	rects = rects[:m.begun]
	for i := range rects {
		m.walks[i].addStats(&r.stats)
	}
	if err != nil {
		return items, counts, err
	}
	for i, q := range rects {
		before := len(items)
		if !m.restarted[i] {
			items = append(items, m.walks[i].items...)
		} else {
			r.stats.Restarts++
			if items, err = r.search(ctx, t, q, 0, items, 1); err != nil {
				return items, counts, err
			}
		}
		counts = append(counts, uint32(len(items)-before))
	}
	return items, counts, nil
}
