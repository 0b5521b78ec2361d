package web

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fakeEngine gives a sample whenever one is sent.
type fakeEngine struct {
	samples chan string
	started []string
	refuse  error
	stopped int
}

func (e *fakeEngine) About() any { return map[string]string{"version": "v<1>"} }

func (e *fakeEngine) Next(ctx context.Context, after uint64) ([]byte, uint64, error) {
	select {
	case s := <-e.samples:
		return []byte(s), after + 1, nil
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

func (e *fakeEngine) Start(l Load, key string) error {
	e.started = append(e.started, fmt.Sprint(l, key))
	return e.refuse
}

func (e *fakeEngine) Stop() { e.stopped++ }

// TestEngine: what it is, samples as they come, loads started and ended.
func TestEngine(t *testing.T) {
	e := &fakeEngine{samples: make(chan string)}
	w := newSite(t, Options{Engine: e})
	if a := w.get("/engine"); a.StatusCode != http.StatusOK || strings.TrimSpace(string(a.body)) != `{"version":"v<1>"}` {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	s := httptest.NewServer(w)
	defer s.Close()
	res, err := s.Client().Get(s.URL + "/engine/events")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	next := func() (text string) {
		for lines.Scan() && lines.Text() != "" {
			text += lines.Text() + "|"
		}
		return text
	}
	if got := next(); got != "event: about|data: {}|" || res.Header.Get("Content-Type") != typeEvents {
		t.Errorf("%q, %v", got, res.Header)
	}
	for _, sample := range []string{`{"cpu":0.5}`, `{"cpu":0.25}`} {
		e.samples <- sample
		if got := next(); got != "event: sample|data: "+sample+"|" {
			t.Errorf("%q", got)
		}
	}
	res.Body.Close()

	post := func(body string, headers ...string) answer {
		return w.do(http.MethodPost, "/engine/load", body, append(headers, "Content-Type: application/json")...)
	}
	if a := post(`{"collection":"cafes","clients":4,"seconds":20,"policy":"paper"}`); a.StatusCode != http.StatusAccepted {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if len(e.started) != 1 || e.started[0] != "{cafes 4 20 paper}" {
		t.Errorf("%q", e.started)
	}
	for want, refuse := range map[int]error{
		http.StatusForbidden: ErrNoLoad, http.StatusConflict: ErrLoadRuns, http.StatusBadRequest: fmt.Errorf("%w: clients is 99", ErrBadLoad),
	} {
		e.refuse = refuse
		if a := post(`{}`); a.StatusCode != want || !strings.Contains(string(a.body), refuse.Error()) {
			t.Errorf("%s: %s, want %d", a.Status, a.body, want)
		}
	}
	if a := post(`[`); a.StatusCode != http.StatusBadRequest {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if a := post(`{}`, "Sec-Fetch-Site: cross-site"); a.StatusCode != http.StatusForbidden {
		t.Errorf("from another site: %s", a.Status)
	}
	if a := w.do(http.MethodDelete, "/engine/load", ""); a.StatusCode != http.StatusNoContent || e.stopped != 1 {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if a := w.get("/engine?x=1"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	if a := newSite(t, Options{}).get("/engine"); a.StatusCode != http.StatusNotFound {
		t.Errorf("without an engine: %s", a.Status)
	}
}

// TestEngineKeys: only keys for all collections.
func TestEngineKeys(t *testing.T) {
	keys, k := testKeys(t, "*:admin", "countries:admin", "*:write")
	e := &fakeEngine{}
	w := newSite(t, Options{Engine: e, Keys: keys})
	for i, want := range []int{http.StatusOK, http.StatusForbidden, http.StatusForbidden} {
		if a := w.get("/engine", "X-API-Key: "+k[i]); a.StatusCode != want {
			t.Errorf("key %d: %s", i, a.Status)
		}
	}
	for i, want := range []int{http.StatusAccepted, http.StatusForbidden} {
		if a := w.do(http.MethodPost, "/engine/load", "{}", "X-API-Key: "+k[i], "Content-Type: application/json"); a.StatusCode != want {
			t.Errorf("key %d: %s", i, a.Status)
		}
	}
	if a := w.get("/engine/events"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("no key: %s", a.Status)
	}
	if len(e.started) != 1 || !strings.HasSuffix(e.started[0], k[0]) {
		t.Errorf("%q", e.started)
	}
}
