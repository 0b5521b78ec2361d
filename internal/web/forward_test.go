package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/door"
)

// doorOf is a secondary whose door forwards to the member at an address.
type doorOf struct {
	*site
	url     string
	serves  atomic.Bool
	primary atomic.Pointer[string]
}

func serveOn(t *testing.T, serve func(net.Listener) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}

func newDoor(t *testing.T, o Options) *doorOf {
	t.Helper()
	d := &doorOf{}
	o.Group = &door.Group{Serves: d.serves.Load, Patience: time.Second, Primary: func() string {
		if p := d.primary.Load(); p != nil {
			return *p
		}
		return ""
	}, Connect: func(ctx context.Context, addr string) (net.Conn, error) {
		var n net.Dialer
		return n.DialContext(ctx, "tcp", addr)
	}}
	d.site = newSite(t, o)
	d.url = "http://" + serveOn(t, func(l net.Listener) error { return d.Serve(l, nil) })
	t.Cleanup(func() { d.Shutdown(context.Background()) })
	return d
}

// members returns where the site takes requests of other members.
func (w *doorOf) members(t *testing.T) string { return serveOn(t, w.ServeMembers) }

type doorAnswer struct {
	*http.Response
	body string
}

func (w *doorOf) do(t *testing.T, method, path, body string, headers ...string) doorAnswer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return doorAnswer{a, string(b)}
}

const (
	aPoint    = `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"n":1}}`
	itemsPath = "/collections/empty/items"
)

// What comes in at a secondary is carried out by the primary, and its answer comes back with
// all of its headers, once.
func TestForward(t *testing.T) {
	o := Options{Origin: "https://example.org"}
	p, s := newDoor(t, o), newDoor(t, o)
	p.serves.Store(true)
	to := p.members(t)
	s.primary.Store(&to)
	want := func(what string, a doorAnswer, status int) doorAnswer {
		t.Helper()
		if a.StatusCode != status {
			t.Fatalf("%s: %s %s, want %d", what, a.Status, a.body, status)
		}
		if v := a.Header.Values("Access-Control-Allow-Origin"); len(v) != 1 {
			t.Errorf("%s: Access-Control-Allow-Origin %q", what, v)
		}
		return a
	}
	geo := []string{"Content-Type", "application/geo+json"}
	a := want("POST", s.do(t, "POST", itemsPath, aPoint, geo...), 201)
	if l := a.Header.Get("Location"); !strings.HasPrefix(l, s.url+itemsPath) {
		t.Errorf("POST leads to %s, the door is at %s", l, s.url)
	}
	a = want("PUT", s.do(t, "PUT", itemsPath+"/a%2Fb", aPoint, geo...), 201)
	tag := a.Header.Get("ETag")
	a = want("GET", s.do(t, "GET", itemsPath+"/a%2Fb", ""), 200)
	if a.Header.Get("ETag") != tag || tag == "" || !strings.Contains(a.body, s.url) {
		t.Errorf("ETag %q, want %q; links of %s", a.Header.Get("ETag"), tag, a.body)
	}
	want("GET if it has changed", s.do(t, "GET", itemsPath+"/a%2Fb", "", "If-None-Match", tag), 304)
	want("PUT of another revision", s.do(t, "PUT", itemsPath+"/a%2Fb", aPoint, append(geo, "If-Match", `"1-1"`)...), 412)
	want("PATCH", s.do(t, "PATCH", itemsPath+"/a%2Fb", `{"properties":{"n":2}}`, "Content-Type", "application/merge-patch+json", "If-Match", tag), 204)
	if a := want("a filter", s.do(t, "GET", itemsPath+"?filter=n%3D2&limit=7", ""), 200); !strings.Contains(a.body, `"a/b"`) {
		t.Errorf("a filter finds %s", a.body)
	}
	want("a wrong parameter", s.do(t, "GET", itemsPath+"?limit=x", ""), 400)
	want("HEAD", s.do(t, "HEAD", itemsPath+"/a%2Fb", ""), 200)
	want("many", s.do(t, "POST", itemsPath, aPoint+"\n"+aPoint+"\n", "Content-Type", typeNDJSON), 200)
	want("a page of this member", s.do(t, "GET", "/conformance", ""), 200)
	want("a read here", s.do(t, "GET", itemsPath+"/a%2Fb", "", "Catfish-Read-From", "any"), 404)
	want("a write here", s.do(t, "DELETE", itemsPath+"/a%2Fb", "", "Catfish-Read-From", "any"), 204)
	if n := p.len("empty"); n != 3 || s.len("empty") != 0 {
		t.Errorf("%d features at the primary, want 3, %d at the secondary", n, s.len("empty"))
	}
}

func (w *site) len(collection string) int {
	c, err := w.st.Collection(collection)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Len()
}

// Events come through a secondary as they happen.
func TestForwardedEvents(t *testing.T) {
	p, s := newDoor(t, Options{}), newDoor(t, Options{})
	p.serves.Store(true)
	to := p.members(t)
	s.primary.Store(&to)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/collections/empty/events?bbox=-180,-90,180,90", nil)
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != typeEvents {
		t.Fatalf("%s %s", a.Status, a.Header)
	}
	lines := bufio.NewScanner(a.Body)
	lines.Scan() // The stream stands.
	s.do(t, "PUT", itemsPath+"/new", aPoint, "Content-Type", "application/geo+json")
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"new"`) {
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// mute takes a request, says so, and does not answer it until hang is closed.
func mute(t *testing.T, answered chan<- string, hang <-chan struct{}) string {
	return serveOn(t, func(l net.Listener) error {
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go func() {
				defer c.Close()
				if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					answered <- r.Method
					<-hang
				}
			}()
		}
	})
}

// Without a primary requests are refused, and may be made again. If the primary was lost
// after it had got a request that may write, its outcome is unknown; one that reads goes to
// the next primary.
func TestForwardWithoutAPrimary(t *testing.T) {
	s := newDoor(t, Options{})
	refused := func(what string, a doorAnswer) {
		t.Helper()
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s %s", what, a.Status, a.body)
		}
	}
	refused("no primary", s.do(t, "GET", itemsPath, ""))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	s.primary.Store(&gone)
	refused("a primary that does not listen", s.do(t, "PUT", itemsPath+"/a", aPoint, "Content-Type", "application/geo+json"))

	p := newDoor(t, Options{}) // It serves nothing yet: it is no primary.
	to := p.members(t)
	s.primary.Store(&to)
	refused("a member that is no primary", s.do(t, "GET", itemsPath, ""))

	got, hang := make(chan string, 16), make(chan struct{})
	lost := mute(t, got, hang)
	s.primary.Store(&lost)
	next := func() { // The member stands still, and another one becomes the primary.
		<-got
		p.serves.Store(true)
		s.primary.Store(&to)
	}
	go next()
	if a := s.do(t, "GET", itemsPath, ""); a.StatusCode != http.StatusOK {
		t.Errorf("a read that the next primary answers: %s %s", a.Status, a.body)
	}
	s.primary.Store(&lost)
	go next()
	a := s.do(t, "PUT", itemsPath+"/a", aPoint, "Content-Type", "application/geo+json")
	if a.StatusCode != http.StatusInternalServerError || a.Header.Get("Retry-After") != "" || !strings.Contains(a.body, "unknown") {
		t.Errorf("a write that was not answered: %s %s", a.Status, a.body)
	}
	close(hang)
	s.serves.Store(true)
	if a := s.do(t, "PUT", itemsPath+"/a", aPoint, "Content-Type", "application/geo+json"); a.StatusCode != http.StatusCreated || s.len("empty") != 1 {
		t.Errorf("a write at the new primary itself: %s %s", a.Status, a.body)
	}
}
