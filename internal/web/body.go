package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// body reads the body of a request. The budget counts it until the request ends.
func (q *request) body() ([]byte, error) {
	limit := q.o.MaxBodyBytes
	if q.r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	body := http.MaxBytesReader(q.w, q.r.Body, limit)
	var b []byte
	c := http.NewResponseController(q.w)
	for {
		if cap(b)-len(b) < 512 {
			size := max(4<<10, 2*cap(b))
			if err := q.hold(&q.holds.body, int64(size)*decoded); err != nil {
				return nil, err
			}
			b = append(make([]byte, 0, size), b...)
		}
		_ = c.SetReadDeadline(time.Now().Add(q.o.IdleTimeout))
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			// net/http keeps reading, and would take the deadline for the client's end.
			_ = c.SetReadDeadline(time.Time{})
			return b, nil
		}
		var large *http.MaxBytesError
		switch {
		case err == nil:
		case errors.As(err, &large):
			return nil, err
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, &statusError{http.StatusRequestTimeout, fmt.Sprintf("nothing of the body came for %v", q.o.IdleTimeout)}
		default:
			return nil, &statusError{http.StatusBadRequest, "the body is not whole: " + err.Error()}
		}
	}
}

// bodies pools the buffers of answers. Large ones are left to the garbage collector.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

const keptBody = 1 << 20

func keepBody(b *[]byte) {
	if cap(*b) <= keptBody {
		*b = (*b)[:0]
		bodies.Put(b)
	}
}

// send writes an answer, compressed if that makes it smaller. The budget counts the
// answer until the client has taken it.
func (q *request) send(status int, contentType string, body []byte) error {
	if err := q.believed(status); err != nil {
		return err
	}
	if compressible(contentType) {
		q.varyByCoding()
		if c := q.accepted().best(len(body)); c != identity {
			out := bodies.Get().(*[]byte)
			defer keepBody(out)
			if q.compress(c, out, body) {
				return q.sendCoded(status, contentType, c, *out)
			}
		}
	}
	return q.sendCoded(status, contentType, identity, body)
}

// believed returns an error instead of an answer that may be old: the server is a member of
// a group, was its primary when the request began, and may be it no longer.
func (q *request) believed(status int) error {
	if status >= http.StatusBadRequest {
		return nil
	}
	return q.reading.Err()
}

// sendCoded writes an answer with a given coding.
func (q *request) sendCoded(status int, contentType string, c coding, body []byte) error {
	if err := q.believed(status); err != nil {
		return err
	}
	h := q.w.Header()
	if contentType == typeGeoJSON {
		h["Content-Type"] = geoJSONHeader
	} else {
		h.Set("Content-Type", contentType)
	}
	if c != identity {
		h.Set("Content-Encoding", c.String())
		if tag := h.Get("ETag"); tag != "" {
			h.Set("ETag", withCoding(tag, c))
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	q.w.WriteHeader(status)
	if q.r.Method == http.MethodHead {
		return nil
	}
	rc := http.NewResponseController(q.w)
	http1 := q.conn != nil && q.r.ProtoMajor == 1
	// Over TLS the reading goroutine writes, too: key updates and alerts.
	if http1 && q.r.TLS == nil && len(body) <= gathered {
		return q.sendAtOnce(rc, body)
	}
	for len(body) > 0 {
		n := min(chunk, len(body))
		if !http1 { // HTTP/2 bounds its writes itself.
			_ = rc.SetWriteDeadline(time.Now().Add(q.o.IdleTimeout))
		}
		if _, err := q.w.Write(body[:n]); err != nil {
			return nil //nolint:nilerr // The client has disconnected: no one can read an error.
		}
		if body = body[n:]; len(body) > 0 && errors.Is(context.Cause(q.ctx), limits.ErrCut) {
			panic(http.ErrAbortHandler) // Other requests get the memory that it held.
		}
	}
	return nil
}

var geoJSONHeader = []string{typeGeoJSON}

// gathered is the largest body that is copied, to be sent with its headers in one
// write. It is part of requestBytes.
const gathered = 16 << 10

// sendAtOnce sends headers and body in one write.
func (q *request) sendAtOnce(rc *http.ResponseController, body []byte) error {
	buffer := bodies.Get().(*[]byte)
	q.conn.gather(*buffer)
	_, err := q.w.Write(body)
	if err == nil {
		err = rc.Flush()
	}
	var failed error
	if *buffer, failed = q.conn.release(); err != nil || failed != nil {
		q.conn.Close() // The client has disconnected: no error can reach it.
	}
	keepBody(buffer)
	return nil
}
