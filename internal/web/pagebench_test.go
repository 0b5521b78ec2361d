package web

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
)

// town fills collection empty with n points of a region of 40 by 25 degrees.
func (w *site) town(n int, r *rand.Rand) {
	w.t.Helper()
	c := w.coll("empty")
	ended := make(chan error, 1024)
	take := func() {
		if err := <-ended; err != nil {
			w.t.Fatal(err)
		}
	}
	round := func(f float64) float64 { return math.Round(f*1e7) / 1e7 }
	for i := range n {
		p := orb.Point{round(r.Float64()*40 - 10), round(r.Float64()*25 + 35)}
		value, err := feature.Append(nil, p, fmt.Appendf(nil, `{"kind":"bench","name":"bench No. %d","seats":%d}`, i%3000, i%200))
		if err != nil {
			w.t.Fatal(err)
		}
		if i >= cap(ended) {
			take()
		}
		c.PutEncoded(fmt.Sprintf("node/%d", 1_000_000_000+7*i), value, 0, kv.Condition{}, func(_ uint64, err error) { ended <- err })
	}
	for range min(n, cap(ended)) {
		take()
	}
}

// BenchmarkItemsBoxes: pages of boxes all over 1,000,000 points, so that neither nodes
// nor records are in a cache. The boxes hold about 7 or 77 points, or ten times the
// page's limit. Without net/http.
//
//	go test ./internal/web -run '^$' -bench ItemsBoxes -benchtime 2s
func BenchmarkItemsBoxes(b *testing.B) {
	const points = 1_000_000
	w, rng := newSite(b, Options{}), rand.New(rand.NewPCG(1, 2))
	w.town(points, rng)
	for _, m := range []struct {
		limit, in int
		more      string
	}{{10, 7, "&numberMatched=false"}, {100, 77, "&numberMatched=false"}, {100, 77, ""}, {100, 1000, "&numberMatched=false"}, {100, 1000, ""}} {
		b.Run(fmt.Sprintf("limit=%d/in=%d/count=%t", m.limit, m.in, m.more == ""), func(b *testing.B) {
			size := math.Sqrt(float64(m.in) * 40 * 25 / points)
			var requests []*http.Request
			for range 4096 {
				x, y := rng.Float64()*(40-size)-10, rng.Float64()*(25-size)+35
				requests = append(requests, httptest.NewRequest(http.MethodGet, fmt.Sprintf("%s?bbox=%.7f,%.7f,%.7f,%.7f&limit=%d%s",
					empty, x, y, x+size, y+size, m.limit, m.more), http.NoBody))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.ServeHTTP(discard{http.Header{}}, requests[i%len(requests)])
			}
		})
	}
}
