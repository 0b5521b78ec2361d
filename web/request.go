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

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/access"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/store"
)

const (
	// requestBytes is what a request takes of the budget from its beginning: its
	// goroutine, headers and buffers.
	requestBytes = 32 << 10
	// fullAnswer is what a request may hold while there is no room (Host).
	fullAnswer = 1 << 20
	// chunk is what is written of an answer before the next deadline: a client
	// that takes 2 KB/s is not too slow.
	chunk = 64 << 10
	// decoded is how much more than its text a feature takes while it is decoded:
	// a position of 6 bytes becomes 16, in a slice that grew twofold and is
	// encoded into another.
	decoded = 12
)

// request is one request and what it holds. Only its goroutine uses it, but for
// account.
type request struct {
	*Server
	w       *recorder
	r       *http.Request
	conn    *boundedConn  // nil: not of Serve
	begun   time.Time     // by Options.Now
	timeout time.Duration // 0: none
	late    *time.Timer   // ends ctx then; nil: none
	ctx     context.Context
	end     context.CancelCauseFunc // ends ctx, with the reason
	source  string
	account *limits.Account
	holds   holdings
	who     *access.Principal
	key     string // that who showed
	params  params
	codings accepted
	coded   bool // codings were read
	endless bool // events are being sent

	recorder recorder
	turns    limits.Pacer // of its search
}

// holdings are what a request holds of its account, besides requestBytes.
type holdings struct{ body, search, ids, answer, coded int64 }

// recorder notes what was answered.
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

// connKey is where a request's context has its *boundedConn.
type connKey struct{}

// withConn has the contexts of a connection's requests have it.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if b, ok := c.(*boundedConn); ok {
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

// identify finds the request's key, and takes one of its requests.
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
			// Browsers, and many a GIS, know passwords only: a key is one.
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

// may is an error unless the request's key has a role for a collection.
func (q *request) may(collection string, need access.Role) error {
	if q.o.Keys == nil {
		return nil
	}
	return q.who.Check(collection, need)
}

// find is the collection of the path, for a key with a role.
func (q *request) find(need access.Role) (api.FeatureCollection, error) {
	name := q.r.PathValue("collectionId")
	if err := q.may(name, need); err != nil {
		return nil, err
	}
	b, err := q.ready()
	if err != nil {
		return nil, err
	}
	c, err := b.Features(name)
	switch {
	case errors.Is(err, store.ErrUnknownCollection):
		return nil, unknownCollection(name)
	case errors.Is(err, catfish.ErrKind):
		return nil, &statusError{http.StatusNotFound, fmt.Sprintf("collection %.200q holds no features", name)}
	case err != nil:
		return nil, err
	case c.Options().Space != feature.Geographic:
		return nil, &statusError{http.StatusNotFound, fmt.Sprintf("collection %.200q is in a planar space, which is not served over HTTP", name)}
	}
	return c, nil
}

// steps divide tests of large geometries for as long as the request searches (turns).
func (q *request) steps() *feature.Steps { return &feature.Steps{Pause: q.turns.Tick} }

// hold says that a part of what the request holds takes n bytes at present. The
// error says why it must end.
func (q *request) hold(part *int64, n int64) error {
	more := n - *part
	if more <= 0 {
		*part = n
		q.account.Give(-more)
		return nil
	}
	if n > fullAnswer {
		if err := q.host.Room(); err != nil {
			return err
		}
	}
	if err := q.account.Take(more); err != nil {
		if why := context.Cause(q.ctx); why != nil {
			return why
		}
		return err
	}
	*part = n
	return nil
}
