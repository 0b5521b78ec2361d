package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/access"
)

// sendAll sends a request with a body of n bytes, and reads the answer only after
// sending the whole body.
func sendAll(t *testing.T, addr, head string, n int, chunked bool) (res *http.Response, body string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	length := fmt.Sprintf("Content-Length: %d", n)
	if chunked {
		length = "Transfer-Encoding: chunked"
	}
	ask(t, c, head+length+"\n\n")
	text := strings.Repeat(" ", 1<<20)
	if chunked {
		text = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
	}
	for range n >> 20 {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatalf("sending: %v", err)
		}
	}
	if chunked {
		_, err = io.WriteString(c, "0\r\n\r\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if res, err = http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("more than an answer")
	}
	return res, string(b)
}

// A client that sends too much reads the answer that says so; so does one without a role.
func TestRefusedWhileSending(t *testing.T) {
	keys, k := keysOf(t, access.Entry{Roles: []string{"*:write"}})
	w := newSite(t, Options{Keys: keys})
	addr := w.serveTCP(t, nil)
	for _, chunked := range []bool{false, true} {
		for _, c := range []struct {
			head   string
			bytes  int
			status int
		}{
			{"POST " + empty + " HTTP/1.1\nHost: localhost\nContent-Type: application/json\nX-API-Key: " + k[0] + "\n", 64 << 20, http.StatusRequestEntityTooLarge},
			{"POST " + empty + " HTTP/1.1\nHost: localhost\nContent-Type: application/json\n", 8 << 20, http.StatusUnauthorized},
			{"PUT /none HTTP/1.1\nHost: localhost\n", 8 << 20, http.StatusNotFound},
			{"PUT " + empty + " HTTP/1.1\nHost: localhost\n", 8 << 20, http.StatusMethodNotAllowed},
		} {
			res, body := sendAll(t, addr, c.head, c.bytes, chunked)
			if res.StatusCode != c.status || !res.Close || c.status == 413 && !strings.Contains(body, "more than 8388608 bytes") {
				t.Errorf("chunked %v: %s, close %v, %s, want %d", chunked, res.Status, res.Close, body, c.status)
			}
		}
	}
	if u := w.answers.Use(); u.Used != 0 {
		t.Errorf("%+v is held", u)
	}
}

// A refused client that sends without an end loses the connection in time, and holds
// little memory until then.
func TestEndlessRefusedBody(t *testing.T) {
	w := newSite(t, Options{})
	for _, pause := range []time.Duration{time.Second, time.Hour} {
		inBubble(t, w, Options{}, func(t *testing.T, s *Server, l *pipes) {
			c := l.dial()
			begun := time.Now()
			ask(t, c, "PUT /collections/empty/items/a HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: 1000000000\n\n{")
			if status, text := answerOf(t, c); status != http.StatusRequestEntityTooLarge {
				t.Errorf("%d: %s", status, text)
			}
			synctest.Wait()
			if n := s.answers.Use().Used; n != requestBytes {
				t.Errorf("%d bytes are held", n)
			}
			ended := make(chan struct{})
			go func() {
				for {
					_, err := c.Write(make([]byte, 64<<10))
					select {
					case <-time.After(pause):
					case <-ended:
						return
					}
					if err != nil {
						return
					}
				}
			}()
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > DefaultRequestTimeout+time.Second {
				t.Errorf("the connection ended after %v", took)
			}
			c.Close()
			close(ended)
		})
	}
}

// A chunked body ends its connection, so the server does not serve whatever a proxy
// takes for the next request: it does not see whether there was a Content-Length, too.
func TestRequestSmuggling(t *testing.T) {
	w := newSite(t, Options{})
	addr := w.serveTCP(t, nil)
	const hidden = "DELETE /collections/countries/items/AD HTTP/1.1\r\nHost: localhost\r\n\r\n"
	body := point(1, 2, `{}`)
	for _, target := range []string{"PUT " + empty + "/a", "PUT //nothing", "PUT /nothing", "GET " + countries, "POST " + countries, "OPTIONS " + countries} {
		for _, length := range []string{"Content-Length: 4\n", fmt.Sprintf("Content-Length: %d\n", len(body)), ""} {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			ask(t, c, target+" HTTP/1.1\nHost: localhost\nContent-Type: application/geo+json\n"+length+"Transfer-Encoding: chunked\n\n"+
				fmt.Sprintf("%x\n%s\n0\n\n", len(body), body)+hidden)
			r := bufio.NewReader(c)
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				t.Error(err)
			}
			res.Body.Close()
			if _, err := r.ReadByte(); err == nil || !res.Close {
				t.Errorf("%s, %q: %s, close %v, and another answer: %v", target, length, res.Status, res.Close, err == nil)
			}
			c.Close()
		}
	}
	w.must(w.get(countries+"/items/AD"), http.StatusOK)
	// With only a Content-Length the connection stays open.
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		ask(t, c, fmt.Sprintf("PUT "+empty+"/a HTTP/1.1\nHost: localhost\nContent-Type: application/geo+json\nContent-Length: %d\n\n%s", len(body), body))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.Close {
			t.Fatal(res, err)
		}
		res.Body.Close()
	}
}
