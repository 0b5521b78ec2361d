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

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/store"
)

// Many features at once
//
// POST of /items takes a FeatureCollection, or texts one after the other: by lines
// (NDJSON), or as RFC 8142 has them. The body may have any length, and is stored as it
// comes:
//
//	read        up to 64 KiB, while the client sends the next into the socket
//	cut, check  feature by feature (split.go), in turns with other long requests
//	store       what was read, in batches: each is one commit, and durable then
//	tell        the results of the batch (bulkanswer.go)
//
// What is not valid is left out, and told. Nothing is taken back: what was stored before
// an upload ends stays, and who sends it again replaces it.
//
// In memory are one feature's text, one batch and its results. An upload has no end in
// time; so it takes one of the places that streams of events have, and ends when nothing
// comes for IdleTimeout, or when the client takes nothing of what it asked to be told.

const (
	typeNDJSON = "application/x-ndjson"
	typeSeq    = "application/geo+json-seq"

	// bulkBatch and bulkBytes bound a batch. With 256 features a commit of 2 ms costs
	// each 8 us, as much as to check one; a batch of 1 MiB gains nothing by more.
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
	c       api.FeatureCollection
	expires int64
	split   splitter
	buffer  int64 // bytes of it
	done    bool  // the body was read

	batch []store.EncodedFeature
	next  []received // in the order of the upload: those of the batch, and bad ones
	bytes int64      // of the batch

	told results
}

// received is a feature of which nothing was told yet.
type received struct {
	index int
	id    string
	bad   error // nil: it is in the batch
}

// holdText holds the buffer, and a text while it is decoded.
func (u *upload) holdText(n int) error {
	return u.hold(&u.holds.body, u.buffer+int64(n)*decoded)
}

// one stores the feature that the whole body is.
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

// many stores features until next has no more.
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
	// What was set for requests of a bounded time (deadlines) would end this one.
	rc := http.NewResponseController(u.w)
	_ = rc.SetWriteDeadline(time.Time{}) // The recorder of a test has none.
	// Who ends the request does not wait until the client sends something.
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
		err = errors.Join(err, u.store()) // What precedes an error is stored, too.
	}
	u.turns.End()
	return u.told.end(err)
}

// add takes a text into the batch. A bad feature is no error.
func (u *upload) add(text []byte, bad error) error {
	text = bytes.Trim(text, " \t\r\n")
	if len(text) == 0 && bad == nil {
		return nil // a blank line, or what is before the first separator
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
