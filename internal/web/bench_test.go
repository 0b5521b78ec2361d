package web

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web/tile"
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

// crowd fills collection empty with n points, half all over the world, half in a country.
func (w *site) crowd(n int) {
	w.t.Helper()
	c, r := w.coll("empty"), rand.New(rand.NewPCG(1, 2))
	ended := make(chan error, 1024)
	take := func() {
		if err := <-ended; err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range n {
		p := orb.Point{r.Float64()*360 - 180, r.Float64()*160 - 80}
		if i%2 == 0 {
			p = orb.Point{1.5 + r.NormFloat64(), 42.5 + r.NormFloat64()}
		}
		value, err := feature.Append(nil, p, fmt.Appendf(nil, `{"n":%d,"kind":"k%d"}`, i, i%20))
		if err != nil {
			w.t.Fatal(err)
		}
		if i >= cap(ended) {
			take()
		}
		c.PutEncoded(strconv.Itoa(i), value, 0, kv.Condition{}, func(_ uint64, err error) { ended <- err })
	}
	for range min(n, cap(ended)) {
		take()
	}
}

// BenchmarkTiles: tiles of 2,000,000 points over HTTP, in sequence, drawn each time, or
// from the cache. The longest request is the time that a map's user waits.
//
//	go test ./internal/web -run '^$' -bench Tiles -benchtime 2s
func BenchmarkTiles(b *testing.B) {
	w := newSite(b, Options{TileCacheBytes: -1})
	w.crowd(2_000_000)
	server := httptest.NewServer(w)
	defer server.Close()
	client := server.Client()
	client.Transport.(*http.Transport).DisableCompression = true
	for _, cache := range []bool{false, true} {
		if cache {
			w.cache = tile.NewCache(64<<20, tile.Builder{})
		}
		for _, path := range []string{
			"tiles/0/0/0.mvt", "tiles/1/1/0.mvt", "tiles/2/2/1.mvt", "tiles/3/4/2.mvt", "tiles/5/16/11.mvt", "tiles/7/64/47.mvt",
			"tiles/9/258/189.mvt", "tiles/13/4130/3025.mvt", "counts?zoom=6",
		} {
			b.Run(fmt.Sprintf("cache=%t/%s", cache, path), func(b *testing.B) {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+"/collections/empty/"+path, http.NoBody)
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Accept-Encoding", "gzip, zstd")
				var longest time.Duration
				var size int64
				ask := func() {
					a, err := client.Do(r)
					if err != nil {
						b.Fatal(err)
					}
					defer a.Body.Close()
					if size, err = io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
						b.Fatal(a.Status, err)
					}
				}
				ask() // warm
				for b.Loop() {
					begun := time.Now()
					ask()
					longest = max(longest, time.Since(begun))
				}
				b.ReportMetric(float64(longest.Microseconds())/1e3, "ms-longest")
				b.ReportMetric(float64(size), "bytes/answer")
			})
		}
	}
}

// A page allocates per page, not per feature.
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
		// Under the race detector pools keep less.
		if query == "" && many-few > 390*(1+min(catfishtest.RaceFactor, 2)) {
			t.Errorf("%v allocations for 10 features, %v for 400", few, many)
		}
	}
}
