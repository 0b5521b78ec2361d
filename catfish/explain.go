package catfish

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/policy"
	"github.com/catfish-index/catfish/rstar"
)

// Explanation says how one search was carried out, and why. A search that was repeated
// on a new connection, or fell back to fast messaging, shows the cost of all attempts.
type Explanation struct {
	Transport string `json:"transport"`
	Policy    string `json:"policy"`
	Path      string `json:"path"` // chosen
	Why       string `json:"why"`
	FellBack  bool   `json:"fell_back"` // offloading failed; ended by fast messaging
	Retried   int    `json:"retried"`   // times that it began again on a new connection

	// What cached nodes showed before the choice; nil without a cache.
	Estimate *Estimate `json:"estimate,omitempty"`

	Results     int    `json:"results"`
	RoundTrips  uint64 `json:"round_trips"`
	Reads       uint64 `json:"reads"`        // RDMA Reads, lines of cached nodes included
	CachedNodes uint64 `json:"cached_nodes"` // used instead of read
	Repairs     uint64 `json:"repairs"`      // of these, changed ones that were read again
	TornReads   uint64 `json:"torn_reads"`
	Restarts    uint64 `json:"restarts"`
	Bytes       uint64 `json:"bytes"` // read, sent and received

	// Of a Get: kept references that answered it, and invalid ones.
	PointerHits    uint64 `json:"pointer_hits,omitempty"`
	PointerInvalid uint64 `json:"pointer_invalid,omitempty"`

	// Of an answer that the client fetches, with policy fetch: RDMA Reads, which are not
	// counted above, and those of them that found nothing. If all did, or there were
	// none, the server wrote the answer. RDMA Reads of the client's other in-flight calls
	// are counted here, too.
	AnswerReads   uint64 `json:"answer_reads,omitempty"`
	AnswersMissed uint64 `json:"answers_missed,omitempty"`

	// Shard that has the key, nil: the collection is not divided.
	Shard *ShardAt `json:"shard,omitempty"`

	Took  time.Duration `json:"took_ns"`
	Steps []Step        `json:"steps"`
}

// Step is a part of a search, and the time that passed in it.
type Step struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took_ns"`
}

// explaining is an Explanation that is being made.
type explaining struct {
	Explanation
	last time.Time // end of the last step
}

// Explain does what SearchAppend does, and explains the search.
func (c *Client) Explain(ctx context.Context, r rstar.Rect, limit int) ([]rstar.Item, *Explanation, error) {
	if err := r.Validate(); err != nil {
		return nil, nil, err
	}
	x, done := c.conn.explain(c.conn.engine.Policy())
	q := queries.Get().(*boxQuery)
	defer q.release()
	q.kind, q.rect, q.limit, q.explain = kindSearch, r, max(limit, 0), x
	if err := c.run(ctx, q); err != nil {
		return nil, &x.Explanation, err
	}
	done()
	x.Results = len(q.items)
	return q.items, &x.Explanation, nil
}

// explain begins an explanation. done notes what passed until then.
func (c *connection) explain(policy string) (x *explaining, done func()) {
	began, n := time.Now(), &c.counters.fetched
	reads, missed := n.Reads.Load(), n.Vain.Load()
	x = &explaining{Explanation{Policy: policy}, began}
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
	x.Steps = append(x.Steps, Step{name, now.Sub(x.last)})
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
	x.Bytes += uint64(sent + received + 2*frameBytes)
}

// walked notes a walk's two steps.
func (x *explaining) walked(own time.Duration) {
	x.step("post reads and wait for them")
	last := &x.Steps[len(x.Steps)-1]
	last.Took -= own
	x.Steps = append(x.Steps, Step{"look at nodes", own})
}

// shard notes where the key is.
func (x *explaining) shard(o *openSlab) {
	if x != nil {
		x.Shard = o.shardAt()
	}
}
