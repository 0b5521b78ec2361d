package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// open is a site of a store that is kept in a directory, with collection empty.
func openSite(t *testing.T, dir string) (w *site, s *httptest.Server, end func()) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Dir: dir, SlabBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Collection("empty"); err != nil {
		if _, err := st.CreateFeatures("empty", store.CollectionOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	server, err := New(nil, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server.ServeFeatures(st)
	w = &site{server, t, st}
	s = httptest.NewServer(w)
	return w, s, func() {
		t.Helper()
		w.Shutdown(context.Background())
		s.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A client that resumes gets all events since, once each, by the header and by the
// parameter, and from a restarted server, too.
func TestEventsResume(t *testing.T) {
	dir := t.TempDir()
	w, s, end := openSite(t, dir)
	written, read := 0, 0
	write := func(n int) {
		for range n {
			w.put("empty", at("a", 1, 2, fmt.Sprintf(`{"n":%d}`, written)))
			written++
		}
	}
	// take reads the next n events, in order, none missing and none twice.
	take := func(f *follower, n int) {
		t.Helper()
		for range n {
			e := f.next("enter", "changed")
			if got := fmt.Sprint(e.feature(t).Properties["n"]); got != fmt.Sprint(read) {
				t.Fatalf("%+v, want %d", e, read)
			}
			read++
		}
	}
	f := follow(t, s.Client(), eventsOf(s, "bbox", "0,0,5,5"))
	f.next("progress")
	write(20)
	take(f, 7)
	f.close()
	write(5)
	last := f.last
	f = follow(t, s.Client(), eventsOf(s), "Last-Event-ID: "+last)
	take(f, 11)
	f.close()
	write(5)
	// The header is newer than the address, which a browser requests again.
	f = follow(t, s.Client(), eventsOf(s, "bbox", "0,0,5,5", "lastEventId", last), "Last-Event-ID: "+f.last)
	take(f, written-read)
	last = f.last
	write(3)
	w.stop()
	f.ends()
	end()

	w, s, end = openSite(t, dir)
	defer end()
	write(3) // before the client reconnects
	f = follow(t, s.Client(), eventsOf(s, "lastEventId", last))
	take(f, 2)
	write(4)
	take(f, written-read)
	revision, _, _ := strings.Cut(f.last, "-")
	f.close()
	write(1)
	f = follow(t, s.Client(), eventsOf(s, "lastEventId", revision)) // a bare revision, as other interfaces have it
	take(f, 1)
}

// A stream that cannot be resumed begins with a reset, and continues.
func TestEventsReset(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	first := position{revision: w.put("empty", at("a", 1, 2, `{}`)), history: w.st.History()}
	w.put("empty", at("a", 1, 2.5, `{}`)) // No client watches now, so this is not kept.
	for i, c := range []struct{ id, reason string }{
		{position{revision: 1 << 62}.String(), "revision 4611686018427387904 is above the last one"},
		{position{revision: 1, history: first.history}.String(), "no longer in the log"},
		{position{revision: first.revision, history: first.history + 1}.String(), fmt.Sprintf("revision %d is of another store, or of this one before it was restored from a backup; search again", first.revision)},
		{first.String(), "first one kept"},
		{position{history: first.history}.String(), "before all writes"},
	} {
		f := follow(t, s.Client(), eventsOf(s), "Last-Event-ID: "+c.id)
		e := f.next("reset")
		if !strings.Contains(e.data, c.reason) || strings.Contains(e.data, "store:") || strings.Contains(e.data, "not given yet") {
			t.Errorf("%s: %+v, want %q", c.id, e, c.reason)
		}
		w.put("empty", at("a", 1, float64(3+i), `{}`))
		if e := f.next("inside"); e.feature(t).ID != "a" {
			t.Errorf("%+v", e)
		}
		f.close()
	}
}

// When a collection is swapped with another one, its stream continues with that one;
// when it is dropped, its stream ends.
func TestEventsSwapDrop(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	if _, err := w.st.CreateFeatures("other", store.CollectionOptions{}); err != nil {
		t.Fatal(err)
	}
	f := follow(t, s.Client(), eventsOf(s))
	f.next("progress")
	if err := w.st.Swap(t.Context(), "empty", "other"); err != nil {
		t.Fatal(err)
	}
	if e := f.next("reset"); !strings.Contains(e.data, "swapped") {
		t.Errorf("%+v", e)
	}
	w.put("other", at("a", 1, 2, `{}`))
	w.put("empty", at("b", 1, 2, `{}`))
	if e := f.next("enter"); e.feature(t).ID != "b" {
		t.Errorf("%+v", e)
	}
	if _, err := w.st.Drop("empty"); err != nil {
		t.Fatal(err)
	}
	f.ends()
	w.problem(w.get(emptyEvents), http.StatusNotFound)
}

// Errors of the request are reported before the stream begins.
func TestEventsRefused(t *testing.T) {
	w := newSite(t, Options{})
	for target, parameter := range map[string]string{
		emptyEvents + "?bbox=1,2,3":                "bbox",
		emptyEvents + "?filter=n+%3C":              "filter",
		emptyEvents + "?filter=colour%20%3D":       "filter",
		emptyEvents + "?limit=1":                   "limit",
		emptyEvents + "?lastEventId=x":             "lastEventId",
		emptyEvents + "?lastEventId=1-":            "lastEventId",
		emptyEvents + "?lastEventId=1-2-":          "lastEventId",
		emptyEvents + "?lastEventId=1-2-2YQ":       "lastEventId",
		emptyEvents + "?lastEventId=1-2-1Y":        "lastEventId",
		emptyEvents + "?lastEventId=-1":            "lastEventId",
		emptyEvents + "?datetime=yesterday":        "datetime",
		emptyEvents + "?filter-lang=sql&filter=1":  "filter-lang",
		emptyEvents + "?bbox=0,0,1,1&bbox=0,0,1,1": "bbox",
	} {
		p := w.problem(w.get(target), http.StatusBadRequest)
		if p.Parameter != parameter || p.Limit == "" && parameter != "filter" {
			t.Errorf("%s: %+v", target, p)
		}
	}
	if p := w.problem(w.get(emptyEvents, "Last-Event-ID: 7;8"), http.StatusBadRequest); p.Parameter != "Last-Event-ID" || p.Value != "7;8" {
		t.Errorf("%+v", p)
	}
	w.problem(w.get(emptyEvents, "Accept: application/json"), http.StatusNotAcceptable)
	w.problem(w.get("/collections/none/events"), http.StatusNotFound)
	w.problem(w.get("/collections/plane/events"), http.StatusNotFound)
	w.problem(w.do(http.MethodPut, emptyEvents, ""), http.StatusMethodNotAllowed)
	for _, accept := range []string{"text/event-stream", "text/html, */*;q=0.8", "text/*"} {
		a := w.do(http.MethodHead, emptyEvents, "", "Accept: "+accept)
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != typeEvents || len(a.body) > 0 {
			t.Errorf("%s, %v, %s", a.Status, a.Header, a.body)
		}
	}
	for _, b := range w.Budgets() {
		if b.Used != 0 {
			t.Errorf("%s: %d are held", b.Name, b.Used)
		}
	}
}
