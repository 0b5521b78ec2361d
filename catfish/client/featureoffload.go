package client

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/record"
	recordreader "github.com/catfish-index/catfish/internal/record/remote"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

const (
	// searchCandidates bounds the records that an offloaded search reads: as many
	// as a request that is answered at once answers in the same time.
	searchCandidates = 512
	// searchBytes bounds their sum.
	searchBytes = wire.FeatureBytes
)

// offload reads the tree, and then the records to which it leads.
//
// The references were in the tree during the walk, so their records may be read
// until a grace period after its begin, dead or not (internal/record/readers.go).
func (g *findQuery) offload(ctx context.Context, c *Client, s *session) (left int, err error) {
	began := wire.Monotonic()
	if g.kind == wire.KindNear {
		err = g.offloadNear(ctx, c, s, began)
	} else {
		err = g.offloadFind(ctx, c, s, began)
	}
	if err != nil {
		g.again()
		return 1, err
	}
	return 0, nil
}

func (g *findQuery) offloadFind(ctx context.Context, c *Client, s *session, began time.Duration) error {
	// The tree's entries that meet the area, each once.
	items, err := g.walk(ctx, c, s, func(r *remote.Reader) ([]rstar.Item, error) {
		return r.SearchAny(ctx, &g.open.slab, g.prepared.Boxes(), searchCandidates+1, nil)
	})
	if err != nil {
		return err
	}
	if len(items) > searchCandidates {
		return errAsk
	}
	if len(items) > 0 {
		if err := g.readAll(ctx, c, s, items, began, g.keep); err != nil {
			return err
		}
	}
	g.arrange()
	return nil
}

// walk lends f a reader of the tree, for one search.
func (g *findQuery) walk(ctx context.Context, c *Client, s *session, f func(r *remote.Reader) ([]rstar.Item, error)) ([]rstar.Item, error) {
	u, err := s.channels.get(ctx)
	if err != nil {
		return nil, err
	}
	defer s.channels.put(u)
	g.explain.step("get a read channel")
	r := u.(*remote.Reader)
	items, err := f(r)
	st := r.Stats()
	g.count(c, &st)
	g.explain.step("walk the tree")
	return items, walkError(err)
}

// readAll reads the records of candidates, and calls decide with each feature.
func (g *findQuery) readAll(ctx context.Context, c *Client, s *session, items []rstar.Item, began time.Duration,
	decide func(f *query.Found, ref record.Ref) error) error {
	u, err := s.recordChannels.get(ctx)
	if err != nil {
		return err
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
	st := r.Stats()
	g.count(c, &st)
	g.explain.step("read the records")
	if err != nil {
		return err
	}
	for i := range reads {
		if err := g.readOne(&reads[i], at, decide); err != nil {
			return err
		}
	}
	g.explain.step("decide")
	return nil
}

// readOne decodes a record that was read.
func (g *findQuery) readOne(it *recordreader.Item, at *recordsAt, decide func(*query.Found, record.Ref) error) (err error) {
	if errors.Is(it.Err, record.ErrRef) {
		g.open.outgrown.Store(true) // It may have grown.
	}
	if it.Err != nil && !errors.Is(it.Err, record.ErrDead) {
		return errAsk
	}
	now := at.clock + wire.Monotonic()
	f := query.Found{ID: it.View.Key, Value: it.View.Value, Revision: it.View.Revision, Expiry: time.Duration(it.View.Expiry), Now: now}
	if f.Expiry != 0 && f.Expiry <= now || g.part != nil && !g.part.has(f.ID) {
		return nil
	}
	if f.View, err = feature.Parse(f.Value); err != nil {
		return errAsk // Foreign bytes.
	}
	return decide(&f, it.Ref)
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
