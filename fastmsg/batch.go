package fastmsg

// Requests that a worker finds in the same turn, from one connection or from
// several, may be served together:
//
//	ring A   a1 a2 w a3        batch  a1 a2 | b1 c1 a3
//	ring B   b1                              ^ w is served alone, after
//	ring C   c1                                the requests of A before it
//
// A request in the batch stays in its ring until it is served. If it cannot
// be served, because an earlier answer has filled the client's ring, the
// worker takes it up again when there is room. So, as without batches, the
// requests of a connection are served and answered in order, and the memory
// that the server needs for the connection is bounded.

// BatchHandler is a Handler that serves some requests faster together than
// one by one, such as searches whose waits for memory overlap.
type BatchHandler interface {
	Handler
	// Batches reports whether a request may be served by ServeBatch. It
	// is called only for payloads of at most BatchPayload bytes.
	Batches(m Message) bool
	// ServeBatch serves the first n of reqs, of which there are at least
	// two, as Serve would serve each, and returns n, which must not be 0.
	// The others are passed to the next call. The answers of one call may
	// all wait for the same client, so the handler must bound their size,
	// by a smaller n. Payloads are valid during the call only.
	ServeBatch(reqs []Request) (n int)
}

// TurnHandler is a Handler that defers work until all requests of a turn were
// served: for requests whose answers come later (Conn.Later) and are cheaper to
// find together.
type TurnHandler interface {
	Handler
	// TurnEnds is called by the worker's goroutine after the requests of a turn,
	// before any other method. It reports whether there was work.
	TurnEnds() bool
}

// Request is one request of a batch.
type Request struct {
	Conn *Conn
	Message
	size uint64 // in its ring, including padding before it
}

const (
	// maxBatch bounds how long the first request of a batch waits for the
	// last: 64 small searches take 13 us, less than a wake-up. Larger
	// batches gain nothing (BenchmarkSearchMany in package rstar).
	maxBatch = 64
	// BatchPayload is the largest payload, in bytes, of a request in a
	// batch: one cache line, enough for any small request.
	BatchPayload = 64
)

// batch is what a worker has collected.
type batch struct {
	n     int
	reqs  [maxBatch]Request
	bytes [maxBatch][BatchPayload]byte
	conns []*Conn // the connections of these requests, each once
}

// copyPayload copies a payload to the place for the next request's payload.
func (b *batch) copyPayload(p []byte) []byte {
	return b.bytes[b.n][:copy(b.bytes[b.n][:], p)]
}

// add adds a request, and reports whether the batch is full then.
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

// servable drops the requests whose connections take no answers at present.
func servable(reqs []Request) []Request {
	left := reqs[:0]
	for _, r := range reqs {
		if r.Conn.takesAnswers() {
			left = append(left, r)
		}
	}
	return left
}
