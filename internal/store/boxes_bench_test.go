package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// BenchmarkBoxes inserts into kept boxes, by a number of goroutines (writers), and a
// number of boxes at a time (together).
func BenchmarkBoxes(b *testing.B) {
	for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
		for _, c := range []struct{ writers, together int }{{1, 1}, {256, 1}, {4, 256}} {
			b.Run(fmt.Sprintf("sync=%v/writers=%d/together=%d", s, c.writers, c.together), func(b *testing.B) {
				st := open(b, Options{Dir: b.TempDir(), Sync: s, SlabBytes: 4 << 30})
				to := boxes(b, st)
				b.ResetTimer()
				var all sync.WaitGroup
				for w := range c.writers {
					all.Go(func() {
						r := rand.New(rand.NewPCG(uint64(w), 1))
						for n := b.N / c.writers / c.together; n >= 0; n-- {
							items := make([]rstar.Item, c.together)
							for i := range items {
								x, y := r.Float64(), r.Float64()
								items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, ID: r.Uint64()}
							}
							if _, err := to.InsertMany(items); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "boxes/s")
			})
		}
	}
}

const benchBoxes = 1 << 20

func manyBoxes() []rstar.Item {
	r := rand.New(rand.NewPCG(1, 1))
	items := make([]rstar.Item, benchBoxes)
	for i := range items {
		x, y := r.Float64(), r.Float64()
		items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, ID: uint64(i)}
	}
	return items
}

// BenchmarkBoxesLoad loads boxes in bulk.
func BenchmarkBoxesLoad(b *testing.B) {
	items := manyBoxes()
	st := open(b, Options{Dir: b.TempDir(), SlabBytes: 4 << 30})
	for b.Loop() {
		c := boxes(b, st)
		if err := c.Load(items); err != nil {
			b.Fatal(err)
		}
		if _, err := st.Drop("boxes"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*benchBoxes/b.Elapsed().Seconds(), "boxes/s")
}

// BenchmarkBoxesOpen opens and closes a store with boxes.
func BenchmarkBoxesOpen(b *testing.B) {
	o := Options{Dir: b.TempDir(), SlabBytes: 4 << 30}
	st := open(b, o)
	if err := boxes(b, st).Load(manyBoxes()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		st = open(b, o)
	}
	b.ReportMetric(float64(b.N)*benchBoxes/b.Elapsed().Seconds(), "boxes/s")
}
