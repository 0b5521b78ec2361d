package web

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/access"
)

// at sends a request as if it had arrived at a local address, under the name that the
// client uses for the server.
func (w *site) at(local net.Addr, host, method, target, body string, headers ...string) answer {
	w.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
	r.Host = host
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	w.documented(r, rec.Result())
	return answer{rec.Result(), rec.Body.Bytes()}
}

var (
	here  = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	here6 = &net.TCPAddr{IP: net.IPv6loopback, Port: 8080}
	there = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8080}
)

// A page whose name resolves to a loopback address reads and writes nothing.
func TestDNSRebinding(t *testing.T) {
	w := newSite(t, Options{})
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "localhost..", "0x7f.1", "x"} {
		origin := []string{"Origin: http://" + host, "Sec-Fetch-Site: same-origin"}
		for _, addr := range []net.Addr{here, here6} {
			p := w.problem(w.at(addr, host, "POST", empty, point(1, 2, `{}`), append(origin, asGeoJSON)...), http.StatusMisdirectedRequest)
			if !strings.Contains(p.Detail, `"`+strings.TrimSuffix(host, ":8080")+`"`) || !strings.Contains(p.Detail, "localhost") {
				t.Errorf("%s: %s", host, p.Detail)
			}
			for _, target := range []string{"/", "/conformance", countries + "/items", countries + "/events", "/none"} {
				w.problem(w.at(addr, host, "GET", target, "", origin...), http.StatusMisdirectedRequest)
			}
		}
	}
	if n := w.coll("empty").Len(); n != 0 {
		t.Errorf("%d features were written", n)
	}
}

// Names that no other site can have are served, with any port.
func TestOwnNames(t *testing.T) {
	w := newSite(t, Options{URL: "https://Places.example:8443/geo"})
	for _, host := range []string{
		"localhost", "localhost:8080", "LocalHost", "localhost.", "localhost.:80", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8080", "192.0.2.7",
		"places.example", "places.example:8443", "PLACES.EXAMPLE:1", "",
	} {
		for _, addr := range []net.Addr{here, here6} {
			w.must(w.at(addr, host, "GET", countries, ""), http.StatusOK)
		}
	}
	w.problem(w.at(here, "evil.example", "GET", countries, ""), http.StatusMisdirectedRequest)
}

// At other addresses, and with keys, any name is accepted.
func TestAnyNameAtOtherAddresses(t *testing.T) {
	w := newSite(t, Options{})
	for _, addr := range []net.Addr{there, &net.UnixAddr{Name: "/run/x", Net: "unix"}} {
		w.must(w.at(addr, "places.example", "GET", countries, ""), http.StatusOK)
	}
	keys, k := keysOf(t, access.Entry{Roles: []string{"*:read"}})
	w = newSite(t, Options{Keys: keys})
	w.must(w.at(here, "places.example", "GET", countries, "", "X-API-Key: "+k[0]), http.StatusOK)
	w.problem(w.at(here, "places.example", "GET", countries, ""), http.StatusUnauthorized)
}

// The same over real connections, by Host and by :authority of HTTP/2.
func TestDNSRebindingOverConnections(t *testing.T) {
	secure, client := newSite(t, Options{}).dialTLS(t)
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for base, c := range map[string]*http.Client{"https://" + secure: client, "http://" + newSite(t, Options{}).serveTCP(t, nil): plain} {
		for host, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "localhost:1": http.StatusOK, "": http.StatusOK} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+countries, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			res, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want || res.ProtoMajor == 1 == strings.HasPrefix(base, "https") {
				t.Errorf("%s for %q: %s %s, want %d", base, host, res.Proto, res.Status, want)
			}
		}
	}
}
