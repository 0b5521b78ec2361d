package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Probes need no key, and a server is ready when its features are loaded.
func TestProbes(t *testing.T) {
	keys, _ := testKeys(t, "countries:read")
	s, err := New(nil, Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	probe := func(path string, want int) {
		t.Helper()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, want, w.Body)
		}
	}
	probe("/healthz", http.StatusOK)
	probe("/readyz", http.StatusServiceUnavailable)
	s.ServeFeatures(newSite(t, Options{}).st)
	probe("/readyz", http.StatusOK)
	probe("/collections", http.StatusUnauthorized)
}
