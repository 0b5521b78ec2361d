package client

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/record"
	recordreader "github.com/catfish-index/catfish/record/remote"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/rstar/remote"
	"github.com/catfish-index/catfish/store/query"
)

const (
	// searchCandidates bounds the records that an offloaded search reads: as many
	// as a request that is answered at once answers in the same time.
	searchCandidates = 512
	// searchBytes bounds their sum.
	searchBytes = wire.FeatureBytes
)

// offload reads the tree, and then the records to which it leads. ok is false if
// the client should ask the server instead.
//
// The references were in the tree during the walk, so their records may be read
// until a grace period after its begin, dead or not (record/readers.go).
func (g *findQuery) offload(ctx context.Context, c *Client, s *session) (st offload.Stats, ok bool, err error) {
	began := wire.Monotonic()
	items, st, err := g.candidates(ctx, c, s)
	if err != nil {
		ok, err = g.cannot(ctx, s, err)
		return st, ok, err
	}
	if len(items) > searchCandidates {
		return st, false, nil
	}
	if len(items) > 0 {
		var more offload.Stats
		more, ok, err = g.readAll(ctx, c, s, items, began, g.keep)
		// The walks follow each other.
		st.Add(more)
		if !ok || err != nil {
			return st, false, err
		}
	}
	g.arrange()
	return st, true, nil
}

// cannot decides what an error of a walk means: ask the server instead, or lost.
func (g *findQuery) cannot(ctx context.Context, s *session, err error) (ok bool, _ error) {
	switch {
	case errors.Is(err, remote.ErrGrown):
		g.open.outgrown.Store(true) // The next search will ask.
		return false, nil
	case errors.Is(err, offload.ErrRestart), errors.Is(err, offload.ErrTorn), errors.Is(err, errNoChannel):
		return false, nil
	}
	return false, s.walkFailed(ctx, g.open, err)
}

// candidates returns the tree's entries that meet the area, each once.
func (g *findQuery) candidates(ctx context.Context, c *Client, s *session) (items []rstar.Item, st offload.Stats, err error) {
	err = g.walk(ctx, c, s, &st, func(r *remote.Reader, ended func()) error {
		defer ended()
		items, err = r.SearchAny(ctx, &g.open.slab, g.prepared.Boxes(), searchCandidates+1, nil)
		return err
	})
	return items, st, err
}

// walk lends f a reader of the tree. f calls ended after each search, which counts.
func (g *findQuery) walk(ctx context.Context, c *Client, s *session, st *offload.Stats, f func(r *remote.Reader, ended func()) error) error {
	u, err := s.channels.get(ctx)
	if err != nil {
		return err
	}
	defer s.channels.put(u)
	g.explain.step("get a read channel")
	r := u.(*remote.Reader)
	err = f(r, func() {
		one := r.Stats()
		c.conn.counters.addOffload(&one)
		g.explain.read(&one)
		st.Add(one)
	})
	g.explain.step("walk the tree")
	return walkError(err)
}

// readAll reads the records of candidates, and calls decide with each feature. ok
// is false if a record could not be read.
func (g *findQuery) readAll(ctx context.Context, c *Client, s *session, items []rstar.Item, began time.Duration,
	decide func(f *query.Found, ref record.Ref) error) (st offload.Stats, ok bool, err error) {
	u, err := s.recordChannels.get(ctx)
	if errors.Is(err, errNoChannel) {
		return st, false, nil
	}
	if err != nil {
		return st, false, err
	}
	defer s.recordChannels.put(u)
	at := g.open.records
	r := recordreader.NewReader(u.(*recordReader).Channel, at.m.Records, at.m.Space,
		recordreader.Limits{Block: maxRecordRead, Bytes: searchBytes}, wire.Monotonic)
	reads := make([]recordreader.Item, 0, len(items))
	seen := make(map[record.Ref]bool, len(items))
	for _, it := range items {
		// A feature with several boxes is met several times.
		if ref := record.Ref(it.ID); !seen[ref] {
			seen[ref] = true
			reads = append(reads, recordreader.Item{Ref: ref, Until: began + record.DefaultGrace})
		}
	}
	err = r.Read(ctx, reads)
	st = r.Stats()
	c.conn.counters.addOffload(&st)
	g.explain.read(&st)
	g.explain.step("read the records")
	if err != nil {
		ok, err = g.cannot(ctx, s, err)
		return st, ok, err
	}
	for i := range reads {
		if ok, err := g.readOne(&reads[i], at, decide); !ok || err != nil {
			return st, false, err
		}
	}
	g.explain.step("decide")
	return st, true, nil
}

// readOne decodes a record that was read. ok is false if it could not be decoded.
func (g *findQuery) readOne(it *recordreader.Item, at *recordsAt, decide func(*query.Found, record.Ref) error) (ok bool, err error) {
	if errors.Is(it.Err, record.ErrRef) {
		g.open.outgrown.Store(true) // It may have grown.
	}
	if it.Err != nil && !errors.Is(it.Err, record.ErrDead) {
		return false, nil
	}
	now := at.clock + wire.Monotonic()
	f := query.Found{ID: it.View.Key, Value: it.View.Value, Revision: it.View.Revision, Expiry: time.Duration(it.View.Expiry), Now: now}
	if f.Expiry != 0 && f.Expiry <= now {
		return true, nil
	}
	if f.View, err = feature.Parse(f.Value); err != nil {
		return false, nil // Foreign bytes: ask the server.
	}
	err = decide(&f, it.Ref)
	return err == nil, err
}

// keep adds a feature to the results of a search without distances.
func (g *findQuery) keep(f *query.Found, _ record.Ref) error {
	match, err := g.prepared.Match(f)
	if match {
		// The reader's memory ends with the channel.
		g.found = append(g.found, g.own(f))
	}
	return err
}
