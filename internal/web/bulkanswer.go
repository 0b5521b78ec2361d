package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/store"
)

// Results of an upload
//
// The answer is a document with numbers and the first errors, sent when all is stored. A
// client that accepts application/x-ndjson instead gets a line for each feature as soon
// as it is durable, and a line with the numbers at the end. It must read while it sends:
// the server keeps no more than a batch of lines.

// uploaded counts the results of an upload.
type uploaded struct {
	Received int `json:"received"`
	Created  int `json:"created"`
	Replaced int `json:"replaced"`
	Rejected int `json:"rejected"`
	// Errors are the first errors.
	Errors []rejected `json:"errors,omitempty"`
}

type rejected struct {
	Index int    `json:"index"` // index in the upload, from 0
	ID    string `json:"id,omitempty"`
	Error string `json:"error"`
}

const (
	// toldErrors is the number of errors in the document: 80 KB of the longest.
	toldErrors = 100
	// maxReason bounds the text of one error.
	maxReason = 400
)

// results collects and sends the results of an upload.
type results struct {
	*uploaded
	q     *request
	lines bool
	begun bool   // some lines were sent
	out   []byte // lines to send
}

func (r *results) begin(q *request) {
	r.uploaded, r.q = &uploaded{}, q
	for part := range strings.SplitSeq(strings.Join(q.r.Header.Values("Accept"), ","), ",") {
		if of, quality, ok := acceptOf(part); ok && quality > 0 && of == typeNDJSON {
			r.lines = true // A client that accepts anything gets the document.
		}
	}
}

// stored records a feature that is durable.
func (r *results) stored(index int, id string, s store.Stored) error {
	status := "created"
	if s.Replaced {
		status = "replaced"
		r.Replaced++
	} else {
		r.Created++
	}
	if !r.lines {
		return nil
	}
	r.out = strconv.AppendInt(append(r.out, `{"index":`...), int64(index), 10)
	r.out = appendText(append(r.out, `,"id":`...), id)
	r.out = append(append(append(r.out, `,"status":"`...), status...), `","revision":`...)
	return r.line(append(strconv.AppendUint(r.out, s.Revision, 10), '}'))
}

// reject records a feature that was left out.
func (r *results) reject(index int, id string, err error) error {
	r.Rejected++
	e := rejected{index, id, clip(withoutPackages(err.Error()), maxReason)}
	if !r.begun && len(r.Errors) < toldErrors { // If no line was sent, the answer is a document.
		r.Errors = append(r.Errors, e)
	}
	if !r.lines {
		return nil
	}
	r.out = strconv.AppendInt(append(r.out, `{"index":`...), int64(index), 10)
	if id != "" {
		r.out = appendText(append(r.out, `,"id":`...), id)
	}
	r.out = appendText(append(r.out, `,"status":"error","error":`...), e.Error)
	return r.line(append(r.out, '}'))
}

func (r *results) line(out []byte) error {
	out = append(out, '\n')
	if r.out = out; len(r.out) >= chunk {
		return r.tell()
	}
	return nil
}

// tell writes the pending lines.
func (r *results) tell() error {
	if len(r.out) == 0 {
		return nil
	}
	q, c := r.q, http.NewResponseController(r.q.w)
	if err := q.holdBody(r.out); err != nil {
		return err
	}
	q.turns.End() // The write may block on the client.
	if !r.begun {
		r.begun = true
		_ = c.EnableFullDuplex() // Only HTTP/1.1 needs it: other protocols are always full duplex.
		h := q.w.Header()
		h.Set("Content-Type", typeNDJSON)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		q.w.WriteHeader(http.StatusOK)
	}
	_ = c.SetWriteDeadline(time.Now().Add(q.o.IdleTimeout))
	_, err := q.w.Write(r.out)
	if err == nil {
		err = c.Flush()
	}
	r.out = r.out[:0]
	if err != nil {
		panic(http.ErrAbortHandler) // The client has disconnected, or does not read.
	}
	_ = c.SetWriteDeadline(time.Time{})
	return context.Cause(q.ctx)
}

// end sends the remaining results, and the reason if the upload ended early.
func (r *results) end(err error) error {
	if err == nil && !r.begun && r.Rejected > 0 && r.Rejected == r.Received {
		err = &statusError{http.StatusUnprocessableEntity, "nothing was stored: all features are bad, see errors"}
	}
	if err != nil && !r.begun {
		r.out = nil
		return &uploadError{err, r.uploaded}
	}
	if r.lines {
		r.Errors = nil
	}
	last := struct {
		*uploaded
		Problem *problem `json:"problem,omitempty"`
	}{uploaded: r.uploaded}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			panic(http.ErrAbortHandler) // The client has disconnected.
		}
		p := problemOf(err)
		last.Problem = &p
		if p.Status == http.StatusInternalServerError {
			r.q.o.Logger.Warn("HTTP upload failed", "path", clip(r.q.r.URL.Path, maxValue), "err", err)
			p.Detail = "the server failed; its log says why"
		}
	}
	if !r.lines {
		return r.q.sendJSON(typeJSON, last)
	}
	text, err := marshal(last)
	if err != nil {
		return err
	}
	r.out = append(r.out, text...)
	_ = r.tell() // Nothing follows the lines.
	return nil
}

// uploadError says why an upload ended, and what was stored before.
type uploadError struct {
	err error
	*uploaded
}

func (e *uploadError) Error() string {
	if n := e.Created + e.Replaced; n > 0 {
		return fmt.Sprintf("%v; %d features were stored before, and stay", e.err, n)
	}
	return e.err.Error()
}

func (e *uploadError) Unwrap() error { return e.err }
