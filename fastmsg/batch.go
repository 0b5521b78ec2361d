package fastmsg

// Requests that a worker finds ready in one look, of one connection or of
// several, may be served together:
//
//	ring A   a1 a2 w a3        batch  a1 a2 | b1 c1 a3
//	ring B   b1                              ^ w is served alone, after
//	ring C   c1                                what A asked before it
//
// A request in the batch stays in its ring until it is served. If it
// cannot be, because an answer before it filled the client's ring, it is
// looked at again when there is room. So a connection's requests are
// served and answered in their order, and what it makes the server keep
// is bounded, as without batches.

// BatchHandler is a Handler that serves some requests faster together than
// one by one: searches, say, that wait for memory at the same time.
type BatchHandler interface {
	Handler
	// Batches reports whether a request may be served by ServeBatch. It
	// is asked only for payloads of at most BatchPayload bytes.
	Batches(m Message) bool
	// ServeBatch serves the first n of reqs, two or more, as Serve would
	// serve each; the others come again, so n must not be 0. The answers
	// of one call may all wait for the same client: the handler bounds
	// them, by a smaller n. Payloads are valid during the call only.
	ServeBatch(reqs []Request) (n int)
}

// Request is one request of a batch.
type Request struct {
	Conn *Conn
	Message
	size uint64 // in its ring, with padding before it
}

const (
	// maxBatch bounds how long the first request of a batch waits for the
	// last: 64 small searches take 13 us, less than a wake-up. More of
	// them gain nothing (rstar's BenchmarkSearchMany).
	maxBatch = 64
	// BatchPayload is the largest payload, in bytes, of a request in a
	// batch: one cache line, which any small question fits into.
	BatchPayload = 64
)

// batch is what a worker has collected.
type batch struct {
	n     int
	reqs  [maxBatch]Request
	bytes [maxBatch][BatchPayload]byte
	conns []*Conn // whose requests these are, each once
}

// copyPayload copies a payload to where the next request's belongs.
func (b *batch) copyPayload(p []byte) []byte {
	return b.bytes[b.n][:copy(b.bytes[b.n][:], p)]
}

// add reports whether the batch is full.
func (b *batch) add(r Request) (full bool) {
	b.reqs[b.n] = r
	b.n++
	return b.n == maxBatch
}

func (b *batch) reset() {
	clear(b.reqs[:b.n])
	clear(b.conns)
	b.n, b.conns = 0, b.conns[:0]
}

// servable drops the requests whose connections take no answers now.
func servable(reqs []Request) []Request {
	left := reqs[:0]
	for _, r := range reqs {
		if r.Conn.takesAnswers() {
			left = append(left, r)
		}
	}
	return left
}
