package record

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkUpdate: Put of 32 bytes, Kill of the old record, Reclaim, at 600,000 updates
// a second of the heap's clock. spans-MiB is the size of the heap's spans at the end.
func BenchmarkUpdate(b *testing.B) {
	for _, keys := range []int{1, 100_000, 1_000_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			h := newHeap(b, 4096)
			refs := make([]Ref, keys)
			r := rand.New(rand.NewPCG(1, 1))
			key, value := keyOf(1), make([]byte, 32)
			now := time.Duration(0)
			for i := range refs {
				refs[i] = mustPut(b, h, Record{Key: key, Value: value}, now)
			}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				now += time.Second / 600_000
				i := r.IntN(keys)
				ref, err := h.Put(Record{Key: key, Value: value}, now)
				if err == nil {
					err = h.Kill(refs[i], now)
				}
				if err != nil {
					b.Fatal(err)
				}
				refs[i] = ref
				if n++; n%16 == 0 {
					h.Reclaim(now, 64)
				}
			}
			b.ReportMetric(float64(h.Stats().SpanBytes)/(1<<20), "spans-MiB")
		})
	}
}

// BenchmarkRead reads records of 32 bytes by reference, 2 M of them, so that
// caches are cold.
func BenchmarkRead(b *testing.B) {
	const records = 2 << 20
	h := newHeap(b, 1200)
	refs := make([]Ref, records)
	key, value := keyOf(1), make([]byte, 32)
	for i := range refs {
		refs[i] = mustPut(b, h, Record{Key: key, Value: value}, 0)
	}
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(refs), func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
	var buf []byte
	n := 0
	next := func() Ref { n++; return refs[n%records] }
	b.Run("way=Read", func(b *testing.B) {
		for b.Loop() {
			_, buf, _ = h.Read(next(), key, buf)
		}
	})
	b.Run("way=View", func(b *testing.B) {
		for b.Loop() {
			_, _ = h.View(next(), key)
		}
	})
	b.Run("way=Grant", func(b *testing.B) {
		for b.Loop() {
			h.Grant(next(), 0)
		}
	})
	b.Run("way=Read,cached", func(b *testing.B) {
		for b.Loop() {
			_, buf, _ = h.Read(refs[0], key, buf)
		}
	})
}

// BenchmarkParse takes records from bytes that were read.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{32, 1024, 65_000} {
		b.Run(fmt.Sprint("bytes=", n), func(b *testing.B) {
			h := newHeap(b, 2)
			key := keyOf(1)
			ref := mustPut(b, h, Record{Key: key, Value: make([]byte, n)}, 0)
			for b.Loop() {
				if _, err := h.space.Parse(ref, h.at(ref), key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
