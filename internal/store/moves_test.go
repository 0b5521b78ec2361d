package store

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Moves of objects whose properties stay, or change, sequentially.
func BenchmarkMoves(b *testing.B) {
	for _, kind := range []string{"stay", "change"} {
		for name, dir := range map[string]string{"memory": "", "disk": b.TempDir()} {
			b.Run("properties="+kind+"/"+name, func(b *testing.B) {
				if dir != "" {
					dir = b.TempDir()
				}
				st := open(b, Options{Dir: dir, Sync: disk.SyncOff, SlabBytes: 4 << 30})
				c := create(b, st, CollectionOptions{})
				const objects = 20_000
				ids := make([]string, objects)
				put := func(i, speed int) {
					text := fmt.Appendf(nil, `{"line":"M%d","kind":"bus","speed":%d,"open":true}`, i%17, speed)
					value, err := feature.Append(nil, orb.Point{float64(i%200) / 10, float64(i%97) / 10}, text)
					if err != nil {
						b.Fatal(err)
					}
					c.PutEncoded(ids[i%objects], value, 0, kv.Condition{}, func(_ uint64, err error) {
						if err != nil {
							b.Error(err)
						}
					})
				}
				for i := range ids {
					ids[i] = fmt.Sprint("bus ", i)
					put(i, 0)
				}
				b.ResetTimer()
				for i := range b.N {
					speed := 0
					if kind == "change" {
						speed = i
					}
					if put(i+i/objects, speed); i%1000 == 0 {
						c.Tidy(2000)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "moves/s")
			})
		}
	}
}
