package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/store"
)

// resource is what is at a path, by method.
type resource struct {
	pattern string
	public  bool // needs no key: it reveals nothing of the stored data
	methods map[string]func(*request) error
}

// resources are all whose answers end.
func (s *Server) resources() []resource {
	get := func(f func(*request) error) map[string]func(*request) error {
		return map[string]func(*request) error{http.MethodGet: f}
	}
	all := []resource{
		{"/{$}", true, get((*request).landing)},
		{"/assets/{file}", true, get((*request).asset)},
		{"/conformance", true, get((*request).conformance)},
		{"/api", false, get((*request).api)},
		{"/collections", false, map[string]func(*request) error{
			http.MethodGet: (*request).collections, http.MethodPost: (*request).createCollection,
		}},
		{"/collections/{collectionId}", false, map[string]func(*request) error{
			http.MethodGet: (*request).collection, http.MethodPut: (*request).replaceCollection,
			http.MethodPatch: (*request).patchCollection, http.MethodDelete: (*request).dropCollection,
		}},
		{"/collections/{collectionId}/schema", false, get((*request).schema)},
		{"/collections/{collectionId}/queryables", false, get((*request).queryables)},
		{nearestPattern, false, get((*request).nearest)},
		{"/collections/{collectionId}/items", false, map[string]func(*request) error{
			http.MethodGet: (*request).items, http.MethodPost: (*request).post, http.MethodDelete: (*request).removeWhere,
		}},
		{"/collections/{collectionId}/items/{featureId}", false, map[string]func(*request) error{
			http.MethodGet: (*request).feature, http.MethodPut: (*request).replace,
			http.MethodPatch: (*request).patch, http.MethodDelete: (*request).remove,
		}},
		{"/tileMatrixSets", true, get((*request).tileMatrixSets)},
		{"/tileMatrixSets/" + tileMatrixSetID, true, get((*request).tileMatrixSet)},
		{"/collections/{collectionId}/tiles", false, get((*request).tilesets)},
		{"/collections/{collectionId}/tiles/" + tileMatrixSetID, false, get((*request).tileset)},
		{"/collections/{collectionId}/tiles/" + tileMatrixSetID + "/{tileMatrix}/{tileRow}/{tileCol}", false, get((*request).rowColumn)},
		{"/collections/{collectionId}/tiles/tile.json", false, get((*request).tileJSON)},
		{"/collections/{collectionId}/tiles/{z}/{x}/{y}", false, get((*request).xyz)},
		{countsPattern, false, get((*request).counts)},
	}
	if s.o.Engine != nil {
		all = append(all, engineResources...)
	}
	return all
}

// endless are the resources whose answers do not end.
func (s *Server) endless() []resource {
	all := []resource{{eventsPattern, false, map[string]func(*request) error{
		http.MethodGet: (*request).events, http.MethodPost: (*request).events,
	}}}
	if s.o.Engine != nil {
		all = append(all, engineStream)
	}
	return all
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	for _, p := range s.resources() {
		s.mux.Handle(p.pattern, s.serve(p))
		if items, ok := strings.CutSuffix(p.pattern, "{featureId}"); ok {
			// GDAL and OWSLib do not escape the slash of an id such as node/5.
			s.mux.Handle(items+"{featureId...}", s.serve(p))
		}
	}
	for _, p := range s.endless() {
		s.mux.Handle(p.pattern, s.stream(p))
	}
	s.probes()
	s.mux.Handle("/", s.serve(resource{"", true, nil}))
}

// ServeHTTP answers one request. After a chunked body over HTTP/1.1 it closes the
// connection: the request may have had a Content-Length, too, by which a proxy takes
// another part of the following bytes for the next request (RFC 9112, section 6.1).
// net/http removes that header before a handler sees it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		w.Header()["Connection"] = closing
	}
	s.mux.ServeHTTP(w, r)
}

// closing is a header's value.
var closing = []string{"close"}

func (s *Server) serve(p resource) http.Handler { return s.within(s.o.RequestTimeout, p) }

// within serves a page whose answer must be found within timeout; 0: no limit.
func (s *Server) within(timeout time.Duration, p resource) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recovered(r)
		q := &request{Server: s, r: r, begun: s.o.Now(), timeout: timeout, recorder: recorder{ResponseWriter: w}}
		q.w = &q.recorder
		if q.conn, _ = r.Context().Value(connKey{}).(*conn); q.conn != nil {
			q.source = q.conn.Source()
		} else {
			q.source = sourceOf(r)
		}
		defer func() {
			key := ""
			if q.who != nil {
				key = q.who.ID()
			}
			took := s.o.Now().Sub(q.begun)
			if s.o.Engine != nil && !q.endless {
				s.o.Engine.Observe(took, q.w.status >= http.StatusInternalServerError)
			}
			s.o.Observe(r.Context(), Observed{
				Method: r.Method, Route: strings.TrimSuffix(p.pattern, "{$}"), Status: q.w.status, Bytes: q.w.bytes,
				Took: took, Stream: q.endless, Key: key,
			})
		}()
		q.ctx, q.end = context.WithCancelCause(r.Context())
		defer q.end(nil)
		if timeout > 0 {
			// One context and a timer cost half of what two contexts do.
			q.late = time.AfterFunc(timeout, func() { q.end(&timeoutError{timeout}) })
			defer q.late.Stop()
		}
		q.account = s.answers.Open(q.source, q.end)
		defer q.account.Close()
		if err := q.run(p); err != nil {
			q.fail(err)
			q.linger()
		}
	})
}

// recovered ends the request of a handler that panicked, and logs the panic: net/http's
// own log is dropped (quiet).
func (s *Server) recovered(r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		s.o.Logger.Error("HTTP request failed", "method", r.Method, "path", clip(r.URL.Path, maxValue), "panic", v, "stack", string(debug.Stack()))
	}
	panic(http.ErrAbortHandler)
}

// timeoutError is the error of a search that exceeded its time limit.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the request took more than %v: ask for less, for a smaller area for example", e.limit)
}

func (q *request) run(p resource) error {
	q.deadlines()
	q.w.Header()["X-Content-Type-Options"] = nosniff
	if err := q.misdirected(); err != nil {
		return err
	}
	if q.allowOrigin(p) {
		return nil
	}
	if err := q.account.Take(requestBytes); err != nil {
		return err
	}
	if p.pattern == "" {
		return &statusError{http.StatusNotFound, "there is no such page; / leads to all there are"}
	}
	method := q.r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http drops the body.
	}
	if method == http.MethodOptions {
		q.w.Header().Set("Allow", p.allowed())
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	handle := p.methods[method]
	if handle == nil {
		q.w.Header().Set("Allow", p.allowed())
		return &statusError{http.StatusMethodNotAllowed, fmt.Sprintf("method %.20q, want one of %s", q.r.Method, p.allowed())}
	}
	if err := q.cross.Check(q.r); err != nil {
		return &statusError{http.StatusForbidden, "a page of another web site may not write: " + err.Error()}
	}
	if !p.public {
		if err := q.identify(); err != nil {
			return err
		}
		if q.who != nil {
			q.w.Header().Set("Cache-Control", "private")
		}
	}
	if here, err := q.forward(p); !here || err != nil {
		return err
	}
	if q.r.URL.RawQuery != "" {
		var err error
		if q.params, err = parseParams(q.r.URL.RawQuery); err != nil {
			return err
		}
	}
	if method == http.MethodGet && !p.public {
		mode := store.AtPrimary
		if q.readsAny() {
			mode = store.AtAny
		}
		q.reading = q.st.Load().Reading(mode)
	}
	return handle(q)
}

// nosniff is a header's value. Slices of one are never changed in place.
var nosniff = []string{"nosniff"}

// deadlines bound the time to receive a body and to send an answer. A connection of
// Serve bounds its writes itself.
func (q *request) deadlines() {
	body := q.r.Body != nil && q.r.Body != http.NoBody
	if q.conn != nil && q.r.ProtoMajor == 1 && !body {
		return
	}
	deadline := time.Now().Add(q.o.RequestTimeout + q.o.IdleTimeout)
	c := http.NewResponseController(q.w)
	_ = c.SetReadDeadline(deadline) // A test's recorder has none.
	_ = c.SetWriteDeadline(deadline)
}

func (p *resource) allowed() string {
	var all []string
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if p.methods[m] != nil {
			all = append(all, m)
			if m == "GET" {
				all = append(all, "HEAD")
			}
		}
	}
	return strings.Join(append(all, "OPTIONS"), ", ")
}
