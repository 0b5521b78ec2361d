package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// eventsOverHTTP2 is eventsInBubble with a client whose requests share one connection.
// It works without TLS: TestEventsHTTP2 tests the handshake.
func eventsOverHTTP2(t *testing.T, o Options, f func(t *testing.T, w *site, client *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		w := newSite(t, o)
		var h2 http.Protocols
		h2.SetUnencryptedHTTP2(true)
		w.http.Protocols = &h2
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- w.Serve(l, nil) }()
		dialed := 0
		tr := &http.Transport{Protocols: &h2, DialContext: func(context.Context, string, string) (net.Conn, error) {
			dialed++
			return l.dial(), nil
		}}
		f(t, w, &http.Client{Transport: tr})
		w.Shutdown(t.Context())
		tr.CloseIdleConnections()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if dialed != 1 {
			t.Errorf("%d connections", dialed)
		}
	})
}

// HTTP/2 ends a stream at its write deadline, whether anything is written or not: a
// stream of events must outlive all deadlines.
func TestEventsKeepAliveHTTP2(t *testing.T) {
	// Both are shorter than the time between two events.
	o := Options{IdleTimeout: eventsInterval / 3, RequestTimeout: eventsInterval / 5}
	eventsOverHTTP2(t, o, func(t *testing.T, w *site, client *http.Client) {
		f := follow(t, client, "http://x"+emptyEvents)
		f.next("progress")
		begun := time.Now()
		for i := range 20 {
			f.next("progress")
			if took := time.Since(begun); took != time.Duration(i+1)*eventsInterval {
				t.Fatalf("%d: after %v", i, took)
			}
		}
		w.put("empty", at("a", 1, 2, `{}`))
		f.next("enter")
	})
}

// Of two streams on one connection the unread one ends, and the other continues.
func TestEventsSlowReaderHTTP2(t *testing.T) {
	eventsOverHTTP2(t, Options{IdleTimeout: 30 * time.Second}, func(t *testing.T, w *site, client *http.Client) {
		slow := follow(t, client, "http://x"+emptyEvents)
		slow.next("progress")
		quick := follow(t, client, "http://x"+emptyEvents)
		quick.next("progress")
		// More than the 4 MiB of a stream that Go's client buffers without a reader.
		big := fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", 64<<10))
		for i := range 100 {
			w.put("empty", at(fmt.Sprint(i), 1, 2, big))
			if e := quick.next("enter"); e.feature(t).ID != fmt.Sprint(i) {
				t.Fatalf("%d: %+v", i, e.id)
			}
		}
		begun := time.Now()
		for w.streams.Use().Used > 1 {
			quick.next("progress") // waits for time to pass
			if time.Since(begun) > 10*time.Minute {
				t.Fatal("who takes nothing has the stream still")
			}
		}
		w.put("empty", at("last", 1, 2, `{}`))
		if e := quick.next("enter"); e.feature(t).ID != "last" {
			t.Errorf("%+v", e)
		}
		synctest.Wait()
		if u := w.answers.Use(); u.Used > requestBytes+limits.WatcherBytes+limits.AreaBytes+eventsBatch {
			t.Errorf("%+v", u)
		}
	})
}
