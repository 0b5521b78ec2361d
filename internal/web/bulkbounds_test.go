package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

const postLines = "POST /collections/empty/items HTTP/1.1\nHost: x\nContent-Type: application/x-ndjson\nTransfer-Encoding: chunked\n"

// sendChunk sends a part of a chunked body.
func sendChunk(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(text), text); err != nil {
		t.Fatal(err)
	}
}

func (w *site) has(id string) bool {
	w.t.Helper()
	_, err := w.coll("empty").Get(w.t.Context(), id)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		w.t.Fatal(err)
	}
	return err == nil
}

// An upload may take any time if something arrives now and then; what has arrived is
// stored at once. A stalled upload ends, and its stored features stay.
func TestStalledUploadEnds(t *testing.T) {
	w := newSite(t, Options{})
	inBubble(t, w, Options{IdleTimeout: 30 * time.Second, MaxStreams: 4}, func(t *testing.T, s *Server, l *pipes) {
		stalled, steady, third := l.dial(), l.dial(), l.dial()
		ask(t, stalled, postLines+"\n")
		sendChunk(t, stalled, withID("stalled", 1, 2)+"\n{")
		ask(t, steady, postLines+"Connection: close\n\n")
		for i := range 10 {
			id := fmt.Sprint("steady", i)
			sendChunk(t, steady, withID(id, 1, 2)+"\n")
			synctest.Wait()
			if !w.has(id) {
				t.Errorf("%s is not stored before the next comes", id)
			}
			if i == 0 {
				if u := s.streams.Use(); u.Used != 2 || s.answers.Use().Used > 2*(requestBytes+2*firstRead+decoded*200) {
					t.Errorf("two uploads have %d places and hold %d bytes", u.Used, s.answers.Use().Used)
				}
				// A source has half of the places.
				ask(t, third, postLines+"Connection: close\n\n")
				if status, body := answerOf(t, third); status != http.StatusServiceUnavailable {
					t.Errorf("a third upload: %d: %s", status, body)
				}
			}
			time.Sleep(20 * time.Second)
			if i == 1 {
				status, body := answerOf(t, stalled)
				if status != http.StatusRequestTimeout || !strings.Contains(body, "nothing of the body came for 30s; 1 features were stored before") ||
					!strings.Contains(body, `"uploaded":{"received":1,"created":1,`) {
					t.Errorf("%d: %s", status, body)
				}
			}
		}
		if _, err := io.WriteString(steady, "0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if status, body := answerOf(t, steady); status != http.StatusOK || !strings.Contains(body, `"created":10,`) {
			t.Errorf("after %v: %d: %s", DefaultRequestTimeout, status, body)
		}
	})
	if !w.has("stalled") {
		t.Error("what was stored is gone")
	}
}

// An upload ends when the server stops, and says what was stored.
func TestUploadEndsWithServer(t *testing.T) {
	w := newSite(t, Options{})
	inBubble(t, w, Options{}, func(t *testing.T, s *Server, l *pipes) {
		c := l.dial()
		ask(t, c, postLines+"\n")
		sendChunk(t, c, withID("a", 1, 2)+"\n")
		synctest.Wait()
		s.stop()
		if status, body := answerOf(t, c); status != http.StatusServiceUnavailable || !strings.Contains(body, "1 features were stored before, and stay") {
			t.Errorf("%d: %s", status, body)
		}
	})
}

// Results as lines come while the client still sends.
func TestUploadResultsWhileSending(t *testing.T) {
	w := newSite(t, Options{})
	inBubble(t, w, Options{}, func(t *testing.T, _ *Server, l *pipes) {
		c := l.dial()
		ask(t, c, postLines+"Accept: application/x-ndjson\nConnection: close\n\n")
		sendChunk(t, c, withID("a", 1, 2)+"\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		for i, id := range []string{"a", "b", "c"} {
			line, err := lines.ReadString('\n')
			if err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"index":%d,"id":%q,"status":"created"`, i, id)) {
				t.Errorf("%q, %v", line, err)
			}
			if id != "c" {
				sendChunk(t, c, withID(string(rune(id[0]+1)), 1, 2)+"\n")
			}
		}
		if _, err := io.WriteString(c, "0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(lines); err != nil || string(rest) != `{"received":3,"created":3,"replaced":0,"rejected":0}`+"\n" {
			t.Errorf("%s, %v", rest, err)
		}
	})
}

// A client that reads none of its lines loses the connection in time, with little held.
func TestUploadWithUnreadResults(t *testing.T) {
	w := newSite(t, Options{})
	inBubble(t, w, Options{IdleTimeout: 30 * time.Second}, func(t *testing.T, s *Server, l *pipes) {
		c := l.dial()
		ask(t, c, postLines+"Accept: application/x-ndjson\n\n")
		begun, most := time.Now(), int64(0)
		for i := 0; ; i++ {
			line := withID(fmt.Sprint(i), 1, 2) + "\n"
			if _, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(line), line); err != nil {
				break
			}
			most = max(most, s.answers.Use().Used)
		}
		if took := time.Since(begun); took > time.Minute || most > 1<<20 {
			t.Errorf("it ended after %v, and held %d bytes", took, most)
		}
		synctest.Wait()
		if u := s.answers.Use(); u.Used != 0 {
			t.Errorf("%+v is held", u)
		}
	})
}

// endlessText is n lines; it also counts the memory held meanwhile.
type endlessText struct {
	of   *Server
	n, i int
	line func(i int) string
	rest string
	most int64
	sent int64
}

func (e *endlessText) Read(p []byte) (int, error) {
	if e.rest == "" {
		if e.i == e.n {
			return 0, io.EOF
		}
		e.rest = e.line(e.i)
		e.i++
	}
	n := copy(p, e.rest)
	e.rest, e.sent, e.most = e.rest[n:], e.sent+int64(n), max(e.most, e.of.answers.Use().Used)
	return n, nil
}

// upload posts a body of any length.
func (w *site) upload(t *testing.T, body io.Reader, headers ...string) []byte {
	t.Helper()
	s := w.serveTest(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+empty, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("%s, %v: %s", res.Status, err, b)
	}
	return b
}

// A body far larger than the memory for it is stored, with little memory held: it has
// three times what a source may hold. Features of 20 KB and of 200 bytes alternate.
func TestUploadLargerThanMemory(t *testing.T) {
	const share = 4 << 20
	w := newSite(t, Options{MaxAnswerBytes: 2 * share})
	large := strings.Repeat("x", 20<<10)
	in := &endlessText{of: w.Server, n: 1400, line: func(i int) string {
		if i%2 == 0 {
			return withID(fmt.Sprint(i), 1, 2) + "\n"
		}
		return strings.Replace(withID(fmt.Sprint(i), 1, 2), `"a":`, `"b":"`+large+`","a":`, 1) + "\n"
	}}
	var u uploaded
	if err := json.Unmarshal(w.upload(t, in, asNDJSON), &u); err != nil || u.Created != in.n || w.coll("empty").Len() != in.n {
		t.Errorf("%+v, %v", u, err)
	}
	if in.sent < 3*share || in.most > share/2 {
		t.Errorf("of %d bytes %d were held", in.sent, in.most)
	}
}

var badFeatures = flag.Int("bad", 50_000, "bad features of an upload, a multiple of 1000")

// Any number of bad features is counted, and reported as far as there is room; a good
// one between them is stored.
func TestUploadOfBadFeatures(t *testing.T) {
	n := *badFeatures
	w := newSite(t, Options{})
	good := withID("good", 1, 2) + "\n"
	in := &endlessText{of: w.Server, n: n / 1000, line: func(i int) string {
		if i == 20 {
			return strings.Repeat("x\n", 1000) + good
		}
		return strings.Repeat("x\n", 1000)
	}}
	var u uploaded
	if err := json.Unmarshal(w.upload(t, in, asNDJSON), &u); err != nil || u.Rejected != n || u.Created != 1 || len(u.Errors) != toldErrors || !w.has("good") {
		t.Errorf("%d errors, %+v, %v", len(u.Errors), u.Rejected, err)
	}
	if in.most > 1<<20 {
		t.Errorf("%d bytes were held", in.most)
	}
	in.i = 0
	if lines := strings.Count(string(w.upload(t, in, asNDJSON, inLines)), "\n"); lines != n+2 {
		t.Errorf("%d lines", lines)
	}
	if in.most > 1<<20 {
		t.Errorf("%d bytes were held", in.most)
	}
}

// ringOf is a ring of n positions, as text.
func ringOf(n int) string {
	var b strings.Builder
	for i := range n {
		a := 2 * math.Pi * float64(i%(n-1)) / float64(n-1)
		fmt.Fprintf(&b, ",[%v,%v]", math.Cos(a), math.Sin(a))
	}
	return "[" + b.String()[1:] + "]"
}

// Uploads share scheduling slots with other long requests.
func TestUploadSharesSlots(t *testing.T) {
	w := newSiteOf(t, store.Options{Now: stoppedClock}, Options{})
	h := &countingHost{Alone: limits.Alone{Slots: limits.NewSlots(1)}}
	w.host = h
	rings := make([]string, 200) // Checking one polygon takes a while.
	for i := range rings {
		rings[i] = fmt.Sprintf(`{"type":"Feature","id":"%d","properties":{},"geometry":{"type":"Polygon","coordinates":[%s]}}`, i, ringOf(500))
	}
	w.must(w.do("POST", empty, strings.Join(rings, "\n"), asNDJSON), http.StatusOK)
	if n := h.begun.Load(); n < 5 {
		t.Errorf("%d turns", n)
	}
	// A finished upload releases its slot.
	if err := h.RunStep(t.Context(), "next", func() {}); err != nil || h.active.Load() != 0 {
		t.Errorf("%d turns are kept, %v", h.active.Load(), err)
	}
}
