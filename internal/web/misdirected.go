package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Names of the server
//
// A page of another web site can read nothing here, because its origin is another one
// (cors.go). DNS rebinding circumvents that: the page's own name is resolved again, now
// to 127.0.0.1, and for the browser the server is of the page's origin. Only the name in
// Host, or :authority of HTTP/2, then shows the page. So a server without keys that is
// reached at a loopback address serves only requests whose Host no other site can have:
// localhost, an address, or the host of Options.URL.
//
// With keys, the page has no key: browsers keep passwords by the name of the site.

// misdirected returns an error if the request's Host is the name of another site.
func (q *request) misdirected() error {
	if q.o.Keys != nil || q.r.Context().Value(memberKey{}) != nil || !q.loopback() || ownName(q.r.Host) {
		return nil
	}
	host := hostOf(q.r.Host)
	if own := q.urlHost; own != "" && strings.EqualFold(host, own) {
		return nil
	}
	return &statusError{http.StatusMisdirectedRequest, fmt.Sprintf(
		"host %.200q is not known here: without keys a server at a loopback address answers to localhost, to IP addresses and to the host of --http-url", host)}
}

// loopback reports whether the request came in at an address that only this machine
// reaches.
func (q *request) loopback() bool {
	if q.conn != nil {
		return isLoopback(q.conn.LocalAddr())
	}
	addr, ok := q.r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(addr)
}

func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// ownName reports whether no other site can have the name in Host. Browsers always send
// a Host; HTTP/1.0 does not need it.
func ownName(host string) bool {
	if host == "" {
		return true
	}
	host = hostOf(host)
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// hostOf is Host without a port and brackets.
func hostOf(host string) string {
	u := url.URL{Host: host}
	return u.Hostname()
}
