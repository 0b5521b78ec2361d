package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// Many features at once
//
// POST of /items takes a FeatureCollection, or a sequence of texts: lines (NDJSON), or
// separated as in RFC 8142. The body may have any length, and is stored while it
// arrives:
//
//	read        up to 64 KiB, while the client sends the next into the socket
//	cut, check  feature by feature (split.go), sharing slots with other long requests
//	store       what was read, in batches: each is one commit, and durable then
//	report      the results of the batch (bulkanswer.go)
//
// Invalid features are left out, and reported. Nothing is rolled back: what was stored
// before an upload ended stays, and a client that sends the upload again overwrites it.
//
// In memory are one feature's text, one batch and its results. An upload has no time
// limit, so it takes one of the places of event streams. It ends when the client sends
// nothing for IdleTimeout, or when it does not read the results that it requested.

const (
	typeNDJSON = "application/x-ndjson"
	typeSeq    = "application/geo+json-seq"

	// bulkBatch and bulkBytes bound a batch. With 256 features a commit of 2 ms costs
	// each 8 us, as much as checking it does; beyond 1 MiB more gains nothing.
	bulkBatch, bulkBytes = 256, 1 << 20
)

// post answers to POST of features.
func (q *request) post() error {
	c, expires, err := q.writable()
	if err != nil {
		return err
	}
	if err := q.mediaType("POST wants", typeGeoJSON, typeJSON, typeSeq, typeNDJSON); err != nil {
		return err
	}
	u := &upload{request: q, c: c, expires: expires}
	u.split = splitter{from: u, most: int(q.o.MaxBodyBytes), hold: func(n int) error { u.buffer = int64(n); return u.holdText(0) }}
	next := u.split.element
	switch t, _, _ := mime.ParseMediaType(q.r.Header.Get("Content-Type")); t {
	case typeSeq:
		next = func() ([]byte, error) { return u.split.upTo(recordSeparator) }
	case typeNDJSON:
		next = func() ([]byte, error) { return u.split.upTo('\n') }
	default:
		many, err := u.split.begin()
		if err != nil {
			return err
		}
		if !many {
			return u.one()
		}
	}
	return u.many(next)
}

// upload is a POST of features.
type upload struct {
	*request
	c       whole.Collection
	expires int64
	split   splitter
	buffer  int64 // size of its buffer
	done    bool  // the whole body was read

	batch []store.EncodedFeature
	next  []received // in the upload's order: the batch's features, and bad ones
	bytes int64      // size of the batch

	told results
}

// received is a feature whose result was not reported yet.
type received struct {
	index int
	id    string
	bad   error // nil: the feature is in the batch
}

// holdText holds memory for the buffer, and for one text while it is decoded.
func (u *upload) holdText(n int) error {
	return u.hold(&u.holds.body, u.buffer+int64(n)*decoded)
}

// one stores the whole body as one feature.
func (u *upload) one() error {
	text, err := u.split.whole()
	if err != nil {
		return err
	}
	if err := u.holdText(len(text)); err != nil {
		return err
	}
	e, err := u.encode(u.c, text)
	if err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	return u.create(u.c, e, u.expires)
}

// many stores features until next has no more, or an error ends the upload.
func (u *upload) many(next func() ([]byte, error)) error {
	leave, err := u.takePlace()
	if err != nil {
		return err
	}
	defer leave()
	if u.late != nil {
		u.late.Stop()
	}
	u.endless = true
	// The deadlines of bounded requests (deadlines) would end this one.
	rc := http.NewResponseController(u.w)
	_ = rc.SetWriteDeadline(time.Time{}) // A test's recorder has none.
	// When the request's context ends, a pending read returns at once.
	defer context.AfterFunc(u.ctx, func() { _ = rc.SetReadDeadline(time.Now()) })()
	u.told.begin(u.request)
	u.turns.Of, u.turns.Ctx, u.turns.Source = u.host, u.ctx, u.source
	defer u.turns.End()
	for err == nil {
		var text []byte
		if text, err = next(); err == nil || errors.Is(err, errTooLongText) {
			err = u.add(text, err)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		err = &statusError{http.StatusRequestEntityTooLarge, fmt.Sprintf("feature %d, or what is before the features, has more than %d bytes", u.told.Received, large.Limit)}
	}
	if u.ctx.Err() == nil {
		err = errors.Join(err, u.store()) // Store what precedes an error, too.
	}
	u.turns.End()
	return u.told.end(err)
}

// add decodes a text and adds it to the batch. A bad feature is not an error.
func (u *upload) add(text []byte, bad error) error {
	text = bytes.Trim(text, " \t\r\n")
	if len(text) == 0 && bad == nil {
		return nil // a blank line, or the text before the first separator
	}
	r := received{index: u.told.Received, bad: bad}
	u.told.Received++
	if bad != nil {
		r.bad = fmt.Errorf("%w: more than %d bytes", bad, u.split.most)
	} else if err := u.holdText(len(text)); err != nil {
		return err
	}
	if r.bad == nil {
		var e encoded
		e, r.bad = u.encode(u.c, text)
		if r.id = e.id; r.bad == nil {
			if r.id == "" {
				r.id = u.c.NewID()
			}
			u.batch = append(u.batch, store.EncodedFeature{ID: r.id, Value: e.value, Expires: u.expires})
			u.bytes += int64(len(e.value))
		}
	}
	u.next = append(u.next, r)
	u.bytes += int64(len(r.id))
	if err := u.hold(&u.holds.search, u.bytes); err != nil {
		return err
	}
	if len(u.next) == bulkBatch || u.bytes >= bulkBytes {
		return u.store()
	}
	return u.turns.Tick()
}
