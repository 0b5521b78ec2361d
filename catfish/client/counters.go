package client

import (
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
)

// counters of a client, shared by the Clients of all its collections.
type counters struct {
	fellBack                        atomic.Uint64
	reads, trips, bytesRead         atomic.Uint64
	bytesSent, bytesReceived        atomic.Uint64
	restarts, torn, cached, repairs atomic.Uint64
	// together counts fast searches that shared another one's round trip.
	together atomic.Uint64
	// pointerHits counts Gets by a kept reference, pointerInvalid kept references
	// that had become invalid.
	pointerHits, pointerInvalid atomic.Uint64
	retried, reconnects         atomic.Uint64
	fetched                     fetch.Counts
}

// Counters is what a client has done since Dial, all collections and
// connections together.
type Counters struct {
	FastSearches      uint64 `json:"fast_searches"`
	OffloadedSearches uint64 `json:"offloaded_searches"`
	FellBack          uint64 `json:"fell_back"`      // begun by offloading, ended by fast messaging
	Reads             uint64 `json:"reads"`          // RDMA Reads posted
	RoundTrips        uint64 `json:"round_trips"`    // of searches, by both paths
	BytesRead         uint64 `json:"bytes_read"`     // by RDMA Reads
	BytesSent         uint64 `json:"bytes_sent"`     // requests, with headers
	BytesReceived     uint64 `json:"bytes_received"` // answers, with headers
	Restarts          uint64 `json:"restarts"`       // of offloaded searches
	TornReads         uint64 `json:"torn_reads"`     // nodes read again
	CachedNodes       uint64 `json:"cached_nodes"`   // that offloaded searches used
	Repairs           uint64 `json:"repairs"`        // of these, changed ones that were read again
	Heartbeats        uint64 `json:"heartbeats"`     // taken from the mailbox
	Retried           uint64 `json:"retried"`        // operations repeated on a new connection
	Reconnects        uint64 `json:"reconnects"`
	// Of records: Gets, each of a key.
	FastGets       uint64 `json:"fast_gets"`
	OffloadedGets  uint64 `json:"offloaded_gets"`
	PointerHits    uint64 `json:"pointer_hits"`    // of these, by a kept reference: one read
	PointerInvalid uint64 `json:"pointer_invalid"` // kept references that had become invalid

	// Of answers to messages, with policy fetch: a Read may bring several.
	AnswerReads   uint64 `json:"answer_reads"`   // RDMA Reads
	AnswersMissed uint64 `json:"answers_missed"` // of these, that found nothing
	AnswerChanges uint64 `json:"answer_changes"` // times that the server began to write answers
	AnswerTrials  uint64 `json:"answer_trials"`  // times that a connection tried the other way of answers
	AnswerMoves   uint64 `json:"answer_moves"`   // times that it stayed with the other way

	Policy    PolicyState `json:"policy_state"`
	ServerCPU float64     `json:"server_cpu"` // last heartbeat's, 0..1
}

// Counters returns what the client has done so far.
func (c *Client) Counters() Counters {
	if k := c.conn.cluster; k != nil {
		return k.counters()
	}
	n, e := &c.conn.counters, &c.conn.engines
	engine := e[ofBoxes]
	load, state := engine.Last(c.conn.mailbox())
	fast, offloaded := engine.Finished(FastMessaging), engine.Finished(Offload)
	fastGets, offloadedGets := uint64(0), uint64(0)
	if e[ofRecords] != engine { // one of each kind
		fast, offloaded = fast+e[ofFeatures].Finished(FastMessaging), offloaded+e[ofFeatures].Finished(Offload)
		fastGets, offloadedGets = e[ofRecords].Finished(FastMessaging), e[ofRecords].Finished(Offload)
	}
	fastAll := fast + fastGets
	together := min(n.together.Load(), fastAll) // together may have grown since
	return Counters{
		FastSearches: fast, OffloadedSearches: offloaded, FellBack: n.fellBack.Load(),
		Reads: n.reads.Load(), RoundTrips: n.trips.Load() + fastAll - together, BytesRead: n.bytesRead.Load(),
		BytesSent: n.bytesSent.Load(), BytesReceived: n.bytesReceived.Load(),
		Restarts: n.restarts.Load(), TornReads: n.torn.Load(),
		CachedNodes: n.cached.Load(), Repairs: n.repairs.Load(),
		Heartbeats: engine.Heartbeats(), Retried: n.retried.Load(), Reconnects: n.reconnects.Load(),
		FastGets: fastGets, OffloadedGets: offloadedGets,
		PointerHits: n.pointerHits.Load(), PointerInvalid: n.pointerInvalid.Load(),
		AnswerReads: n.fetched.Reads.Load(), AnswersMissed: n.fetched.Vain.Load(), AnswerChanges: n.fetched.Changes.Load(),
		AnswerTrials: n.fetched.Trials.Load(), AnswerMoves: n.fetched.Moves.Load(),
		Policy: state, ServerCPU: load.CPU,
	}
}

func (n *counters) addOffload(st *offload.Stats) {
	n.reads.Add(st.Reads)
	n.trips.Add(st.RoundTrips)
	n.bytesRead.Add(st.Bytes)
	if st.Restarts > 0 {
		n.restarts.Add(st.Restarts)
	}
	if st.Cached > 0 {
		n.cached.Add(st.Cached)
	}
	if st.Repairs > 0 {
		n.repairs.Add(st.Repairs)
	}
	if st.Torn > 0 {
		n.torn.Add(st.Torn)
	}
}

func (n *counters) addPointers(hits, invalid uint64) {
	n.pointerHits.Add(hits)
	if invalid > 0 {
		n.pointerInvalid.Add(invalid)
	}
}

func (n *counters) addMessage(sent, received int) {
	n.bytesSent.Add(uint64(sent + wire.FrameBytes))
	n.bytesReceived.Add(uint64(received + wire.FrameBytes))
}
