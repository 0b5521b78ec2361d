package tile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

// crowded returns a collection of n points: half all over the world, half in a country.
func crowded(b *testing.B, n int) *store.Collection {
	c := create(b, open(b, store.Options{SlabBytes: 4 << 30}), store.CollectionOptions{})
	r := rand.New(rand.NewPCG(1, 2))
	ended := make(chan error, 1024)
	put, got := 0, 0
	take := func() {
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
		got++
	}
	for ; put < n; put++ {
		p := orb.Point{r.Float64()*360 - 180, r.Float64()*160 - 80}
		if put%2 == 0 {
			p = orb.Point{1.5 + r.NormFloat64(), 42.5 + r.NormFloat64()}
		}
		value, err := feature.Append(nil, p, fmt.Appendf(nil, `{"n":%d,"kind":"k%d"}`, put, put%20))
		if err != nil {
			b.Fatal(err)
		}
		c.PutEncoded(fmt.Sprint(put), value, 0, kv.Condition{}, func(_ uint64, err error) { ended <- err })
		if put-got == cap(ended)-1 {
			take()
		}
	}
	for got < put {
		take()
	}
	return c
}

// BenchmarkTile: tiles of 2,000,000 points, drawn each time or from the cache.
func BenchmarkTile(b *testing.B) {
	c := crowded(b, 2_000_000)
	for _, x := range []struct {
		z, x, y int
		o       Options
	}{
		{0, 0, 0, Options{}}, {1, 1, 0, Options{}}, {3, 4, 2, Options{}}, {5, 16, 11, Options{}}, {7, 64, 47, Options{}},
		{9, 258, 189, Options{}}, {11, 1032, 756, Options{}}, {13, 4130, 3025, Options{}}, {13, 4130, 3025, Options{NoProperties: true}},
		{9, 258, 189, Options{Filter: "properties.kind == 'k4'"}},
	} {
		b.Run(fmt.Sprintf("z=%d/filter=%t/properties=%t", x.z, x.o.Filter != "", !x.o.NoProperties), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = len(draw(b, Builder{}, c, x.z, x.x, x.y, x.o).Data)
			}
			b.ReportMetric(float64(n), "bytes/tile")
		})
	}
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		k := NewCache(1<<20, Builder{})
		for b.Loop() {
			cached(b, k, c, 0, 0, 0, Options{})
		}
	})
	b.Run("write beside", func(b *testing.B) {
		if _, err := c.Changes(nil); err != nil {
			b.Fatal(err)
		}
		f := store.Feature{ID: "x", Geometry: orb.Point{}}
		for b.Loop() {
			put(b, c, f)
		}
	})
}
