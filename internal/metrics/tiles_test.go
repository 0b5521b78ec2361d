package metrics

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/catfish-index/catfish/internal/web/tile"
)

func TestTiles(t *testing.T) {
	tiles := &Tiles{}
	r := New(sample(), tiles)
	text := func() string {
		w := httptest.NewRecorder()
		Handler(r, sample(), always, slog.New(slog.NewTextHandler(io.Discard, nil))).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	if got := text(); strings.Contains(got, "http_tile") {
		t.Errorf("metrics of a cache that is not there: %s", got)
	}
	s := tile.CacheStats{Hits: 1, Misses: 2, Waits: 3, Uncertain: 4, Evicted: 5, Tiles: 6, Bytes: 7, Limit: 8}
	tiles.Of(func() tile.CacheStats { return s })
	s.Hits++ // They are asked for each time.
	if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	got := text()
	for _, line := range []string{
		`catfish_http_tile_requests_total{result="hit"} 2`, `catfish_http_tile_requests_total{result="miss"} 2`,
		`catfish_http_tile_requests_total{result="wait"} 3`, `catfish_http_tile_uncertain_total 4`, `catfish_http_tile_evicted_total 5`,
		`catfish_http_tile_kept 6`, `catfish_http_tile_kept_bytes 7`, `catfish_http_tile_limit_bytes 8`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
	for _, name := range tileNames {
		if !strings.Contains(got, "\n"+name) {
			t.Errorf("%s is described, and not there", name)
		}
	}
}
