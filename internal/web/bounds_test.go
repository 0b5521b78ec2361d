package web

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/certs/certstest"
	"github.com/catfish-index/catfish/internal/store"
)

// pipes is a listener of connections in memory, without buffers.
type pipes struct {
	next chan net.Conn
	done chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.next:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return address("pipe") }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.next <- server
	return client
}

// inBubble calls f with its own server in a synctest bubble, whose clock the server
// uses.
func inBubble(t *testing.T, w *site, o Options, f func(t *testing.T, s *Server, l *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		o.Logger = slog.New(slog.DiscardHandler)
		s, err := New(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		s.ServeFeatures(w.st)
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- s.Serve(l, nil) }()
		f(t, s, l)
		s.Shutdown(t.Context())
		if err := <-served; err != nil {
			t.Error(err)
		}
		for _, b := range s.Budgets() {
			if b.Used != 0 {
				t.Errorf("%s: %d are held at the end", b.Name, b.Used)
			}
		}
	})
}

// ask sends a request and does not read.
func ask(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
}

// answerOf reads an answer.
func answerOf(t *testing.T, c net.Conn) (status int, body string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

const getAll = "GET /collections/countries/items?limit=100 HTTP/1.1\nHost: x\n\n"

// A client that reads nothing, or a byte now and then, loses the connection in time,
// and its memory is released. Other clients are served meanwhile.
func TestSlowReader(t *testing.T) {
	w := newSite(t, Options{})
	inBubble(t, w, Options{IdleTimeout: 30 * time.Second}, func(t *testing.T, s *Server, l *pipes) {
		silent, trickling := l.dial(), l.dial()
		ask(t, silent, getAll)
		ask(t, trickling, getAll)
		synctest.Wait()
		used := s.answers.Use().Used
		if used < 2*(requestBytes+50_000) {
			t.Errorf("two answers hold %d bytes", used)
		}
		other := l.dial()
		ask(t, other, "GET /collections/countries/items/AD HTTP/1.1\nHost: x\nConnection: close\n\n")
		if status, body := answerOf(t, other); status != 200 || !strings.Contains(body, `"AD"`) {
			t.Errorf("another client: %d", status)
		}
		begun, taken := time.Now(), 0
		for one := make([]byte, 1); ; taken++ {
			if _, err := trickling.Read(one); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		// It took the headers, and a chunk.
		if took := time.Since(begun); took > 2*time.Minute || taken == 0 {
			t.Errorf("a byte a second: the connection ended after %v and %d bytes", took, taken)
		}
		synctest.Wait()
		if u := s.answers.Use(); u.Used != 0 || u.Sources != 0 {
			t.Errorf("%+v is held", u)
		}
		if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("who takes nothing is still there: %v", err)
		}
	})
}

// A client that reads an answer slowly, but steadily, gets all of the answer.
func TestSteadyReader(t *testing.T) {
	w := newSite(t, Options{})
	big := strings.Repeat("x", 5*chunk)
	w.put("empty", store.Feature{ID: "big", Properties: json.RawMessage(`{"x":"` + big + `"}`)})
	inBubble(t, w, Options{IdleTimeout: 30 * time.Second}, func(t *testing.T, _ *Server, l *pipes) {
		c := l.dial()
		ask(t, c, "GET /collections/empty/items/big HTTP/1.1\nHost: x\nConnection: close\n\n")
		all, begun := 0, time.Now()
		for buf := make([]byte, chunk/4); ; time.Sleep(5 * time.Second) {
			n, err := io.ReadFull(c, buf)
			all += n
			if err != nil {
				break
			}
		}
		if took := time.Since(begun); all < len(big) || took < DefaultRequestTimeout {
			t.Errorf("%d bytes of %d in %v", all, len(big), took)
		}
	})
}

// A client that sends headers or a body too slowly loses the connection in time.
func TestSlowWriter(t *testing.T) {
	w := newSite(t, Options{})
	inBubble(t, w, Options{}, func(t *testing.T, s *Server, l *pipes) {
		headers, body, quiet := l.dial(), l.dial(), l.dial()
		ask(t, headers, "GET / HTTP/1.1\nHost:")
		ask(t, body, "POST /collections/empty/items HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: 1000\n\n{")
		if status, text := answerOf(t, body); status != http.StatusRequestTimeout {
			t.Errorf("half a body: %d: %s", status, text)
		}
		for _, c := range []net.Conn{headers, body, quiet} {
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Error(err)
			}
		}
		if n := s.conns.Open.Use().Used; n != 0 {
			t.Errorf("%d connections are open", n)
		}
	})
}

// A search that takes too long ends.
func TestRequestTimeout(t *testing.T) {
	w := newSite(t, Options{RequestTimeout: time.Nanosecond})
	a := w.get(countries + "/items?bbox=-180,-90,180,90")
	w.problem(a, http.StatusServiceUnavailable)
	if a.Header.Get("Retry-After") != "1" || !strings.Contains(string(a.body), "more than 1ns") {
		t.Errorf("%v %s", a.Header, a.body)
	}
}

// A request that would hold more than a source may hold is refused, and smaller ones
// are not.
func TestAnswerBudget(t *testing.T) {
	w := newSite(t, Options{MaxAnswerBytes: 170_000})
	p := w.problem(w.get(countries+"/items?limit=100"), http.StatusServiceUnavailable)
	if !strings.Contains(p.Detail, "limit 85000 for one source") {
		t.Errorf("%+v", p)
	}
	w.must(w.get(countries+"/items/AD"), http.StatusOK)
	w.problem(w.do("POST", empty, point(1, 2, `{"x":"`+strings.Repeat("x", 100_000)+`"}`), asGeoJSON), http.StatusServiceUnavailable)
	w.must(w.do("POST", empty, point(1, 2, `{}`), asGeoJSON), http.StatusCreated)
	if u := w.answers.Use(); u.Used != 0 || u.Refused != 2 {
		t.Errorf("%+v", u)
	}
}

// Memory that a request no longer holds is free before the request ends.
func TestHoldReleasesMemory(t *testing.T) {
	w := newSite(t, Options{})
	q := &request{Server: w.Server, ctx: t.Context(), account: w.answers.Open("x", func(error) {})}
	defer q.account.Close()
	for _, n := range []int64{5000, 70_000, 100, 300, 0} {
		if err := q.hold(&q.holds.search, n); err != nil || w.answers.Use().Used != n+q.holds.ids {
			t.Errorf("%d: %d is held, %v", n, w.answers.Use().Used, err)
		}
		if err := q.hold(&q.holds.ids, 7); err != nil {
			t.Error(err)
		}
	}
}

// Requests before the features are loaded, and while there is no memory.
func TestNotReady(t *testing.T) {
	s, err := New(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &site{Server: s, t: t}
	for target, status := range map[string]int{"/": 200, "/conformance": 200, "/collections": 503, countries: 503, countries + "/items": 503, "/api": 503} {
		if a := w.get(target); a.StatusCode != status || (a.Header.Get("Retry-After") == "1") != (status == 503) {
			t.Errorf("%s: %s, %v", target, a.Status, a.Header)
		}
	}
}

// dialTLS is a server over TLS, and a client of it.
func (w *site) dialTLS(t *testing.T) (addr string, c *http.Client) {
	t.Helper()
	ca := certstest.NewCA(t, t.TempDir(), "ca")
	cert, key := ca.Issue(t, "server", 1)
	s, err := certs.NewServer(certs.Files{Cert: cert, Key: key}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	addr = w.serveTCP(t, s.Config())
	pem, err := os.ReadFile(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
	t.Cleanup(tr.CloseIdleConnections)
	return addr, &http.Client{Transport: tr}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveTCP serves over TCP until the test ends.
func (w *site) serveTCP(t *testing.T, config *tls.Config) (addr string) {
	t.Helper()
	l := listen(t)
	served := make(chan error, 1)
	go func() { served <- w.Serve(l, config) }()
	t.Cleanup(func() {
		w.Shutdown(t.Context())
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestConnectionsOfOneSource(t *testing.T) {
	w := newSite(t, Options{MaxConnections: 4})
	addr := w.serveTCP(t, nil)
	var open []net.Conn
	for i := range 3 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		var n int
		if err == nil {
			n, err = c.Read(make([]byte, 1))
		}
		if served := n == 1 && err == nil; served != (i < 2) {
			t.Errorf("connection %d: served %v, %v", i, served, err)
		}
	}
	open[0].Close()
}

// Headers beyond the limit, and malformed HTTP.
func TestMalformedRequests(t *testing.T) {
	w := newSite(t, Options{})
	addr := w.serveTCP(t, nil)
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n": "431",
		"GET /?" + strings.Repeat("x", 80<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n":       "431",
		"GET / HTTP/1.1\r\n\r\n":                                     "400", // no Host
		"GET / HTTP/1.1\r\nHost: <x>\r\n\r\n":                        "400",
		"nonsense\r\n\r\n":                                           "400",
		"\x16\x03\x01\x00\x10aaaa\r\n\r\n":                           "400",
		"GET / HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n": "200",
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if !strings.HasPrefix(line, "HTTP/1.1 "+want) {
			t.Errorf("%.40q: %q, %v, want %s", request, line, err, want)
		}
		c.Close()
	}
}

// HTTP/2 and TLS, with the certificates of the command line.
func TestHTTP2(t *testing.T) {
	w := newSite(t, Options{})
	addr, client := w.dialTLS(t)
	res, err := client.Get(fmt.Sprintf("https://%s%s/items?limit=100", addr, countries))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if res.Proto != "HTTP/2.0" || res.StatusCode != http.StatusOK || err != nil || n < 50_000 {
		t.Errorf("%s %s, %d bytes, %v", res.Proto, res.Status, n, err)
	}
}
