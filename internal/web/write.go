package web

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// Writes (Part 4)
//
//	POST   /items       creates a feature, with its own id or a new one; or many
//	                    (bulk.go)
//	PUT    /items/{id}  creates or replaces the feature
//	PATCH  /items/{id}  changes properties and the geometry (RFC 7396)
//	DELETE /items/{id}
//
// If-Match and If-None-Match: * are judged atomically with the write (preconditions.go).

// encoded is a feature in its bytes, ready to be written.
type encoded struct {
	id    string // empty: the body has no id
	value []byte
}

// featureIn reads the feature in the body.
func (q *request) featureIn(c whole.Collection) (e encoded, err error) {
	if err := q.mediaType("POST and PUT want", typeGeoJSON, typeJSON); err != nil {
		return e, err
	}
	body, err := q.body()
	if err != nil {
		return e, err
	}
	if e, err = q.encode(c, body); err != nil {
		return e, fmt.Errorf("the body: %w", err)
	}
	return e, nil
}

// encode decodes a feature's text and encodes it for the store.
func (q *request) encode(c whole.Collection, text []byte) (e encoded, err error) {
	f, err := feature.Decode(text, feature.Options{Space: c.Options().Space, MaxBytes: int(q.o.MaxBodyBytes)})
	if err != nil {
		return e, err
	}
	e.id = f.ID
	e.value, err = feature.AppendZ(nil, f.Geometry, f.Altitudes, f.Properties)
	return e, err
}

// mediaType returns an error unless the body is of one of the types.
func (q *request) mediaType(what string, want ...string) error {
	if c := q.r.Header.Get("Content-Encoding"); c != "" && !strings.EqualFold(c, "identity") {
		q.w.Header().Set("Accept-Encoding", "identity") // RFC 9110 section 15.5.16
		return &statusError{http.StatusUnsupportedMediaType, fmt.Sprintf("header Content-Encoding is %.100q: bodies are taken as they are", c)}
	}
	is, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	for _, w := range want {
		if err == nil && is == w {
			return nil
		}
	}
	if q.r.Method == http.MethodPatch {
		q.w.Header().Set("Accept-Patch", strings.Join(want, ", "))
	}
	return &statusError{http.StatusUnsupportedMediaType,
		fmt.Sprintf("header Content-Type is %.100q: %s %s", q.r.Header.Get("Content-Type"), what, strings.Join(want, " or "))}
}

// writable returns the path's collection, for a key that may write, and the expiry of
// what is written; 0: not given.
func (q *request) writable() (c whole.Collection, expires int64, err error) {
	if c, err = q.find(access.Write); err != nil {
		return c, 0, err
	}
	known := "none"
	if q.r.Method != http.MethodDelete {
		known = "ttl"
		if expires, err = q.ttl(); err != nil {
			return c, 0, err
		}
	}
	if err := q.params.end(known); err != nil {
		return c, 0, err
	}
	if q.r.Method == http.MethodDelete { // A DELETE needs no room.
		return c, 0, nil
	}
	return c, expires, q.host.CheckMemory()
}

// put stores a feature and waits for its commit. A write is not rolled back: a client
// that disconnects meanwhile does not know whether it was made.
func (q *request) put(c whole.Collection, e encoded, expires int64, cond kv.Condition) (uint64, error) {
	if err := context.Cause(q.ctx); err != nil {
		return 0, err
	}
	type outcome struct {
		revision uint64
		err      error
	}
	made := make(chan outcome, 1)
	c.PutEncoded(e.id, e.value, expires, cond, func(revision uint64, err error) { made <- outcome{revision, err} })
	select {
	case o := <-made:
		return o.revision, o.err
	case <-q.ctx.Done():
		return 0, context.Cause(q.ctx)
	}
}

// create answers to POST of one feature.
func (q *request) create(c whole.Collection, e encoded, expires int64) error {
	if e.id == "" {
		e.id = c.NewID()
	}
	revision, err := q.put(c, e, expires, kv.Condition{IfAbsent: true})
	if err != nil {
		return err
	}
	q.created(c, e.id, revision)
	return nil
}

func (q *request) created(c whole.Collection, id string, revision uint64) {
	h := q.w.Header()
	h.Set("Location", q.at("", "collections", c.Name(), "items", id))
	h.Set("ETag", etag(c, id, revision, false))
	q.w.WriteHeader(http.StatusCreated)
}

// replace answers to PUT.
func (q *request) replace() error {
	c, expires, err := q.writable()
	if err != nil {
		return err
	}
	id := q.r.PathValue("featureId")
	if err := feature.CheckID(id); err != nil {
		return &statusError{http.StatusBadRequest, "the path: " + err.Error()}
	}
	e, err := q.featureIn(c)
	if err != nil {
		return err
	}
	if e.id != "" && e.id != id {
		return &statusError{http.StatusBadRequest, fmt.Sprintf("the body's id is %.200q, and that of the path %.200q", e.id, id)}
	}
	e.id = id
	var revision uint64
	was, err := q.under(c, id, true, func(_ *store.Found, cond kv.Condition) (err error) {
		revision, err = q.put(c, e, expires, cond)
		return err
	})
	if err != nil {
		return err
	}
	if was == 0 {
		q.created(c, id, revision)
		return nil
	}
	q.w.Header().Set("ETag", etag(c, id, revision, false))
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// remove answers to DELETE.
func (q *request) remove() error {
	c, _, err := q.writable()
	if err != nil {
		return err
	}
	id := q.r.PathValue("featureId")
	if _, err := q.under(c, id, false, func(_ *store.Found, cond kv.Condition) error {
		_, err := c.Delete(q.ctx, id, cond)
		return err
	}); err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
