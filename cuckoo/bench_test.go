package cuckoo

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// sparse returns zeros, of which only touched pages cost memory.
func sparse(b testing.TB, n int) []byte {
	mem, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = syscall.Munmap(mem) })
	return mem
}

// hashOf is the hash of key i, without a key: SplitMix64's output function.
func hashOf(i uint64) uint64 {
	i = (i + 1) * 0x9E3779B97F4A7C15
	i = (i ^ i>>30) * 0xBF58476D1CE4E5B9
	i = (i ^ i>>27) * 0x94D049BB133111EB
	return i ^ i>>31
}

// BenchmarkLookup draws from all items, which the caches do not hold. The 10
// million need 1.5 GB; -short leaves them out.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		if n > 1_000_000 && testing.Short() {
			continue
		}
		for _, l := range []layout{{GCuckoo, 1}, {GCuckoo, 4}, {GCuckoo, 5}, {Compact, 0}} {
			b.Run(fmt.Sprintf("kind=%v/items=%d/keys=%d", l.kind, l.items, n), func(b *testing.B) {
				heads := 64
				for l.kind == Compact && heads*5 < n {
					heads *= 2
				}
				x, err := New(l.kind, sparse(b, 16<<30), Options{Items: l.items, Buckets: heads})
				if err != nil {
					b.Fatal(err)
				}
				for i := range uint64(n) {
					if err := x.Insert(hashOf(i), i+1); err != nil {
						b.Fatal(err)
					}
				}
				for x.Advance(1 << 20) {
				}
				for _, hit := range []bool{true, false} {
					b.Run(fmt.Sprintf("hit=%v", hit), func(b *testing.B) {
						r := rand.New(rand.NewPCG(1, 1))
						var buf [16]uint64
						found := 0
						for b.Loop() {
							i := r.Uint64N(uint64(n))
							if !hit {
								i += uint64(n)
							}
							found += len(x.Lookup(buf[:0], hashOf(i)))
						}
						if hit && found < b.N {
							b.Fatal("not found")
						}
						b.ReportMetric(x.Stats().Load(), "load")
					})
				}
			})
		}
	}
}

// BenchmarkMap is Go's map, to compare with Lookup.
func BenchmarkMap(b *testing.B) {
	const n = 1_000_000
	m := make(map[uint64]uint64, n)
	for i := range uint64(n) {
		m[hashOf(i)] = i
	}
	r := rand.New(rand.NewPCG(1, 1))
	sum := uint64(0)
	for b.Loop() {
		sum += m[hashOf(r.Uint64N(n))]
	}
	if sum == 0 {
		b.Fatal("not found")
	}
}

// BenchmarkFill inserts into tables that do not grow, until the stash has its first
// item, and reports the load then, kicks an insert, and ns an insert.
func BenchmarkFill(b *testing.B) {
	for _, l := range []layout{{GCuckoo, 1}, {GCuckoo, 2}, {GCuckoo, 3}, {GCuckoo, 4}, {GCuckoo, 5}, {Conventional, 1}, {Conventional, 4}} {
		b.Run(fmt.Sprintf("kind=%v/items=%d", l.kind, l.items), func(b *testing.B) {
			var kicks, inserts, load, longest float64
			n := uint64(0)
			for b.Loop() {
				const log2 = 17
				need := firstTables + int(tablesBytes(log2))
				x, err := New(l.kind, aligned(need), Options{Items: l.items, Buckets: 1 << log2, MaxLoad: 1})
				if err != nil {
					b.Fatal(err)
				}
				for x.Stats().Stashed == 0 {
					n++
					if err := x.Insert(hashOf(n), n); err != nil {
						b.Fatal(err)
					}
				}
				s := x.Stats()
				kicks += float64(s.Kicks)
				inserts += float64(s.Inserts)
				load += s.Load()
				longest = max(longest, float64(s.LongestKick))
			}
			b.ReportMetric(kicks/inserts, "kicks/insert")
			b.ReportMetric(load/float64(b.N), "load")
			b.ReportMetric(longest, "longest")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/inserts, "ns/insert")
		})
	}
}

// BenchmarkInsert grows a table from 64 buckets.
func BenchmarkInsert(b *testing.B) {
	for _, l := range []layout{{GCuckoo, 1}, {GCuckoo, 4}, {GCuckoo, 5}, {Conventional, 4}} {
		b.Run(fmt.Sprintf("kind=%v/items=%d", l.kind, l.items), func(b *testing.B) {
			x, err := New(l.kind, sparse(b, 16<<30), Options{Items: l.items})
			if err != nil {
				b.Fatal(err)
			}
			i := uint64(0)
			for b.Loop() {
				i++
				if err := x.Insert(hashOf(i), i); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(x.Stats().Load(), "load")
		})
	}
}

func TestDoesNotAllocate(t *testing.T) {
	for _, l := range layouts {
		x, err := New(l.kind, aligned(1<<20), Options{Items: l.items, Buckets: 1024})
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		for ; n < 900; n++ {
			if err := x.Insert(hashOf(n), n+1); err != nil {
				t.Fatal(err)
			}
		}
		var buf [16]uint64
		key := []byte("key of a record")
		if a := testing.AllocsPerRun(100, func() {
			h := hashOf(n % 900)
			n++
			_ = x.Lookup(buf[:0], h)
			_ = Hash(n, key)
			if x.Insert(^h, 5000) != nil || x.Replace(^h, 5000, 6000) != nil || x.Delete(^h, 6000) != nil {
				t.Fatal("write failed")
			}
		}); a != 0 {
			t.Errorf("%v, %d items a bucket: %v allocations", l.kind, l.items, a)
		}
	}
}

// TestSlabHoldsNoPointers: lines are words.
func TestSlabHoldsNoPointers(t *testing.T) {
	if unsafe.Sizeof(Line{}) != LineBytes {
		t.Errorf("a line has %d bytes", unsafe.Sizeof(Line{}))
	}
}
