package web

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/access"
)

// Server-sent events (HTML, section 9.2)
//
// Such an answer has no end of its own. Its bounds:
//
//   - it counts in a budget of streams besides that of bytes, and is cut there if
//     others need the place
//   - a client that takes nothing of a write for IdleTimeout loses the stream
//   - the next write detects a client that has disconnected: there is at least one
//     write in each eventsInterval
//   - it ends with its key, and when the server stops
//
// It has no timeout. Before the server ends a stream it sends the delay after which the
// client may reconnect. Part of the delay is random, so that not all reconnect at once.

const (
	typeEvents = "text/event-stream"
	// eventsInterval is the longest time without a write. Proxies close connections
	// that are silent for 30 to 60 s.
	eventsInterval = 15 * time.Second
	// comeBack is the least delay before a client reconnects, comeBackSpread the random
	// part that is added.
	comeBack, comeBackSpread = time.Second, 2 * time.Second
)

// errStopping ends streams when the server stops.
var errStopping = fmt.Errorf("the server is stopping: %w", http.ErrServerClosed)

// stream is serve for answers without an end: they have no timeout, and Shutdown ends
// them.
func (s *Server) stream(p resource) http.Handler { return s.within(0, p) }

// eventWriter writes events to one client. Only its request's goroutine uses it.
type eventWriter struct {
	*request
	batch []byte
	torn  bool // the client has received a part of batch
	close func()
}

// takePlace takes a place among the requests without a time limit. They end with their
// keys, and when the server stops. leave releases the place.
func (q *request) takePlace() (leave func(), err error) {
	place := q.streams.Open(q.source, q.end)
	if err := place.Take(1); err != nil {
		place.Close()
		return nil, err
	}
	undo := []func() bool{context.AfterFunc(q.stopping, func() { q.end(errStopping) })}
	if q.who != nil {
		// No client sees this error: the client learns it when it reconnects.
		undo = append(undo, q.who.OnEnd(func() { q.end(fmt.Errorf("%w: the key has ended", access.ErrUnauthenticated)) }))
	}
	return func() {
		for _, f := range undo {
			f()
		}
		place.Close()
	}, nil
}

// newEventWriter takes a place among the streams. Nothing is sent so far: until begin,
// errors are problems like those of other requests. Always close it.
func (q *request) newEventWriter() (*eventWriter, error) {
	if accept := strings.Join(q.r.Header.Values("Accept"), ","); accept != "" && !accepts(accept, typeEvents) {
		return nil, &statusError{http.StatusNotAcceptable, fmt.Sprintf("header Accept is %.200q, and there is %s", accept, typeEvents)}
	}
	leave, err := q.takePlace()
	if err != nil {
		return nil, err
	}
	return &eventWriter{request: q, close: leave}, nil
}

// accepts reports whether an Accept header includes a type.
func accepts(header, t string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if of, quality, ok := acceptOf(part); ok && quality > 0 && covers(of, t) {
			return true
		}
	}
	return false
}

// begin sends the headers of an event stream.
func (e *eventWriter) begin() {
	e.endless = true
	h := e.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // Otherwise nginx buffers events up to 4 KB.
	// HTTP/2 ends a stream at its read deadline, even if nothing is read; HTTP/1 takes
	// the deadline for the client's end.
	_ = http.NewResponseController(e.w).SetReadDeadline(time.Time{})
	e.w.WriteHeader(http.StatusOK)
}

// event appends an event to the batch that flush writes. data appends its text, which
// is JSON; id, if not empty, is what the client sends when it reconnects.
func (e *eventWriter) event(name, id string, data func([]byte) []byte) error {
	b := e.batch
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(append(append(b, "event: "...), name...), "\ndata: "...)
	at := len(b)
	b = data(b)
	// A line break would end the data. In JSON it stands between tokens only, where a
	// space is equivalent.
	for i := at; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' '
		}
	}
	b = append(b, "\n\n"...)
	e.batch = b
	return e.holdBody(e.batch)
}

// flush writes the batch to the client, and returns when the client has taken it, or
// why it has not.
func (e *eventWriter) flush() error {
	c := http.NewResponseController(e.w)
	for b := e.batch; len(b) > 0; {
		n := min(chunk, len(b))
		e.torn = true
		_ = c.SetWriteDeadline(time.Now().Add(e.o.IdleTimeout))
		if _, err := e.w.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) > 0 && context.Cause(e.ctx) != nil {
			return context.Cause(e.ctx)
		}
	}
	if err := c.Flush(); err != nil {
		return err
	}
	_ = c.SetWriteDeadline(time.Time{}) // HTTP/2 would end the stream at the deadline, even if nothing is written.
	e.batch, e.torn = nil, false
	return e.hold(&e.holds.answer, 0)
}

// leave asks a client that is still connected to reconnect later.
func (e *eventWriter) leave() {
	if e.torn || e.r.Context().Err() != nil {
		return
	}
	wait := comeBack + rand.N(comeBackSpread)
	_ = http.NewResponseController(e.w).SetWriteDeadline(time.Now().Add(e.o.IdleTimeout))
	_, _ = fmt.Fprintf(e.w, "retry: %d\n\n", wait.Milliseconds()) // Nothing follows this.
}
