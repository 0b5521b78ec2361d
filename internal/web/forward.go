package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
)

// A secondary forwards requests to the primary of its group, over HTTP/1.1 on streams between
// members (package door), all but those for pages that are the same at all members, probes
// and the engine room. It checks the key and counts the request; the primary checks both
// again, and counts it for the member. The answer goes back as it is.
//
//	not sent, or it reads and was not answered   sent again, for the patience of package door
//	no primary for that long, or one refuses     503, with Retry-After
//	sent, it may write, and was not answered     500: the outcome is unknown

// memberKey is the context key of requests that another member has forwarded.
type memberKey struct{}

// forwarder sends requests to the primary.
type forwarder struct {
	*door.Group
	proxy     httputil.ReverseProxy
	transport *http.Transport
}

// idleStreams is how many streams to a member are kept open between requests.
const idleStreams = 64

func newForwarder(g *door.Group) *forwarder {
	f := &forwarder{Group: g, transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, addr string) (net.Conn, error) { return g.Dial(ctx, addr) },
		MaxIdleConnsPerHost: idleStreams, IdleConnTimeout: idleConnection / 2, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}}
	f.proxy = httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			to := passedOf(p.In).to
			p.Out.URL.Scheme, p.Out.URL.Host = "http", to
			p.Out.URL.RawQuery = p.In.URL.RawQuery // As it is: the primary checks it.
			p.Out.Host = p.In.Host
			if p.In.TLS != nil {
				p.Out.Header.Set("X-Forwarded-Proto", "https")
			}
		},
		Transport:     f.transport,
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if r.Header.Get(refusedHeader) != "" {
				return errRefused
			}
			h := passedOf(r.Request).w.Header()
			for name := range r.Header { // The primary has set these, too.
				h.Del(name)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) { passedOf(r).err = err },
		ErrorLog:     log.New(quiet{}, "", 0),
	}
	return f
}

// passed is one attempt to forward a request.
type passed struct {
	to  string
	w   http.ResponseWriter
	err error
}

type passedKey struct{}

func passedOf(r *http.Request) *passed { return r.Context().Value(passedKey{}).(*passed) }

// refusedHeader is in the answer of a member that is not the primary: it has done nothing.
const refusedHeader = "Catfish-Not-Primary"

// errRefused: the member that was asked is not the primary.
var errRefused = fmt.Errorf("%w: the member that was taken for it has refused", fault.ErrNotPrimary)

// forward forwards a request, or reports that it is for this member.
func (q *request) forward(p resource) (here bool, err error) {
	f := q.forwarder
	switch reads := q.r.Method == http.MethodGet || q.r.Method == http.MethodHead; {
	case f == nil, p.public, strings.HasPrefix(p.pattern, "/engine"), f.Serves(),
		reads && q.readsAny():
		return true, nil
	case q.r.Context().Value(memberKey{}) != nil:
		if err := f.Await(q.ctx); err != nil {
			q.w.Header().Set(refusedHeader, "1")
			return false, err
		}
		return true, nil
	}
	if q.timeout == 0 || q.r.Method == http.MethodPost { // It may take any time.
		leave, err := q.takePlace()
		if err != nil {
			return false, err
		}
		defer leave()
		if q.late != nil {
			q.late.Stop()
		}
		q.endless = true
		c := http.NewResponseController(q.w)
		_ = c.SetReadDeadline(time.Time{})
		_ = c.SetWriteDeadline(time.Time{})
		if q.r.Body != http.NoBody {
			defer context.AfterFunc(q.ctx, func() { _ = c.SetReadDeadline(time.Now()) })()
		}
	}
	return q.toPrimary(f)
}

// readsAny reports whether the client wants what this member has.
func (q *request) readsAny() bool {
	if q.o.Groups.Several() { // All primaries are asked.
		return false
	}
	return q.forwarder == nil || strings.EqualFold(q.r.Header.Get(door.ReadFrom), door.ReadAny)
}

// toPrimary sends a request to the primary until it has an answer.
func (q *request) toPrimary(f *forwarder) (here bool, err error) {
	reads := q.r.Method == http.MethodGet || q.r.Method == http.MethodHead
	for until := f.Until(); ; {
		addr, here, err := f.Find(q.ctx, until)
		if here || err != nil {
			return here, err
		}
		err = q.attempt(f, addr)
		switch {
		case err == nil:
			return false, nil
		case q.ctx.Err() != nil:
			return false, context.Cause(q.ctx)
		case reads || errors.Is(err, door.ErrDial):
		case errors.Is(err, errRefused):
			return false, err // Its body has gone.
		default:
			return false, fmt.Errorf("%w: the primary was lost before it answered: %w", fault.ErrUnknownOutcome, err)
		}
		if err := door.Wait(q.ctx, until); err != nil {
			return false, err
		}
	}
}

// attempt sends a request to a member. After an error nothing of an answer was sent.
func (q *request) attempt(f *forwarder, addr string) error {
	ctx, end := f.While(q.ctx, addr)
	defer end()
	s := &passed{to: addr, w: q.w}
	r := q.r.WithContext(context.WithValue(ctx, passedKey{}, s))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &patientBody{r.Body, q}
	}
	f.proxy.ServeHTTP(q.w, r)
	if s.err != nil && errors.Is(context.Cause(ctx), door.ErrMoved) {
		return door.ErrMoved
	}
	return s.err
}

// patientBody is a body that may be sent again if nothing of it was read, and that waits
// IdleTimeout for each part of it, if the request may take any time.
type patientBody struct {
	io.ReadCloser
	q *request
}

func (b *patientBody) Read(p []byte) (int, error) {
	if b.q.endless {
		_ = http.NewResponseController(b.q.w).SetReadDeadline(time.Now().Add(b.q.o.IdleTimeout))
	}
	return b.ReadCloser.Read(p)
}

func (b *patientBody) Close() error { return nil } // The server does.

// ServeMembers is Serve for streams of other members, whose requests it does not forward.
func (s *Server) ServeMembers(l net.Listener) error {
	err := s.members.Serve(&listener{limits.Listener{Listener: l, Gate: s.conns}})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// withMember is withConn for streams of members.
func withMember(ctx context.Context, c net.Conn) context.Context {
	return withConn(context.WithValue(ctx, memberKey{}, true), c)
}

// secure reports whether the client's connection has TLS: to this server, or to the member
// that has forwarded the request.
func (q *request) secure() bool {
	return q.r.TLS != nil || q.r.Context().Value(memberKey{}) != nil && q.r.Header.Get("X-Forwarded-Proto") == "https"
}
