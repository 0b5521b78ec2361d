package catfish

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/record"
	recordreader "github.com/catfish-index/catfish/record/remote"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/rstar/remote"
	"github.com/catfish-index/catfish/store"
)

const (
	// searchCandidates bounds the records that an offloaded search reads: as many
	// as answer a request in the time of one that is answered at once.
	searchCandidates = 512
	// searchBytes bounds them together.
	searchBytes = featureBytes
)

// offload reads the tree, and then the records that it leads to. It is not ok if
// the answer is to be asked for.
//
// The references were in the tree during the walk, so their records may be read
// until a grace after it began, dead or not (record/readers.go).
func (g *findQuery) offload(ctx context.Context, c *Client, s *session) (st offload.Stats, ok bool, err error) {
	began := monotonic()
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
		more, ok, err = g.readAll(ctx, c, s, items, began)
		// The walks follow each other.
		st.Add(more)
		if !ok || err != nil {
			return st, false, err
		}
	}
	g.arrange()
	return st, true, nil
}

// cannot decides what an error of a walk means: ask instead, or lost.
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

// candidates are the entries of the tree that meet the area, each once.
func (g *findQuery) candidates(ctx context.Context, c *Client, s *session) (items []rstar.Item, st offload.Stats, err error) {
	u, err := s.channels.get(ctx)
	if err != nil {
		return nil, st, err
	}
	defer s.channels.put(u)
	g.explain.step("get a read channel")
	r := u.(*remote.Reader)
	for i, box := range g.prepared.Boxes() {
		n := len(items)
		items, err = r.Search(ctx, &g.open.slab, box, searchCandidates+1, items)
		one := r.Stats()
		c.conn.counters.addOffload(&one)
		g.explain.read(&one)
		st.Add(one)
		if err != nil {
			return nil, st, walkError(err)
		}
		kept := items[:n]
		for _, it := range items[n:] {
			if g.prepared.First(i, it.Rect) {
				kept = append(kept, it)
			}
		}
		if items = kept; len(items) > searchCandidates {
			break
		}
	}
	g.explain.step("walk the tree")
	return items, st, nil
}

// readAll reads the records of candidates, and keeps the features that match.
func (g *findQuery) readAll(ctx context.Context, c *Client, s *session, items []rstar.Item, began time.Duration) (st offload.Stats, ok bool, err error) {
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
		recordreader.Limits{Block: maxRecordRead, Bytes: searchBytes}, monotonic)
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
		if ok, err := g.decide(&reads[i], at); !ok || err != nil {
			return st, false, err
		}
	}
	g.explain.step("decide")
	return st, true, nil
}

// decide looks at a record that was read. It is not ok if it could not be.
func (g *findQuery) decide(it *recordreader.Item, at *recordsAt) (ok bool, err error) {
	if errors.Is(it.Err, record.ErrRef) {
		g.open.outgrown.Store(true) // It may have grown.
	}
	if it.Err != nil && !errors.Is(it.Err, record.ErrDead) {
		return false, nil
	}
	now := at.clock + monotonic()
	f := store.Found{ID: it.View.Key, Revision: it.View.Revision, Expiry: time.Duration(it.View.Expiry), Now: now}
	if f.Expiry != 0 && f.Expiry <= now {
		return true, nil
	}
	if f.View, err = feature.Parse(it.View.Value); err != nil {
		return false, nil // Foreign bytes: the server knows better.
	}
	match, err := g.prepared.Match(&f)
	if !match || err != nil {
		return err == nil, err
	}
	// The reader's memory goes with the channel.
	n := len(g.bytes)
	g.bytes = append(append(g.bytes, it.View.Key...), it.View.Value...)
	k := n + len(it.View.Key)
	f.ID, f.Value = g.bytes[n:k:k], g.bytes[k:len(g.bytes):len(g.bytes)]
	if f.View, err = feature.Open(f.Value); err == nil {
		g.found = append(g.found, f)
	}
	return true, err
}
