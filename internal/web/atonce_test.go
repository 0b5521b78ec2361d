package web

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// writesOf counts the writes to its connections.
type writesOf struct {
	net.Listener
	n atomic.Int64
}

func (l *writesOf) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l}, err
}

type countedConn struct {
	net.Conn
	of *writesOf
}

func (c countedConn) Write(p []byte) (int, error) {
	c.of.n.Add(1)
	return c.Conn.Write(p)
}

// An answer of up to 16 KiB is sent in one write; the connection then serves other
// requests, with answers of any size.
func TestSmallAnswerIsOneWrite(t *testing.T) {
	w := newSite(t, Options{})
	w.points(400)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &writesOf{Listener: inner}
	served := make(chan error, 1)
	go func() { served <- w.Serve(l, nil) }()
	defer func() {
		w.Shutdown(t.Context())
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	c, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	least, most := 0, 0
	for _, query := range []string{"?limit=1", "?limit=60", "?limit=400", "?limit=80", "?limit=2&bbox=0,0,1", "?limit=70&f=html"} {
		before := l.n.Load()
		ask(t, c, "GET "+empty+query+" HTTP/1.1\nHost: localhost\n\n")
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(query, err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || int64(len(body)) != res.ContentLength || len(res.TransferEncoding) > 0 {
			t.Fatalf("%s: %d bytes of %d, %q, %v", query, len(body), res.ContentLength, res.TransferEncoding, err)
		}
		// The answer equals that without a connection, except for the time.
		want := w.get(empty + query)
		if at := strings.Index(string(body), `"timeStamp"`); res.StatusCode != want.StatusCode ||
			strings.ReplaceAll(string(body[:max(0, at)]), "http://localhost/", "http://example.com/") != string(want.body[:max(0, strings.Index(string(want.body), `"timeStamp"`))]) {
			t.Errorf("%s: another answer: %s", query, res.Status)
		}
		if writes := l.n.Load() - before; len(body) <= gathered && writes != 1 {
			t.Errorf("%s: %d bytes in %d writes", query, len(body), writes)
		}
		if len(body) <= gathered {
			least = max(least, len(body))
		}
		most = max(most, len(body))
	}
	if least <= 4<<10 || most <= gathered {
		t.Errorf("answers of at most %d bytes, of which %d were to be sent at once", most, least)
	}
}

// A client that does not read a small answer loses the connection, too.
func TestSlowReaderOfSmallAnswer(t *testing.T) {
	w := newSite(t, Options{})
	w.points(50)
	inBubble(t, w, Options{IdleTimeout: 30 * time.Second}, func(t *testing.T, s *Server, l *pipes) {
		c := l.dial()
		defer c.Close()
		ask(t, c, "GET "+empty+"?limit=50 HTTP/1.1\nHost: localhost\n\n")
		synctest.Wait()
		if s.conns.Open.Use().Used != 1 || s.answers.Use().Used == 0 {
			t.Errorf("%+v %+v: want a connection and an answer", s.conns.Open.Use(), s.answers.Use())
		}
		time.Sleep(30*time.Second + 1)
		synctest.Wait()
		if s.conns.Open.Use().Used != 0 || s.answers.Use().Used != 0 {
			t.Errorf("%+v %+v: want nothing", s.conns.Open.Use(), s.answers.Use())
		}
		if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read %d, %v", n, err)
		}
	})
}

// Links are written as encoding/json and net/url write them.
func TestLinksMatchEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		s := text.Draw(t, "escaped")
		if got, want := string(appendEscaped(nil, s)), url.QueryEscape(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		links := []link{}
		for range rapid.IntRange(0, 3).Draw(t, "links") {
			links = append(links, link{text.Draw(t, "href"), text.Draw(t, "rel"), text.Draw(t, "type"), text.Draw(t, "title")})
		}
		want, err := marshal(links)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendLinks(nil, links)) + "\n"; got != string(want) {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
