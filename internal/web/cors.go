package web

import (
	"fmt"
	"net/http"
	"net/url"
)

// A browser shows a page of one web site the answers of another site only if the other
// site allows it (CORS). Before requests that a form cannot send, it asks first.
// Independent of that, the browser says from which site a request comes, and writes
// from other sites are refused here: a page that a user happens to visit cannot exploit
// that his browser reaches the server, or has a key of it.

// trust checks Options.Origin and Options.URL.
func (s *Server) trust() error {
	if u := s.o.URL; u != "" {
		p, err := url.Parse(u)
		if err != nil || p.Scheme != "http" && p.Scheme != "https" || p.Host == "" || p.RawQuery != "" || p.Fragment != "" {
			return fmt.Errorf("web: URL %q, want one such as https://example.org/places", u)
		}
		s.urlHost = p.Hostname()
	}
	switch s.o.Origin {
	case "":
		return nil
	case "*":
		s.cross.AddInsecureBypassPattern("/")
		return nil
	}
	if err := s.cross.AddTrustedOrigin(s.o.Origin); err != nil {
		return fmt.Errorf("web: origin %q, want * or one such as https://example.org: %w", s.o.Origin, err)
	}
	return nil
}

// allowOrigin sends the headers by which a browser lets a page read the answer, and
// reports whether the request was a preflight, which they answer in full.
func (q *request) allowOrigin(p resource) (answered bool) {
	if q.o.Origin == "" {
		return false
	}
	h := q.w.Header()
	h.Set("Access-Control-Allow-Origin", q.o.Origin)
	if q.o.Origin != "*" {
		h.Add("Vary", "Origin")
	}
	h.Set("Access-Control-Expose-Headers", "ETag, Location, Link, Retry-After, "+sampledHeader)
	if q.r.Method != http.MethodOptions || q.r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", p.allowed())
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, X-API-Key")
	h.Set("Access-Control-Max-Age", "3600")
	q.w.WriteHeader(http.StatusNoContent)
	return true
}
