package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

const (
	// requestBytes is counted for a request from its beginning: its goroutine, headers
	// and buffers.
	requestBytes = 32 << 10
	// chunk is the part of an answer that is written before the next deadline: a client
	// that takes 2 KB/s is not too slow.
	chunk = 64 << 10
	// decoded is the memory of a feature while it is decoded, as a multiple of its
	// text: a position of 6 bytes becomes 16, in a slice that grew twofold and is
	// encoded into another.
	decoded = 12
)

// request is one request and the memory that it holds. Only its goroutine uses it,
// except for account.
type request struct {
	*Server
	w       *recorder
	r       *http.Request
	conn    *conn         // nil: the request did not come through Serve
	begun   time.Time     // by Options.Now
	timeout time.Duration // 0: none
	late    *time.Timer   // ends ctx after timeout; nil: none
	ctx     context.Context
	end     context.CancelCauseFunc // ends ctx, with the reason
	source  string
	account *limits.Account
	holds   holdings
	who     *access.Principal
	key     string // the client's key, as it was sent
	params  params
	codings accepted
	coded   bool          // codings were parsed
	endless bool          // events are being sent
	reading store.Reading // of a member of a group: looked at before the answer

	recorder recorder
	turns    limits.Pacer // scheduling slots of its search
}

// holdings are the parts of a request's memory, besides requestBytes.
type holdings struct{ body, search, ids, answer, coded int64 }

// recorder records the status and size of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// connKey is the context key of a request's *conn.
type connKey struct{}

// withConn adds a connection to the contexts of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if b, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, b)
	}
	return ctx
}

func sourceOf(r *http.Request) string {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(interface{ Network() string }); ok && addr.Network() == "unix" {
		return "unix"
	}
	return limits.SourceOf(address(r.RemoteAddr))
}

// address is a net.Addr.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// identify finds the request's key, and counts the request for that key.
func (q *request) identify() (err error) {
	if q.o.Keys == nil {
		return nil
	}
	key := q.r.Header.Get("X-API-Key")
	if a := q.r.Header.Get("Authorization"); a != "" {
		scheme, rest, _ := strings.Cut(a, " ")
		switch {
		case strings.EqualFold(scheme, "bearer"):
			key = strings.TrimSpace(rest)
		case strings.EqualFold(scheme, "basic"):
			// Browsers, and many a GIS, know passwords only: a key is sent as one.
			_, key, _ = q.r.BasicAuth()
		default:
			return fmt.Errorf("%w: header Authorization is not of the form Bearer KEY", access.ErrUnauthenticated)
		}
	}
	if q.who, err = q.o.Keys.Authenticate(key); err != nil {
		return err
	}
	q.key = key
	return q.who.Admit()
}

// may returns an error unless the request's key has a role for a collection.
func (q *request) may(collection string, need access.Role) error {
	if q.o.Keys == nil {
		return nil
	}
	return q.who.Check(collection, need)
}

// find returns the path's collection, if the key has a role for it.
func (q *request) find(need access.Role) (c whole.Collection, err error) {
	name := q.r.PathValue("collectionId")
	if err := q.may(name, need); err != nil {
		return c, err
	}
	st, err := q.ready()
	if err != nil {
		return c, err
	}
	c, err = st.Collection(name)
	switch {
	case errors.Is(err, store.ErrUnknownCollection):
		return c, unknownCollection(name)
	case errors.Is(err, catfish.ErrKind):
		return c, &statusError{http.StatusNotFound, fmt.Sprintf("collection %.200q holds no features", name)}
	case err != nil:
		return c, err
	case c.Options().Space != feature.Geographic:
		return c, &statusError{http.StatusNotFound, fmt.Sprintf("collection %.200q is in a planar space, which is not served over HTTP", name)}
	}
	return c, nil
}

// steps lets long geometry tests of a search yield its scheduling slot (turns).
func (q *request) steps() *feature.Steps { return &feature.Steps{Pause: q.turns.Tick} }

// hold sets the memory of one part of the request to n bytes. The error says why the
// request must end.
func (q *request) hold(part *int64, n int64) error {
	err := limits.Hold(q.account, q.host, part, n)
	if errors.Is(err, limits.ErrExceeded) {
		// The account is also cut with the request.
		if why := context.Cause(q.ctx); why != nil {
			return why
		}
	}
	return err
}
