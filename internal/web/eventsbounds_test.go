package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/limits"
)

// eventsInBubble calls f with a server and its store in a synctest bubble, whose clock
// both use.
func eventsInBubble(t *testing.T, o Options, f func(t *testing.T, w *site, l *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		w := newSite(t, o)
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- w.Serve(l, nil) }()
		f(t, w, l)
		w.Shutdown(t.Context())
		if err := <-served; err != nil {
			t.Error(err)
		}
		for _, b := range w.Budgets() {
			if b.Used != 0 {
				t.Errorf("%s: %d are held at the end", b.Name, b.Used)
			}
		}
	})
}

// followOver begins to follow over a connection.
func followOver(t *testing.T, c net.Conn, headers string) *follower {
	t.Helper()
	ask(t, c, "GET "+emptyEvents+" HTTP/1.1\nHost: x\n"+headers+"\n")
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %s", res.Status, b)
	}
	return &follower{t: t, res: res, r: bufio.NewReader(res.Body)}
}

// A client that does not read loses the stream after IdleTimeout, and its memory is
// released; a client that reads gets all events.
func TestEventsSlowReader(t *testing.T) {
	eventsInBubble(t, Options{IdleTimeout: 30 * time.Second}, func(t *testing.T, w *site, l *pipes) {
		slow, quick := l.dial(), l.dial()
		defer slow.Close()
		defer quick.Close()
		followOver(t, slow, "").next("progress")
		f := followOver(t, quick, "")
		f.next("progress")
		if n := w.streams.Use().Used; n != 2 {
			t.Errorf("%d streams", n)
		}
		big := fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", 10<<10))
		const n = 400
		for i := range n {
			w.put("empty", at(fmt.Sprint(i), 1, 2, big))
		}
		for i := range n {
			if e := f.next("enter"); e.feature(t).ID != fmt.Sprint(i) {
				t.Fatalf("%d: %+v", i, e.id)
			}
		}
		synctest.Wait()
		// At most one write's data waits for the slow client.
		if u := w.answers.Use(); u.Used > 2*(requestBytes+limits.WatcherBytes+limits.AreaBytes)+3*eventsBatch {
			t.Errorf("%+v", u)
		}
		begun := time.Now()
		for w.streams.Use().Used > 1 {
			f.next("progress") // waits for time to pass
			if time.Since(begun) > 10*time.Minute {
				t.Fatal("who takes nothing has the stream still")
			}
		}
		w.put("empty", at("last", 1, 2, `{}`))
		if e := f.next("enter"); e.feature(t).ID != "last" {
			t.Errorf("%+v", e)
		}
	})
}

// An event comes every eventsInterval, without a limit, far beyond all timeouts; and a
// client can resume from its id.
func TestEventsKeepAlive(t *testing.T) {
	eventsInBubble(t, Options{IdleTimeout: 10 * time.Second, RequestTimeout: time.Second}, func(t *testing.T, w *site, l *pipes) {
		c := l.dial()
		defer c.Close()
		f := followOver(t, c, "")
		f.next("progress")
		begun := time.Now()
		var last sent
		for i := range 40 {
			w.put("countries", at("elsewhere", 1, float64(i), `{}`)) // Revisions advance in another collection.
			last = f.next("progress")
			if took := time.Since(begun); took != time.Duration(i+1)*eventsInterval {
				t.Fatalf("%d: after %v", i, took)
			}
		}
		w.put("empty", at("a", 1, 2, `{}`))
		f.next("enter")
		again := l.dial()
		defer again.Close()
		f = followOver(t, again, "Last-Event-ID: "+last.id+"\n")
		if e := f.next("enter"); e.feature(t).ID != "a" {
			t.Errorf("%+v", e)
		}
	})
}

// Streams are bounded for each source; those beyond the bound get a status. Streams
// that end release their places.
func TestEventsTooMany(t *testing.T) {
	w := newSite(t, Options{MaxStreams: 6})
	s := w.serveTest(t)
	var all []*follower
	for range 3 { // half of 6: all have one source
		f := follow(t, s.Client(), eventsOf(s))
		f.next("progress")
		all = append(all, f)
	}
	res, err := s.Client().Get(eventsOf(s))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(string(b), "limit 3 for one source") {
		t.Errorf("%s, %v: %s", res.Status, err, b)
	}
	w.put("empty", at("a", 1, 2, `{}`))
	for _, f := range all {
		f.next("enter")
	}
	all[0].close()
	for w.streams.Use().Used > 2 { // The next write detects it.
		w.put("empty", at("a", 1, 2, `{}`))
		all[1].next("changed")
	}
	follow(t, s.Client(), eventsOf(s)).next("progress")
}

// Deleting a key ends its streams, and no others.
func TestEventsKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	var texts []string
	var ids []string
	for range 2 {
		e, text, err := access.NewKey(access.Entry{Roles: []string{"empty:read"}})
		if err == nil {
			err = access.Add(file, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		texts, ids = append(texts, text), append(ids, e.ID)
	}
	keys, err := access.Open(file, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newSite(t, Options{Keys: keys})
	s := w.serveTest(t)
	var all []*follower
	for _, text := range texts {
		f := follow(t, s.Client(), eventsOf(s), "Authorization: Bearer "+text)
		f.next("progress")
		all = append(all, f)
	}
	if _, err := access.Revoke(file, ids[0]); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	all[0].ends()
	w.put("empty", at("a", 1, 2, `{}`))
	all[1].next("enter")
	w.problem(w.get(emptyEvents, "Authorization: Bearer "+texts[0]), http.StatusUnauthorized)
	w.problem(w.get("/collections/countries/events", "Authorization: Bearer "+texts[1]), http.StatusForbidden)
}

// Over HTTP/2 and TLS, from a client that takes compressed answers: each event comes
// when it happens, as it is, and the end of the server ends the stream.
func TestEventsHTTP2(t *testing.T) {
	w := newSite(t, Options{})
	s := httptest.NewUnstartedServer(w)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	defer w.stop()
	f := follow(t, s.Client(), eventsOf(s), "Accept-Encoding: gzip, zstd")
	if f.res.Proto != "HTTP/2.0" || f.res.Header.Get("Content-Encoding") != "" || f.res.ContentLength != -1 {
		t.Errorf("%s, %v", f.res.Proto, f.res.Header)
	}
	f.next("progress")
	for i := range 5 { // One is written when the one before it has come.
		w.put("empty", at(fmt.Sprint(i), 1, 2, `{}`))
		if e := f.next("enter"); e.feature(t).ID != fmt.Sprint(i) {
			t.Errorf("%+v", e)
		}
	}
	shut := make(chan struct{})
	go func() {
		defer close(shut)
		w.Shutdown(t.Context())
	}()
	f.ends()
	<-shut
}

// How long a client stays is not the time of an answer, but that of an error is.
func TestEventsObserved(t *testing.T) {
	seen := make(chan Observed, 2)
	w := newSite(t, Options{Observe: func(_ context.Context, o Observed) { seen <- o }})
	s := w.serveTest(t)
	w.problem(w.get(emptyEvents+"?bbox=1"), http.StatusBadRequest)
	if o := <-seen; o.Stream || o.Status != http.StatusBadRequest {
		t.Errorf("%+v", o)
	}
	f := follow(t, s.Client(), eventsOf(s))
	f.next("progress")
	w.stop()
	f.ends()
	if o := <-seen; !o.Stream || o.Status != http.StatusOK || o.Route != eventsPattern || o.Bytes == 0 {
		t.Errorf("%+v", o)
	}
}
