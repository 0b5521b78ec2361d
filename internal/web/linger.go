package web

import (
	"io"
	"net/http"
	"time"
)

// Errors of requests that are still being sent
//
// A refused client may be in the middle of a long body, and many clients read the answer
// only after the body. If the connection is closed with unread bytes in it, it is reset,
// and the client loses the answer (RFC 9112, section 9.6). So the server reads and drops
// the rest of the body, within bounds. Over HTTP/2 a stream ends without that.

const (
	// lingerBytes is the most that is dropped of a body.
	lingerBytes = 256 << 20
	// lingerStep must arrive within each Options.IdleTimeout.
	lingerStep = 1 << 20
)

// linger reads and drops the rest of the body after an error.
func (q *request) linger() {
	late := q.w.status == http.StatusRequestTimeout // Nothing came within the time limit.
	waits := q.r.Header.Get("Expect") != ""         // The client sends nothing before 100 Continue.
	if q.r.ProtoMajor != 1 || q.r.Body == nil || q.r.Body == http.NoBody || late || waits {
		return
	}
	for _, part := range []*int64{&q.holds.body, &q.holds.search, &q.holds.ids, &q.holds.answer, &q.holds.coded} {
		_ = q.hold(part, 0) // Releasing memory never fails.
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
