package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/store"
)

// grid fills collection empty with n points, ten to a degree.
func (w *site) grid(n int) {
	w.t.Helper()
	for i := range n {
		w.put("empty", store.Feature{
			ID: fmt.Sprintf("0192f0a4-0000-7000-8000-%012d", i), Geometry: orb.Point{float64(i%1000) / 10, float64(i/1000) / 10},
			Properties: fmt.Appendf(nil, `{"kind":"cafe","n":%d,"name":"Place number %d"}`, i, i),
		})
	}
}

// discard is a client that takes everything.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }

func BenchmarkItems(b *testing.B) {
	w := newSite(b, Options{})
	w.grid(50_000)
	for _, query := range []string{
		"limit=10", "limit=1000", "limit=10&bbox=1,1,1.9,1.9", "limit=10&bbox=1,1,1.9,1.9&numberMatched=false",
		"limit=10&bbox=0,0,10,5", "limit=10&kind=cafe", "limit=10&kind=cafe&numberMatched=false",
	} {
		b.Run("query="+query, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, empty+"?"+query, http.NoBody)
			b.ReportAllocs()
			for b.Loop() {
				w.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

// A page allocates for itself, and not for its features.
func TestItemsAllocations(t *testing.T) {
	w := newSite(t, Options{})
	w.grid(500)
	allocs := func(query string) float64 {
		r := httptest.NewRequest(http.MethodGet, empty+query, http.NoBody)
		return testing.AllocsPerRun(50, func() { w.ServeHTTP(discard{http.Header{}}, r) })
	}
	for _, query := range []string{"", "&bbox=0,0,90,90&numberMatched=false"} {
		few, many := allocs("?limit=10"+query), allocs("?limit=400"+query)
		t.Logf("%q: %v allocations for 10 features, %v for 400", query, few, many)
		if query == "" && many-few > 2*390 {
			t.Errorf("%v allocations for 10 features, %v for 400", few, many)
		}
	}
}
