package model

import (
	"time"
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

	// Groups that answered together, nil: there is one. The numbers above are their sums.
	Groups map[string]*Explanation `json:"groups,omitempty"`

	Took  time.Duration `json:"took_ns"`
	Steps []Step        `json:"steps"`
}

// Step is a part of a search, and the time that passed in it.
type Step struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took_ns"`
}
