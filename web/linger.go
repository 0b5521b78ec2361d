package web

import (
	"io"
	"net/http"
	"time"
)

// Errors of requests that are still being sent
//
// Who is refused may be in the middle of a long body, and many clients read the answer
// only after it. If the connection is closed with bytes in it that nobody has read, it
// is reset, and the client loses the answer (RFC 9112, section 9.6). So what still comes
// is read and dropped, within bounds. Over HTTP/2 a stream ends without that.

const (
	// lingerBytes is how much of a body is dropped.
	lingerBytes = 256 << 20
	// lingerStep is what must come within Options.IdleTimeout.
	lingerStep = 1 << 20
)

// linger lets the client of an error send the rest of its body.
func (q *request) linger() {
	late := q.w.status == http.StatusRequestTimeout // Nothing came for long enough.
	waits := q.r.Header.Get("Expect") != ""         // It has not begun to send.
	if q.r.ProtoMajor != 1 || q.r.Body == nil || q.r.Body == http.NoBody || late || waits {
		return
	}
	for _, part := range []*int64{&q.holds.body, &q.holds.search, &q.holds.ids, &q.holds.answer, &q.holds.coded} {
		_ = q.hold(part, 0) // What is given back is never refused.
	}
	c := http.NewResponseController(q.w)
	if c.Flush() != nil {
		return
	}
	end := time.Now().Add(q.o.RequestTimeout)
	for range lingerBytes / lingerStep {
		deadline := time.Now().Add(q.o.IdleTimeout)
		if end.Before(deadline) {
			deadline = end
		}
		_ = c.SetReadDeadline(deadline)
		if _, err := io.CopyN(io.Discard, q.r.Body, lingerStep); err != nil {
			_ = c.SetReadDeadline(time.Time{}) // as body does at the end
			return
		}
	}
}
