package client

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
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

func (r *remoteFeatures) Search(ctx context.Context, q query.Query, yield func(*query.Found) (bool, error)) error {
	f := findQueries.Get().(*findQuery)
	defer f.release()
	return wire.InPages(ctx, q, wire.PageFeatures, func(ctx context.Context, q query.Query) ([]query.Found, bool, error) {
		f.again()
		f.kind, f.q, f.ready = wire.KindFind, q, false
		err := r.c.run(ctx, f)
		return f.found, f.more, err
	}, yield)
}

// find requests one answer, which is in memory of its own.
func (r *remoteFeatures) find(ctx context.Context, q query.Query, x *explaining) (fs []query.Found, more bool, err error) {
	f := &findQuery{kind: wire.KindFind, q: q, read: read{explain: x}}
	err = r.c.run(ctx, f)
	return f.found, f.more, err
}

func (r *remoteFeatures) Count(ctx context.Context, q query.Query) (int, error) {
	q.Limit, q.Order, q.After = 0, query.AnyOrder, ""
	f := findQueries.Get().(*findQuery)
	defer f.release()
	f.kind, f.q = wire.KindCountFeatures, q
	err := r.c.run(ctx, f)
	return f.features, err
}

func (r *remoteFeatures) Nearest(ctx context.Context, q query.NearestQuery, yield func(*query.Found) (bool, error)) error {
	f := findQueries.Get().(*findQuery)
	defer f.release()
	f.kind, f.near = wire.KindNear, q
	if err := r.c.run(ctx, f); err != nil {
		return err
	}
	_, err := wire.GiveAll(f.found, yield)
	return err
}

func (r *remoteFeatures) Explain(ctx context.Context, q query.Query) ([]query.Found, *model.Explanation, error) {
	x, done := r.c.conn.explain(r.c.conn.engines[ofFeatures].Policy())
	found, _, err := r.find(ctx, q, x)
	if err != nil {
		return nil, &x.Explanation, err
	}
	done()
	return found, &x.Explanation, nil
}

// findQuery is a find, near or count, by either path. Pooled.
type findQuery struct {
	read
	kind fastmsg.Kind
	q    query.Query
	near query.NearestQuery

	found    []query.Found // in the query's memory, until release
	more     bool          // there may be more, after the last one
	features int           // count

	ready        bool // prepared is valid, for space
	unjudged     bool // prepared lacks the filter, which only the server compiles
	prepared     query.Prepared
	preparedNear query.PreparedNearest
	space        feature.Space
	older        bool // the server ignores Fields, and sends all
	part         *ofCluster
}

var findQueries = sync.Pool{New: func() any { return new(findQuery) }}

// release ends the validity of found, and drops the references to the caller's values.
func (g *findQuery) release() {
	g.again()
	g.q, g.near, g.prepared.Query, g.preparedNear.NearestQuery = query.Query{}, query.NearestQuery{}, query.Query{}, query.NearestQuery{}
	g.read.release()
	g.ready, g.part = false, nil
	if cap(g.found) > wire.PageFeatures {
		g.found = nil
	}
	findQueries.Put(g)
}

func (g *findQuery) again() {
	clear(g.found)
	g.found, g.more, g.features = g.found[:0], false, 0
}

// Estimate fails: only the leaves show how many records there are to read.
func (g *findQuery) Estimate(*Estimate) bool { return false }

// prepare checks the query, in the collection's space.
//
// Without filters, a condition is left to the server, which then finds the features, too.
func (g *findQuery) prepare(space feature.Space, filters query.Filters) (err error) {
	if g.ready && g.space == space {
		return nil
	}
	near, q := &g.near, &g.q
	if g.unjudged = filters == nil && (near.Filter != "" || q.Filter != ""); g.unjudged {
		anyNear, anyFind := g.near, g.q
		anyNear.Filter, anyFind.Filter = "", ""
		near, q = &anyNear, &anyFind
	}
	if g.kind == wire.KindNear {
		err = g.preparedNear.Set(near, space, filters)
	} else {
		err = g.prepared.Set(q, space, filters)
	}
	g.ready, g.space = err == nil, space
	return err
}

func (g *findQuery) once(ctx context.Context, c *Client, s *session) error {
	if err := g.openAs(ctx, c, s, ofFeatures, g.kind); err != nil {
		return err
	}
	if err := g.prepare(g.open.space, c.conn.opts.Filters); err != nil {
		return err
	}
	g.part = c.conn.part
	g.askOnly = g.unjudged || g.kind != wire.KindNear && g.q.Area == nil
	err := c.byPath(ctx, s, g)
	if g.explain != nil && g.unjudged {
		g.explain.Why += "; but this client compiles no filters"
	}
	return err
}

func (g *findQuery) size() (searches, results int) { return 1, len(g.found) }

// message asks the server.
func (g *findQuery) message(ctx context.Context, c *Client, s *session) (asked int, err error) {
	near, q := &g.near, &g.q
	if g.older = !s.knows(wire.KindPick); (g.older || g.kind == wire.KindCountFeatures) && !g.fields().All() {
		whole, all := *near, *q
		whole.Fields, all.Fields = feature.Selection{}, feature.Selection{}
		near, q = &whole, &all
	}
	if g.kind == wire.KindNear {
		g.req, err = wire.AppendNear(wire.AppendHead(g.req[:0], g.open.coll, wire.NearArgument(near)), near)
	} else {
		g.req, err = wire.AppendFindQuery(wire.AppendHead(g.req[:0], g.open.coll, 0), q, g.open.space)
	}
	if err != nil {
		return 1, err
	}
	if err := g.ask(ctx, c, s, g.kind); err != nil {
		return 1, err
	}
	return 1, g.take(g.ans)
}

// take decodes the answer. found refers to its bytes.
func (g *findQuery) take(ans []byte) error {
	if g.kind == wire.KindCountFeatures {
		if len(ans) != 8 {
			return fmt.Errorf("%w: count answered %d bytes, want 8", model.ErrProtocol, len(ans))
		}
		g.features = int(binary.LittleEndian.Uint64(ans))
		return nil
	}
	if len(ans) == 0 {
		return fmt.Errorf("%w: an answer of no bytes", model.ErrProtocol)
	}
	g.more = ans[0] == 1
	for rest := ans[1:]; len(rest) > 0; {
		f, after, err := wire.GetFeature(rest)
		if err != nil {
			return err
		}
		if fields := g.fields(); g.older && !fields.All() {
			f.Cut(nil, fields)
		}
		g.found = append(g.found, f)
		rest = after
	}
	if g.kind == wire.KindFind && g.q.Limit > 0 && len(g.found) > g.q.Limit {
		return fmt.Errorf("%w: %d features answered, want at most %d", model.ErrProtocol, len(g.found), g.q.Limit)
	}
	return nil
}

// fields are the requested parts of features.
func (g *findQuery) fields() *feature.Selection {
	if g.kind == wire.KindNear {
		return &g.near.Fields
	}
	return &g.q.Fields
}

// own copies a feature that was read, without the parts that are not requested.
func (g *findQuery) own(f *query.Found) query.Found {
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
	if g.kind == wire.KindCountFeatures {
		g.features, g.found = len(g.found), nil
		return
	}
	if g.q.Order == query.ByID {
		slices.SortFunc(g.found, func(a, b query.Found) int { return slices.Compare(a.ID, b.ID) })
		if g.q.After != "" {
			g.found = slices.DeleteFunc(g.found, func(f query.Found) bool { return string(f.ID) <= g.q.After })
		}
	}
	if g.q.Limit > 0 && len(g.found) > g.q.Limit {
		g.found = g.found[:g.q.Limit]
	}
}
