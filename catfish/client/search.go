package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/policy"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/rstar/remote"
)

// maxLost is how many connections one query may lose. A server that
// restarts costs one or two; after maxLost the query itself ends the
// connections, or the server is no Catfish server.
const maxLost = 8

// boxQuery is a search, count or nearest, by either path. Pooled.
type boxQuery struct {
	kind   fastmsg.Kind
	rect   rstar.Rect   // search, count
	x, y   float64      // nearest
	within float64      // nearest
	limit  int          // search: 0 = all; nearest: k
	rects  []rstar.Rect // searchMany

	base      int          // number of items that the caller brought
	items     []rstar.Item // search: the caller's slice
	counts    []uint32     // searchMany: number of items, for searches that are answered
	neighbors []model.Neighbor
	count     int

	open     *openSlab // the collection, once it is open
	at       *slab     // the tree, for an estimate
	req, ans []byte
	explain  *explaining // nil: no caller asked for one

	estimator remote.Estimator
}

var queries = sync.Pool{New: func() any { return new(boxQuery) }}

func (q *boxQuery) release() {
	q.items, q.neighbors, q.rects, q.explain, q.at, q.open = nil, nil, nil, nil, nil, nil
	if cap(q.ans) > wire.KeepBytes {
		q.ans = nil
	}
	queries.Put(q)
}

// Search returns every object that intersects r, borders included, in no
// particular order.
func (c *Client) Search(ctx context.Context, r rstar.Rect) ([]rstar.Item, error) {
	return c.SearchAppend(ctx, nil, r, 0)
}

// SearchAppend appends up to limit objects that intersect r to dst; a
// limit of 0 or less means all. After an error dst is returned as it was.
func (c *Client) SearchAppend(ctx context.Context, dst []rstar.Item, r rstar.Rect, limit int) ([]rstar.Item, error) {
	if err := r.Validate(); err != nil {
		return dst, err
	}
	q := queries.Get().(*boxQuery)
	defer q.release()
	q.kind, q.rect, q.limit, q.items = wire.KindSearch, r, max(limit, 0), dst
	if err := c.run(ctx, q); err != nil {
		return dst, err
	}
	return q.items, nil
}

// Count returns how many objects intersect r.
func (c *Client) Count(ctx context.Context, r rstar.Rect) (int, error) {
	if err := r.Validate(); err != nil {
		return 0, err
	}
	q := queries.Get().(*boxQuery)
	defer q.release()
	q.kind, q.rect, q.limit = wire.KindCount, r, 0
	if err := c.run(ctx, q); err != nil {
		return 0, err
	}
	return q.count, nil
}

// operation is a read: it has no effects, and may be repeated.
type operation interface {
	// begin is called once, before all else.
	begin()
	// once carries out the read over one session.
	once(ctx context.Context, c *Client, s *session) error
	// again forgets the results of an attempt that failed.
	again()
	// opened is the collection, nil before it is open.
	opened() *openSlab
	explained() *explaining
}

func (q *boxQuery) begin() { q.base = len(q.items) }

func (q *boxQuery) again() { q.items, q.neighbors, q.count = q.items[:q.base], nil, 0 }

func (q *boxQuery) opened() *openSlab { return q.open }

func (q *boxQuery) explained() *explaining { return q.explain }

// run carries out a read by the path that the policy chooses, and again on
// a new connection when a connection breaks.
func (c *Client) run(ctx context.Context, q operation) error {
	q.begin()
	for broken := 1; ; broken++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("catfish: %w", err)
		}
		s, err := c.conn.session(ctx)
		if err != nil {
			return err
		}
		err = q.once(ctx, c, s)
		if err == nil {
			return nil
		}
		if errors.Is(err, model.ErrUnknownCollection) && broken < maxLost && q.opened() != nil {
			s.forget(q.opened())
			q.again()
			continue
		}
		if !lost(err) {
			return err
		}
		if cause := ctx.Err(); cause != nil {
			if !errors.Is(err, cause) {
				err = fmt.Errorf("catfish: %w: %w", cause, err)
			}
			return err
		}
		if broken == maxLost {
			return fmt.Errorf("catfish: gave up after losing %d connections: %w", broken, err)
		}
		q.again()
		c.conn.counters.retried.Add(1)
		if x := q.explained(); x != nil {
			x.Retried++
		}
		// The ring's poller notices a dead peer as the read channels do; until
		// then asking again is useless.
		select {
		case <-s.caller.Done():
		case <-ctx.Done():
		case <-time.After(rdma.PeerTimeout):
			s.retire()
			s.caller.Close()
		}
	}
}

// lost reports whether err means that the session failed, not the request.
func lost(err error) bool {
	if errors.Is(err, fastmsg.ErrTooLarge) {
		return false // the next answer would be the same
	}
	return errors.Is(err, offload.ErrChannel) || errors.Is(err, offload.ErrStopped) || errors.Is(err, remote.ErrServerChanged) ||
		errors.Is(err, model.ErrNotSent) || errors.Is(err, model.ErrUnknownOutcome)
}

// once carries out a query over one session.
func (q *boxQuery) once(ctx context.Context, c *Client, s *session) error {
	o, err := s.openChecked(ctx, c.collection, q.kind)
	q.open = o
	if err == nil {
		err = o.isOf(model.KindBoxes)
	}
	if err != nil {
		return err
	}
	q.explain.step("get the connection")
	q.at = &o.slab
	path, began := c.conn.engine.Choose(&s.mailbox, q)
	q.explain.chose(c.conn.engine, s, q, path)
	tried := FastMessaging
	if path == Offload && s.canOffload() {
		c.conn.letOthersRun()
		base := len(q.items)
		st, err := c.offload(ctx, s, o, q)
		if err == nil {
			c.conn.engine.Done(began, Outcome{Path: Offload, Searches: int(q.searches()), Results: q.results(base),
				Reads: int(st.Reads), Trips: int(st.RoundTrips), Bytes: int(st.Bytes)}, Offload)
			return nil
		}
		if errors.Is(err, remote.ErrGrown) {
			o.outgrown.Store(true) // The next search will ask the server.
		} else if !errors.Is(err, offload.ErrRestart) && !errors.Is(err, offload.ErrTorn) && !errors.Is(err, errNoChannel) {
			return s.walkFailed(ctx, o, err)
		}
		q.items = q.items[:base]
		tried = Offload // the lost time counts as that path's
		c.conn.counters.fellBack.Add(1)
		if q.explain != nil {
			q.explain.FellBack = true
		}
	}
	base := len(q.items)
	if err := c.message(ctx, s, o, q); err != nil {
		return err
	}
	if n := q.searches(); n > 1 {
		c.conn.counters.together.Add(n - 1)
	}
	c.conn.engine.Done(began, Outcome{Path: tried, Searches: int(q.searches()), Results: q.results(base),
		Trips: 1, Bytes: len(q.req) + len(q.ans) + 2*wire.FrameBytes}, FastMessaging)
	return nil
}

// letOthersRun is called before offloading, which over shared memory keeps
// the core without a pause. Goroutines that have a request to send, or an
// answer to fetch, run first. Otherwise the server would idle if all clients of
// a core offload at once, which happens because they see the same heartbeat.
func (c *connection) letOthersRun() {
	if n := c.counters.reads.Load() / policy.YieldReads; n != c.yielded.Load() {
		c.yielded.Store(n)
		runtime.Gosched()
	}
}

// searches is how many searches a completed query made.
func (q *boxQuery) searches() uint64 {
	if q.kind == wire.KindSearchMany {
		return uint64(len(q.counts))
	}
	return 1
}

func (q *boxQuery) results(base int) int {
	switch q.kind {
	case wire.KindCount:
		return 1
	case wire.KindNearest:
		return len(q.neighbors)
	}
	return len(q.items) - base
}

// message carries out a query by fast messaging.
func (c *Client) message(ctx context.Context, s *session, o *openSlab, q *boxQuery) (err error) {
	if q.kind == wire.KindSearchMany {
		return c.messageMany(ctx, s, o, q)
	}
	q.req = wire.AppendHead(q.req[:0], o.coll, uint32(min(q.limit, math.MaxUint32)))
	kind := q.kind
	if kind == wire.KindNearest {
		kind = q.appendNearest(s)
	} else {
		q.req = wire.AppendRect(q.req, q.rect)
	}
	q.ans, err = s.call(ctx, kind, q.req, q.ans[:0])
	c.conn.counters.addMessage(len(q.req), len(q.ans))
	q.explain.asked(len(q.req), len(q.ans))
	if err != nil {
		return err
	}
	if n := len(q.ans) / wire.ItemBytes; q.kind != wire.KindCount && q.limit > 0 && n > q.limit {
		return fmt.Errorf("%w: %d items answered, want at most %d", model.ErrProtocol, n, q.limit)
	}
	switch q.kind {
	case wire.KindCount:
		if len(q.ans) != 8 {
			return fmt.Errorf("%w: count answered %d bytes, want 8", model.ErrProtocol, len(q.ans))
		}
		n := binary.LittleEndian.Uint64(q.ans)
		if n > math.MaxInt {
			return fmt.Errorf("%w: count answered %d", model.ErrProtocol, n)
		}
		q.count = int(n)
	case wire.KindNearest:
		if len(q.ans)%wire.ItemBytes != 0 {
			return fmt.Errorf("%w: %d bytes of items, want a multiple of %d", model.ErrProtocol, len(q.ans), wire.ItemBytes)
		}
		for b := q.ans; len(b) > 0; b = b[wire.ItemBytes:] {
			it := wire.GetItem(b)
			if d := it.Rect.Distance(q.x, q.y); d <= q.within {
				q.neighbors = append(q.neighbors, model.Neighbor{Item: it, Dist: d})
			}
		}
		slices.SortFunc(q.neighbors, model.Neighbor.Compare)
	default:
		q.items = slices.Grow(q.items, len(q.ans)/wire.ItemBytes)
		q.items, err = wire.AppendItems(q.items, q.ans)
	}
	return err
}

// offload carries out a query by reading the tree.
func (c *Client) offload(ctx context.Context, s *session, o *openSlab, q *boxQuery) (st offload.Stats, err error) {
	u, err := s.channels.get(ctx)
	if err != nil {
		return st, err
	}
	defer s.channels.put(u)
	r := u.(*remote.Reader)
	q.explain.step("get a read channel")
	if q.explain != nil {
		r.OnWalk = q.explain.walked
		defer func() { r.OnWalk = nil }()
	}
	switch q.kind {
	case wire.KindNearest:
		q.neighbors, err = r.NearestWithin(ctx, &o.slab, q.x, q.y, q.limit, q.within, q.neighbors)
	case wire.KindCount:
		q.count, err = r.Count(ctx, &o.slab, q.rect)
	case wire.KindSearchMany:
		q.items, q.counts, err = r.SearchMany(ctx, &o.slab, q.rects, q.items, q.counts[:0])
	default:
		q.items, err = r.Search(ctx, &o.slab, q.rect, q.limit, q.items)
	}
	st = r.Stats()
	c.conn.counters.addOffload(&st)
	q.explain.read(&st)
	return st, walkError(err)
}

// walkError adds this package's error to an error of package remote that
// means the same.
func walkError(err error) error {
	switch {
	case errors.Is(err, remote.ErrProtocol):
		return fmt.Errorf("%w: %w", model.ErrProtocol, err)
	case errors.Is(err, remote.ErrTooLarge):
		return fmt.Errorf("%w: %w", model.ErrTooLarge, err)
	}
	return err
}
