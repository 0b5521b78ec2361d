package client

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// explaining is an Explanation that is being made.
type explaining struct {
	model.Explanation
	last time.Time // end of the last step
}

// Explain does what SearchAppend does, and explains the search.
func (c *Client) Explain(ctx context.Context, area rstar.Rect, limit int) ([]rstar.Item, *model.Explanation, error) {
	if err := area.Validate(); err != nil {
		return nil, nil, err
	}
	if r := c.severalBoxes(); r != nil {
		return r.explain(ctx, area, limit)
	}
	x, done := c.conn.explain(c.conn.engines[ofBoxes].Policy())
	q := queries.Get().(*boxQuery)
	defer q.release()
	q.kind, q.rect, q.limit, q.explain = wire.KindSearch, area, max(limit, 0), x
	if err := c.run(ctx, q); err != nil {
		return nil, &x.Explanation, err
	}
	done()
	x.Results = len(q.items)
	return q.items, &x.Explanation, nil
}

// ofGroup adds what a group has done.
func (x *explaining) ofGroup(name string, of *model.Explanation) {
	if x.Groups == nil {
		x.Groups = map[string]*model.Explanation{}
	}
	x.Groups[name] = of
	x.RoundTrips, x.Reads, x.Bytes = x.RoundTrips+of.RoundTrips, x.Reads+of.Reads, x.Bytes+of.Bytes
}

// explain begins an explanation. done notes what passed until then.
func (c *connection) explain(policy string) (x *explaining, done func()) {
	began, n := time.Now(), &c.counters.fetched
	reads, missed := n.Reads.Load(), n.Vain.Load()
	x = &explaining{model.Explanation{Policy: policy}, began}
	return x, func() {
		x.Took = time.Since(began)
		x.AnswerReads, x.AnswersMissed = n.Reads.Load()-reads, n.Vain.Load()-missed
	}
}

// step notes that a part of the search has ended. A nil x takes no notes.
func (x *explaining) step(name string) {
	if x == nil {
		return
	}
	now := time.Now()
	x.Steps = append(x.Steps, model.Step{Name: name, Took: now.Sub(x.last)})
	x.last = now
}

// chose notes the choice, and what offloading would have read as far as
// cached nodes show, whether or not the policy looked at them.
func (x *explaining) chose(e *policy.Engine, s *session, q policy.Search, path Path) {
	if x == nil {
		return
	}
	x.step("choose")
	x.Transport, x.Path = s.transport, path.String()
	var est Estimate
	if q.Estimate(&est) {
		x.Estimate = &est
		x.step("estimate by cached nodes, for this report")
	}
	x.Why = e.Why()
	if path == Offload && !s.canOffload() {
		x.Why += "; but plain sockets carry no reads"
	}
}

// read notes the cost of reading the tree.
func (x *explaining) read(st *offload.Stats) {
	if x == nil {
		return
	}
	x.RoundTrips += st.RoundTrips
	x.Reads += st.Reads
	x.CachedNodes += st.Cached
	x.Repairs += st.Repairs
	x.TornReads += st.Torn
	x.Restarts += st.Restarts
	x.Bytes += st.Bytes
}

// pointers notes how many kept references answered and how many were invalid.
func (x *explaining) pointers(hits, invalid uint64) {
	if x == nil {
		return
	}
	x.PointerHits += hits
	x.PointerInvalid += invalid
}

// asked notes a request and its answer.
func (x *explaining) asked(sent, received int) {
	if x == nil {
		return
	}
	x.step("send the request and wait for the answer")
	x.RoundTrips++
	x.Bytes += uint64(sent + received + 2*wire.FrameBytes)
}

// walked notes a walk's two steps.
func (x *explaining) walked(own time.Duration) {
	x.step("post reads and wait for them")
	last := &x.Steps[len(x.Steps)-1]
	last.Took -= own
	x.Steps = append(x.Steps, model.Step{Name: "look at nodes", Took: own})
}

// shard notes where the key is.
func (x *explaining) shard(o *openSlab) {
	if x != nil {
		x.Shard = o.shardAt()
	}
}
