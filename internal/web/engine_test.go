package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeRoom is an Engine without a server.
type fakeRoom struct {
	mu        sync.Mutex
	keys      []string
	stops     int
	requests  int
	failed    int
	err       error
	snapshots chan EngineSnapshot
	following sync.WaitGroup
}

func (f *fakeRoom) Describe() EngineInfo {
	return EngineInfo{Version: "v1", Transports: []EngineTransport{{Name: "shm", Words: "shared memory, no RDMA hardware"}}}
}

func (f *fakeRoom) Follow() (<-chan EngineSnapshot, func()) {
	f.following.Add(1)
	return f.snapshots, f.following.Done
}

func (f *fakeRoom) Start(l EngineLoad, key string) (EngineLoad, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = append(f.keys, key)
	return l, f.err
}

func (f *fakeRoom) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stops++
}

func (f *fakeRoom) Observe(_ time.Duration, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if failed {
		f.failed++
	}
}

func (f *fakeRoom) Close() {}

func newFakeRoom() *fakeRoom { return &fakeRoom{snapshots: make(chan EngineSnapshot)} }

func TestEngine(t *testing.T) {
	room := newFakeRoom()
	w := newSite(t, Options{Engine: room})
	if doc := w.json("/engine"); doc["version"] != "v1" {
		t.Errorf("engine: %v", doc)
	}
	w.problem(w.get("/engine?colour=red"), http.StatusBadRequest)
	const asJSON = "Content-Type: application/json"
	a := w.do("POST", "/engine/load", `{"clients": 3, "seconds": 4, "collection": "countries", "policy": "cost"}`, asJSON)
	var l EngineLoad
	if err := json.Unmarshal(a.body, &l); err != nil || a.StatusCode != http.StatusAccepted || l != (EngineLoad{3, 4, "countries", "cost"}) {
		t.Errorf("load: %s %s %v", a.Status, a.body, err)
	}
	for _, bad := range []string{"", "[]", `{"clients": "3"}`, `{"colour": 3}`, `{} {}`, `{"clients": 1.5}`} {
		w.problem(w.do("POST", "/engine/load", bad, asJSON), http.StatusBadRequest)
	}
	w.problem(w.do("POST", "/engine/load", "{}"), http.StatusUnsupportedMediaType)
	// A page of another site cannot start a load.
	w.problem(w.do("POST", "/engine/load", "{}", asJSON, "Sec-Fetch-Site: cross-site"), http.StatusForbidden)
	w.problem(w.do("DELETE", "/engine/load", "", "Sec-Fetch-Site: cross-site"), http.StatusForbidden)
	for err, status := range map[error]int{ErrEngineOff: 403, ErrEngineBusy: 409, ErrEngineLoad: 400, errors.New("x"): 500} {
		room.err = fmt.Errorf("%w: why", err)
		w.problem(w.do("POST", "/engine/load", "{}", asJSON), status)
	}
	if a := w.do("DELETE", "/engine/load", ""); a.StatusCode != http.StatusNoContent || room.stops != 1 {
		t.Errorf("DELETE: %s, stopped %d times", a.Status, room.stops)
	}
	if room.requests < 10 || room.failed != 1 {
		t.Errorf("the room has counted %d requests, %d of them failed, want 1 that failed", room.requests, room.failed)
	}
	if a := newSite(t, Options{}).get("/engine"); a.StatusCode != http.StatusNotFound {
		t.Errorf("without an engine: %s", a.Status)
	}
}

// Only an administrator's key may look at the whole server; the load uses the same key.
func TestEngineKeys(t *testing.T) {
	keys, k := testKeys(t, "countries:admin", "*:write", "*:admin")
	room := newFakeRoom()
	w := newSite(t, Options{Engine: room, Keys: keys})
	for _, at := range []string{"GET /engine", "GET /engine/events", "POST /engine/load", "DELETE /engine/load"} {
		method, path, _ := strings.Cut(at, " ")
		w.problem(w.do(method, path, "{}"), http.StatusUnauthorized)
		for _, key := range k[:2] {
			w.problem(w.do(method, path, "{}", "X-API-Key: "+key), http.StatusForbidden)
		}
	}
	a := w.do("POST", "/engine/load", "{}", "X-API-Key: "+k[2], "Content-Type: application/json")
	if a.StatusCode != http.StatusAccepted || len(room.keys) != 1 || room.keys[0] != k[2] || room.stops != 0 {
		t.Errorf("%s; the engine was given %d keys", a.Status, len(room.keys))
	}
}

// Snapshots arrive one by one, and the stream ends when the server stops.
func TestEngineEvents(t *testing.T) {
	room := newFakeRoom()
	w := newSite(t, Options{Engine: room, MaxStreams: 2})
	h := httptest.NewServer(w)
	defer h.Close()
	follow := func() (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/engine/events", http.NoBody)
		if err != nil {
			return nil, err
		}
		return h.Client().Do(r)
	}
	res, err := follow()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if ct := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || ct != typeEvents {
		t.Fatalf("%s, %s", res.Status, ct)
	}
	// One source may have half of the streams.
	if more, err := follow(); err != nil || more.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second stream: %v, %v", more, err)
	} else {
		more.Body.Close()
	}
	from := bufio.NewReader(res.Body)
	for i := range 3 {
		service := EngineService{Name: "grpc", Requests: 3, Failed: 1, P50: 20, P99: 400, Streams: i}
		room.snapshots <- EngineSnapshot{Seconds: float64(i), Server: EngineServer{Services: []EngineService{service}}, Clients: []EngineClient{{Name: "load-1", Histogram: []int64{1, 2}}}}
		e, err := readEvent(from)
		var s EngineSnapshot
		if err == nil {
			err = json.Unmarshal([]byte(e.data), &s)
		}
		if err != nil || e.name != "snapshot" || s.Seconds != float64(i) || len(s.Clients) != 1 || s.Run != nil || len(s.Server.Services) != 1 || s.Server.Services[0] != service {
			t.Fatalf("event %d: %+v, %v", i, e, err)
		}
	}
	w.Shutdown(context.Background())
	if e, err := readEvent(from); err != nil || e.retry == "" {
		t.Errorf("at the end: %+v, %v", e, err)
	}
	room.following.Wait() // No client follows any more.
}
