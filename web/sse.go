package web

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish/access"
)

// Server-sent events (HTML, section 9.2)
//
// Such an answer has no end of its own. What bounds it:
//
//   - it counts in a budget of streams besides that of bytes, and is cut there if
//     others need the place
//   - a client that takes nothing of a write for IdleTimeout loses the stream
//   - a client that is gone is found out by the next write: there is one at least
//     every eventsInterval
//   - it ends with its key, and when the server stops
//
// It has no timeout. Before the server ends a stream it says after how long the
// client may come back, with a part by chance, so that not all come at once.

const (
	typeEvents = "text/event-stream"
	// eventsInterval is after how long something is sent in any case. Proxies
	// close what is silent for 30 to 60 s.
	eventsInterval = 15 * time.Second
	// comeBack is the least time until a client is back, comeBackSpread what is
	// added to it by chance.
	comeBack, comeBackSpread = time.Second, 2 * time.Second
)

// errStopping ends streams.
var errStopping = fmt.Errorf("the server is stopping: %w", http.ErrServerClosed)

// stream is serve for answers without an end: nothing is timed, and Shutdown ends
// them.
func (s *Server) stream(p page) http.Handler { return s.within(0, p) }

// eventWriter writes events to one client. Only its request's goroutine uses it.
type eventWriter struct {
	*request
	batch []byte
	torn  bool // the client has a part of batch
	close func()
}

// takePlace takes a place among the requests that may last as long as they like. They
// end with their keys, and when the server stops. leave gives the place back.
func (q *request) takePlace() (leave func(), err error) {
	place := q.streams.Open(q.source, q.end)
	if err := place.Take(1); err != nil {
		place.Close()
		return nil, err
	}
	undo := []func() bool{context.AfterFunc(q.stopping, func() { q.end(errStopping) })}
	if q.who != nil {
		// The error is seen by nobody: the client learns it when it comes back.
		undo = append(undo, q.who.OnEnd(func() { q.end(fmt.Errorf("%w: the key has ended", access.ErrUnauthenticated)) }))
	}
	return func() {
		for _, f := range undo {
			f()
		}
		place.Close()
	}, nil
}

// newEventWriter takes a place among the streams. Nothing is answered yet: until
// begin, errors are problems as those of other requests are. Close it in any case.
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

// accepts reports whether an Accept header has a type.
func accepts(header, t string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if of, quality, ok := acceptOf(part); ok && quality > 0 && covers(of, t) {
			return true
		}
	}
	return false
}

// begin answers that events follow.
func (e *eventWriter) begin() {
	e.endless = true
	h := e.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events until there are 4 KB.
	// HTTP/2 ends a stream at such a time, whether it reads or not; HTTP/1 takes it
	// for the client's end.
	_ = http.NewResponseController(e.w).SetReadDeadline(time.Time{})
	e.w.WriteHeader(http.StatusOK)
}

// event appends an event to what flush writes. data appends its text, which is
// JSON; id, if there is one, is what a client that comes back says it has.
func (e *eventWriter) event(name, id string, data func([]byte) []byte) error {
	b := e.batch
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(append(append(b, "event: "...), name...), "\ndata: "...)
	at := len(b)
	b = data(b)
	// A line's end would be the data's end. In JSON one stands between tokens only,
	// where a space means the same.
	for i := at; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' '
		}
	}
	b = append(b, "\n\n"...)
	e.batch = b
	return e.holdBody(e.batch)
}

// flush writes the events to the client, and returns when it has taken them, or why
// it has not.
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
	_ = c.SetWriteDeadline(time.Time{}) // HTTP/2 would end the stream then, though nothing is written.
	e.batch, e.torn = nil, false
	return e.hold(&e.holds.answer, 0)
}

// leave asks a client that is still there to come back later.
func (e *eventWriter) leave() {
	if e.torn || e.r.Context().Err() != nil {
		return
	}
	wait := comeBack + rand.N(comeBackSpread)
	_ = http.NewResponseController(e.w).SetWriteDeadline(time.Now().Add(e.o.IdleTimeout))
	_, _ = fmt.Fprintf(e.w, "retry: %d\n\n", wait.Milliseconds()) // Nothing follows it.
}
