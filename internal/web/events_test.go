package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

// sent is one event as a client reads it.
type sent struct {
	id, name, data, retry string
}

// feature is the feature of an event.
func (e *sent) feature(t testing.TB) (f struct {
	Type, ID, Why string
	Revision      uint64
	Properties    map[string]any
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(e.data), &f); err != nil {
		t.Fatalf("%v: %+v", err, e)
	}
	return f
}

// readEvent reads an event as the standard says (HTML, 9.2.6).
func readEvent(r *bufio.Reader) (e sent, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return e, err // An incomplete event is none.
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data += value
		case "retry":
			e.retry = value
		case "":
			return e, nil
		default:
			return e, fmt.Errorf("%q is no field", line)
		}
	}
}

// follower is a client that follows an area.
type follower struct {
	t    testing.TB
	res  *http.Response
	r    *bufio.Reader
	last string // id
}

// follow begins to follow, with headers.
func follow(t testing.TB, client *http.Client, address string, headers ...string) *follower {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t: t, res: res, r: bufio.NewReader(res.Body)}
	t.Cleanup(f.close)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != typeEvents || res.Header.Get("Cache-Control") != "no-store" {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %s, %v: %s", address, res.Status, res.Header, b)
	}
	return f
}

func (f *follower) close() { f.res.Body.Close() }

// next returns the next event other than progress; it must have one of the names.
func (f *follower) next(names ...string) sent {
	f.t.Helper()
	for {
		e, err := readEvent(f.r)
		if err != nil {
			f.t.Fatalf("%v, want an event %q", err, names)
		}
		if e.id == "" || e.data == "" {
			f.t.Fatalf("%+v", e)
		}
		if e.name == "progress" && !slices.Contains(names, "progress") {
			continue
		}
		f.last = e.id
		if !slices.Contains(names, e.name) {
			f.t.Fatalf("%+v, want %q", e, names)
		}
		return e
	}
}

// ends reads to the end of the stream, and returns the retry delay sent there.
func (f *follower) ends() (retry string) {
	f.t.Helper()
	for {
		e, err := readEvent(f.r)
		if err != nil {
			if !errors.Is(err, io.EOF) || retry == "" {
				f.t.Errorf("%v, retry %q", err, retry)
			}
			return retry
		}
		if e.retry != "" {
			retry = e.retry
		}
	}
}

// serveTest serves the site over a socket.
func (w *site) serveTest(t testing.TB) *httptest.Server {
	s := httptest.NewServer(w)
	t.Cleanup(func() {
		w.stop()
		s.Close()
	})
	return s
}

const emptyEvents = "/collections/empty/events"

func eventsOf(s *httptest.Server, query ...string) string {
	v := url.Values{}
	for i := 0; i < len(query); i += 2 {
		v.Set(query[i], query[i+1])
	}
	return s.URL + emptyEvents + "?" + v.Encode()
}

func at(id string, lon, lat float64, properties string) store.Feature {
	return store.Feature{ID: id, Geometry: orb.Point{lon, lat}, Properties: json.RawMessage(properties)}
}

func (w *site) delete(collection, id string) {
	w.t.Helper()
	if _, err := w.coll(collection).Delete(context.Background(), id, kv.Condition{}); err != nil {
		w.t.Fatal(err)
	}
}

// Filters that take many steps with a feature give the same events, whether the store
// judges them or, as those under OR with an area, the stream.
func TestEventsOfSlowFilters(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	w.put("empty", at("first", 9, 9, `{"s":"b"}`)) // makes s a known property
	slow := "NOT s LIKE '" + strings.Repeat("%a_", 30) + "b'"
	for _, filter := range []string{slow, slow + " OR S_WITHIN(geometry, BBOX(50, 50, 51, 51))"} {
		f := follow(t, s.Client(), eventsOf(s, "filter", filter))
		for i, want := range []string{"enter", "changed", "exit"} {
			text := strings.Repeat("a", 4000+i)
			if want == "exit" {
				text += "b"
			}
			w.put("empty", at("x", 1, 1, `{"s":"`+text+`"}`))
			if e := f.next(want); e.name != want {
				t.Errorf("%+v", e)
			}
		}
		// Exceeding the limit gives no event, and the error is not ignored.
		w.put("empty", at("x", 1, 1, `{"s":"`+strings.Repeat("a", 20_000)+`"}`))
		if e := f.next("reset"); !strings.Contains(e.data, "units") {
			t.Errorf("%+v", e)
		}
		w.delete("empty", "x")
		f.close()
	}
}

// Each kind of event, in an area over 180 degrees.
func TestEvents(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	w.put("empty", at("c", 0, 0, `{"kind":"ship"}`)) // Now a feature has that property.
	f := follow(t, s.Client(), eventsOf(s, "bbox", "170,-10,-170,10", "kind", "ship"))
	f.next("progress")
	w.put("empty", at("a", 0, 0, `{"kind":"ship"}`))   // outside
	w.put("empty", at("b", 180, 0, `{"kind":"tree"}`)) // not a ship
	for i, c := range []struct {
		write func()
		name  string
		why   string
	}{
		{func() { w.put("empty", at("a", 175, 0, `{"kind":"ship"}`)) }, "enter", ""},
		{func() { w.put("empty", at("a", -175, 0, `{"kind":"ship"}`)) }, "inside", ""},
		{func() { w.put("empty", at("a", -175, 0, "{\"kind\":\"ship\",\n\r\n\"n\":\"\\n\"}")) }, "changed", ""},
		{func() { w.put("empty", store.Feature{ID: "a", Properties: json.RawMessage(`{"kind":"ship"}`)}) }, "inside", ""}, // without a geometry
		{func() { w.put("empty", at("a", -160, 0, `{"kind":"ship"}`)) }, "exit", "moved"},
		{func() { w.put("empty", at("a", -180, 0, `{"kind":"ship"}`)) }, "enter", ""},
		{func() { w.put("empty", at("a", -180, 0, `{"kind":"raft"}`)) }, "exit", "filtered"},
		{func() { w.put("empty", at("a", -180, 0, `{"kind":"ship"}`)) }, "enter", ""},
		{func() { w.delete("empty", "a") }, "exit", "deleted"},
	} {
		c.write()
		e := f.next(c.name)
		g := e.feature(t)
		if g.Type != "Feature" || g.ID != "a" || g.Why != c.why || g.Properties["kind"] == nil || e.id != fmt.Sprintf("%d-%016x", g.Revision, w.st.History()) {
			t.Errorf("%d: %+v", i, e)
		}
		if i == 2 && g.Properties["n"] != "\n" {
			t.Errorf("%+v", e)
		}
	}
}

// A client that searches once and then applies the events has the same features as a
// search finds, whatever the filter is.
func TestEventsReproduceSearch(t *testing.T) {
	const area = "POLYGON((0 0,10 0,10 10,0 10,0 0))"
	for filter, in := range map[string]float64{ // a place, its longitude and latitude, where one with n = 4 matches
		"n > 3": 5,
		"S_INTERSECTS(geometry," + area + ") AND n > 3":                                               5,
		"NOT S_INTERSECTS(geometry," + area + ")":                                                     20,
		"S_INTERSECTS(geometry," + area + ") OR n > 3":                                                5,
		"NOT (S_WITHIN(geometry," + area + ") AND n IN (1))":                                          5,
		"S_INTERSECTS(geometry,BBOX(0,0,10,10)) AND S_INTERSECTS(geometry,BBOX(2,2,14,14)) AND n < 7": 5,
	} {
		t.Run(filter, func(t *testing.T) {
			w := newSite(t, Options{})
			s := w.serveTest(t)
			r := rand.New(rand.NewPCG(1, 2))
			w.put("empty", at("a", 5, 5, `{"n":4}`)) // so that the schema has n
			f := follow(t, s.Client(), eventsOf(s, "filter", filter))
			f.next("progress")
			items := empty + "?limit=100&filter=" + url.QueryEscape(filter)
			has, _ := w.walk(items)
			for range 300 {
				id := string(rune('a' + r.IntN(8)))
				if r.IntN(4) == 0 {
					_, err := w.coll("empty").Delete(t.Context(), id, kv.Condition{})
					if err != nil && !errors.Is(err, kv.ErrNotFound) {
						t.Fatal(err)
					}
					continue
				}
				w.put("empty", at(id, float64(r.IntN(14)), float64(r.IntN(14)), fmt.Sprintf(`{"n":%d}`, r.IntN(8))))
			}
			w.put("empty", at("last", in, in, `{"n":4}`))
			kinds := map[string]int{}
			for !slices.Contains(has, "last") {
				e := f.next("enter", "inside", "changed", "exit")
				kinds[e.name]++
				id := e.feature(t).ID
				if slices.Contains(has, id) == (e.name == "enter") {
					t.Errorf("%+v, and there were %q", e, has)
				}
				has = slices.DeleteFunc(has, func(s string) bool { return s == id })
				if e.name != "exit" {
					has = append(has, id)
				}
			}
			slices.Sort(has)
			if want, _ := w.walk(items); !slices.Equal(has, want) {
				t.Errorf("by events %q, by search %q", has, want)
			}
			if len(kinds) < 3 || kinds["enter"] < 10 {
				t.Errorf("%v", kinds)
			}
		})
	}
}
