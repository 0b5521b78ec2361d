package catfish

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// Searches of features, at the client
//
// By message the server answers with the features. By offloading the client does
// the server's work (featureoffload.go), with the same code of package store:
//
//	tree      boxes that meet the area   1 round trip, with cached nodes
//	records   of all those at once       1 round trip
//	decide    exact geometry, filter     here
//
// A search that takes too many reads is left to a message.

func (r *remoteFeatures) search(ctx context.Context, q store.Query, yield func(*store.Found) (bool, error)) error {
	f := findQueries.Get().(*findQuery)
	defer f.release()
	return inPages(ctx, q, pageFeatures, func(ctx context.Context, q store.Query) ([]store.Found, bool, error) {
		f.again()
		f.kind, f.q, f.ready = kindFind, q, false
		err := r.c.run(ctx, f)
		return f.found, f.more, err
	}, yield)
}

// find requests one answer, which is in memory of its own.
func (r *remoteFeatures) find(ctx context.Context, q store.Query, x *explaining) (fs []store.Found, more bool, err error) {
	f := &findQuery{kind: kindFind, q: q, explain: x}
	err = r.c.run(ctx, f)
	return f.found, f.more, err
}

func (r *remoteFeatures) count(ctx context.Context, q store.Query) (int, error) {
	q.Limit, q.Order, q.After = 0, query.AnyOrder, ""
	f := findQueries.Get().(*findQuery)
	defer f.release()
	f.kind, f.q = kindCountFeatures, q
	err := r.c.run(ctx, f)
	return f.count, err
}

func (r *remoteFeatures) nearest(ctx context.Context, q store.NearestQuery, yield func(*store.Found) (bool, error)) error {
	f := findQueries.Get().(*findQuery)
	defer f.release()
	f.kind, f.near = kindNear, q
	if err := r.c.run(ctx, f); err != nil {
		return err
	}
	_, err := giveAll(f.found, yield)
	return err
}

func (r *remoteFeatures) explain(ctx context.Context, q store.Query) ([]store.Found, *Explanation, error) {
	x, done := r.c.conn.explain(r.c.conn.features.Policy())
	found, _, err := r.find(ctx, q, x)
	if err != nil {
		return nil, &x.Explanation, err
	}
	done()
	return found, &x.Explanation, nil
}

// findQuery is a find, near or countFeatures, by either path. Pooled.
type findQuery struct {
	kind fastmsg.Kind
	q    store.Query
	near store.NearestQuery

	found []store.Found // in the query's memory, until release
	more  bool          // there may be more, after the last one
	count int

	ready        bool // prepared is valid, for space
	prepared     store.Prepared
	preparedNear store.PreparedNearest
	space        feature.Space
	open         *openSlab
	req, ans     []byte
	explain      *explaining
	older        bool // the server ignores Fields, and sends all
}

var findQueries = sync.Pool{New: func() any { return new(findQuery) }}

// release ends the validity of found, and drops the references to the caller's values.
func (g *findQuery) release() {
	g.again()
	g.q, g.near, g.prepared.Query, g.preparedNear.NearestQuery = store.Query{}, store.NearestQuery{}, store.Query{}, store.NearestQuery{}
	g.ready, g.open, g.explain = false, nil, nil
	if cap(g.ans) > keepBytes {
		g.ans = nil
	}
	if cap(g.found) > pageFeatures {
		g.found = nil
	}
	findQueries.Put(g)
}

func (g *findQuery) begin() {}

func (g *findQuery) again() {
	clear(g.found)
	g.found, g.more, g.count = g.found[:0], false, 0
}

func (g *findQuery) opened() *openSlab      { return g.open }
func (g *findQuery) explained() *explaining { return g.explain }

// Estimate fails: only the leaves show how many records there are to read.
func (g *findQuery) Estimate(*Estimate) bool { return false }

// prepare checks the query, in the collection's space.
func (g *findQuery) prepare(space feature.Space, filters *filter.Cache) (err error) {
	if g.ready && g.space == space {
		return nil
	}
	if g.kind == kindNear {
		err = g.preparedNear.Set(&g.near, space, filters)
	} else {
		err = g.prepared.Set(&g.q, space, filters)
	}
	g.ready, g.space = err == nil, space
	return err
}

func (g *findQuery) once(ctx context.Context, c *Client, s *session) error {
	o, err := s.openChecked(ctx, c.collection, g.kind)
	g.open = o
	if err == nil {
		err = o.isOf(KindFeatures)
	}
	if err != nil {
		return err
	}
	g.explain.step("get the connection")
	if err := g.prepare(o.space, c.conn.filters); err != nil {
		return err
	}
	engine := c.conn.features
	path, began := engine.Choose(&s.featureBox, g)
	g.explain.chose(engine, s, g, path)
	out := Outcome{Path: FastMessaging, Searches: 1}
	if path == Offload && s.canOffload() && (g.kind == kindNear || g.q.Area != nil) {
		c.conn.letOthersRun()
		out.Path = Offload // also if it ends by fast messaging
		offload := g.offload
		if g.kind == kindNear {
			offload = g.offloadNear
		}
		st, ok, err := offload(ctx, c, s)
		if err != nil {
			return err
		}
		out.Reads, out.Trips, out.Bytes, out.Results = int(st.Reads), int(st.RoundTrips), int(st.Bytes), len(g.found)
		if ok {
			engine.Done(began, out, Offload)
			return nil
		}
		g.again()
		c.conn.counters.fellBack.Add(1)
		if g.explain != nil {
			g.explain.FellBack = true
		}
	}
	n, err := g.message(ctx, c, s)
	if err != nil {
		return err
	}
	out.Trips, out.Bytes, out.Results = out.Trips+1, out.Bytes+n, len(g.found)
	engine.Done(began, out, FastMessaging)
	return nil
}

// message asks the server, and returns how many bytes were sent and received.
func (g *findQuery) message(ctx context.Context, c *Client, s *session) (n int, err error) {
	near, q := &g.near, &g.q
	if g.older = !s.knows(kindPick); (g.older || g.kind == kindCountFeatures) && !g.fields().All() {
		whole, all := *near, *q
		whole.Fields, all.Fields = feature.Selection{}, feature.Selection{}
		near, q = &whole, &all
	}
	if g.kind == kindNear {
		g.req, err = appendNear(appendHead(g.req[:0], g.open.coll, nearArgument(near)), near)
	} else {
		g.req, err = appendFindQuery(appendHead(g.req[:0], g.open.coll, 0), q, g.open.space)
	}
	if err != nil {
		return 0, err
	}
	g.ans, err = s.call(ctx, g.kind, g.req, g.ans[:0])
	c.conn.counters.addMessage(len(g.req), len(g.ans))
	g.explain.asked(len(g.req), len(g.ans))
	if err != nil {
		return 0, err
	}
	return len(g.req) + len(g.ans) + 2*frameBytes, g.take(g.ans)
}

// take decodes the answer. found refers to its bytes.
func (g *findQuery) take(ans []byte) error {
	if g.kind == kindCountFeatures {
		if len(ans) != 8 {
			return fmt.Errorf("%w: count answered %d bytes, want 8", ErrProtocol, len(ans))
		}
		g.count = int(binary.LittleEndian.Uint64(ans))
		return nil
	}
	if len(ans) == 0 {
		return fmt.Errorf("%w: an answer of no bytes", ErrProtocol)
	}
	g.more = ans[0] == 1
	for rest := ans[1:]; len(rest) > 0; {
		f, after, err := getFeature(rest)
		if err != nil {
			return err
		}
		if fields := g.fields(); g.older && !fields.All() {
			f.Cut(nil, fields)
		}
		g.found = append(g.found, f)
		rest = after
	}
	if g.kind == kindFind && g.q.Limit > 0 && len(g.found) > g.q.Limit {
		return fmt.Errorf("%w: %d features answered, want at most %d", ErrProtocol, len(g.found), g.q.Limit)
	}
	return nil
}

// fields are the requested parts of features.
func (g *findQuery) fields() *feature.Selection {
	if g.kind == kindNear {
		return &g.near.Fields
	}
	return &g.q.Fields
}

// own copies a feature that was read, without the parts that are not requested.
func (g *findQuery) own(f *store.Found) store.Found {
	fields := g.fields()
	if fields.All() {
		return f.Clone()
	}
	c := *f
	c.ID = slices.Clone(f.ID)
	c.Cut(nil, fields)
	return c
}

// arrange sorts and cuts the results of offloading as requested.
func (g *findQuery) arrange() {
	if g.kind == kindCountFeatures {
		g.count, g.found = len(g.found), nil
		return
	}
	if g.q.Order == query.ByID {
		slices.SortFunc(g.found, func(a, b store.Found) int { return slices.Compare(a.ID, b.ID) })
		if g.q.After != "" {
			g.found = slices.DeleteFunc(g.found, func(f store.Found) bool { return string(f.ID) <= g.q.After })
		}
	}
	if g.q.Limit > 0 && len(g.found) > g.q.Limit {
		g.found = g.found[:g.q.Limit]
	}
}
