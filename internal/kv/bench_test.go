package kv

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// benchKey is key i: 16 bytes, as YCSB's are in the papers. All of them differ between
// adjacent keys.
func benchKey(dst *[16]byte, i uint64) []byte {
	h := (i + 1) * 0x9E3779B97F4A7C15
	binary.BigEndian.PutUint64(dst[:], h^h>>31)
	binary.BigEndian.PutUint64(dst[8:], i)
	return dst[:]
}

// benchSizes are numbers of keys whose lookups miss the caches. The 10 million need 3 GB;
// -short leaves them out.
func benchSizes() []int {
	if testing.Short() {
		return []int{1_000_000}
	}
	return []int{1_000_000, 10_000_000}
}

// benchMap makes a Map for these keys, with values of 32 bytes, and puts those of part.
// Its memory is sparse. That of the records has room for a second of updates, which wait
// for readers, at 10 million a second.
func benchMap(b *testing.B, keys int, part func(key []byte) bool) *Map {
	const recordBytes = 256 // with the slack of their class
	start := time.Now()
	m, err := New(Options{
		Index:   memory(b, (int64(keys)*128/record.SpanBytes+1)*record.SpanBytes),
		Records: memory(b, (int64(keys+10_000_000)*recordBytes/record.SpanBytes+64)*record.SpanBytes),
		Boot:    1, Seed: 1, Now: func() time.Duration { return time.Since(start) },
	})
	if err != nil {
		b.Fatal(err)
	}
	var key [16]byte
	for i := range uint64(keys) {
		if k := benchKey(&key, i); part(k) {
			if _, err := m.Put(Entry{Key: k, Value: make([]byte, 32)}, Condition{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	for m.Tidy(1<<16) && m.Stats().Index.Growing {
	}
	return m
}

func all([]byte) bool { return true }

// BenchmarkGet compares random lookups by one goroutine: in a Go map under a read lock, one
// by one, and in batches. An operation is one key.
func BenchmarkGet(b *testing.B) {
	for _, keys := range benchSizes() {
		m := benchMap(b, keys, all)
		draw := func(r *rand.Rand, key *[16]byte) []byte { return benchKey(key, r.Uint64N(uint64(keys))) }
		b.Run(fmt.Sprint("way=go-map/keys=", keys), func(b *testing.B) {
			plain := make(map[string][]byte, keys)
			var key [16]byte
			for i := range uint64(keys) {
				plain[string(benchKey(&key, i))] = make([]byte, 32)
			}
			var mu sync.RWMutex
			r := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				k := draw(r, &key)
				mu.RLock()
				v := plain[string(k)]
				mu.RUnlock()
				if v[0] != 0 {
					b.Fatal("wrong value")
				}
			}
		})
		b.Run(fmt.Sprint("way=get/keys=", keys), func(b *testing.B) {
			var key [16]byte
			var buf Buffer
			r := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				if v, _, err := m.Get(draw(r, &key), &buf); err != nil || v.Value[0] != 0 {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("way=get-many-of-64/keys=", keys), func(b *testing.B) {
			var buf ManyBuffer
			bytes, batch := make([][16]byte, 64), make([][]byte, 64)
			r := rand.New(rand.NewPCG(1, 1))
			for n := 0; b.Loop(); n++ {
				i := n % len(batch)
				if batch[i] = draw(r, &bytes[i]); i < len(batch)-1 {
					continue
				}
				m.GetMany(batch, &buf, func(_ int, v record.View, _ record.Ref, err error) bool {
					if err != nil || v.Value[0] != 0 {
						b.Fatal(err)
					}
					return true
				})
			}
		})
	}
}

// BenchmarkPut updates random keys by one goroutine. Each update writes a new record, and
// the place of the old one is used again after a second, so memory is bounded by a second
// of updates: the metrics are the resident memory and dead records at the end. A long run
// is -benchtime 1000000000x.
func BenchmarkPut(b *testing.B) {
	const keys = 1_000_000
	m := benchMap(b, keys, all)
	var key [16]byte
	value := make([]byte, 32)
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		if _, err := m.Put(Entry{Key: benchKey(&key, r.Uint64N(keys)), Value: value}, Condition{}); err != nil {
			b.Fatal(err)
		}
	}
	statm, err := os.ReadFile("/proc/self/statm") // proc(5): the second number is in pages
	if err != nil {
		b.Fatal(err)
	}
	var pages int
	if _, err := fmt.Sscan(strings.Fields(string(statm))[1], &pages); err != nil {
		b.Fatal(err)
	}
	const mib = 1 << 20
	b.ReportMetric(float64(pages*os.Getpagesize())/mib, "resident-MiB")
	b.ReportMetric(float64(m.Stats().Records.RetiredBytes)/mib, "dead-MiB")
}

// BenchmarkShards compares goroutines, one for each processor (-cpu), with the same random
// operations:
//
//	shared      in one Map that all share
//	sharded     in a Map for each, whose keys no other goroutine accesses (HydraDB, SC 2015,
//	            4.1.1; Jakiro, SIGMOD 2015), as if the client sent to the shard
//	pipelined   half of them hand batches of 64 to those that own the Maps, which answer
//
// Mix A is half Puts, C is Gets.
func BenchmarkShards(b *testing.B) {
	for _, mix := range []string{"A", "C"} {
		for _, way := range []string{"shared", "sharded", "pipelined"} {
			b.Run(fmt.Sprintf("mix=%s/way=%s", mix, way), func(b *testing.B) { benchShards(b, way, mix == "A") })
		}
	}
}

func benchShards(b *testing.B, way string, puts bool) {
	const keys = 1_000_000
	goroutines := max(2, runtime.GOMAXPROCS(0))
	n := map[string]int{"shared": 1, "sharded": goroutines, "pipelined": goroutines / 2}[way]
	// The hash differs from that of the Maps, of whose buckets each would otherwise use a part.
	shardOf := func(key []byte) int { return int(cuckoo.Hash(99, key) % uint64(n)) }
	maps := make([]*Map, n)
	for i := range maps {
		maps[i] = benchMap(b, keys, func(key []byte) bool { return shardOf(key) == i })
	}
	// Streams are walked in circles; those of sharded are divided beforehand.
	streams := make([][]benchOp, goroutines)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range goroutines << 18 {
		op := benchOp{put: puts && r.IntN(2) == 0}
		key := benchKey(&op.key, r.Uint64N(keys))
		if op.shard = shardOf(key); way == "sharded" {
			i = op.shard
		}
		streams[i%goroutines] = append(streams[i%goroutines], op)
	}
	b.ResetTimer()
	var group sync.WaitGroup
	switch way {
	case "pipelined":
		owners := make([]chan *benchBatch, n)
		for i := range owners {
			owners[i] = make(chan *benchBatch, goroutines*benchBatches)
			group.Go(func() { benchOwn(b, maps[i], owners[i]) })
		}
		var dispatchers sync.WaitGroup
		for i := range goroutines - n {
			dispatchers.Go(func() { benchDispatch(streams[i], b.N/(goroutines-n), owners) })
		}
		dispatchers.Wait()
		for _, o := range owners {
			close(o)
		}
	default:
		for i, ops := range streams {
			group.Go(func() {
				var buf Buffer
				for j := range b.N / goroutines {
					ops[j%len(ops)].carryOut(b, maps[i%n], &buf)
				}
			})
		}
	}
	group.Wait()
}

// benchOp is a Get, or a Put of 32 bytes.
type benchOp struct {
	key   [16]byte
	put   bool
	shard int
}

func (o *benchOp) carryOut(b *testing.B, m *Map, buf *Buffer) {
	var err error
	if o.put {
		var value [32]byte
		_, err = m.Put(Entry{Key: o.key[:], Value: value[:]}, Condition{})
	} else {
		_, _, err = m.Get(o.key[:], buf)
	}
	if err != nil {
		b.Error(err)
	}
}

// benchBatch is handed over to an owner, and comes back by done with its operations carried
// out.
type benchBatch struct {
	ops  []benchOp
	done chan<- *benchBatch
}

// benchBatches bounds a dispatcher's batches at one owner: it fills one while the owner
// answers another.
const benchBatches = 8

func benchOwn(b *testing.B, m *Map, batches <-chan *benchBatch) {
	var buf Buffer
	for batch := range batches {
		for i := range batch.ops {
			batch.ops[i].carryOut(b, m, &buf)
		}
		batch.done <- batch
	}
}

func benchDispatch(stream []benchOp, n int, owners []chan *benchBatch) {
	free := make(chan *benchBatch, len(owners)*benchBatches)
	for range cap(free) {
		free <- &benchBatch{make([]benchOp, 0, 64), free}
	}
	filling := make([]*benchBatch, len(owners))
	for i := range filling {
		filling[i] = <-free
	}
	for i := range n {
		op := stream[i%len(stream)]
		batch := filling[op.shard]
		if batch.ops = append(batch.ops, op); len(batch.ops) < cap(batch.ops) {
			continue
		}
		owners[op.shard] <- batch
		filling[op.shard] = <-free
		filling[op.shard].ops = filling[op.shard].ops[:0]
	}
	for i, batch := range filling {
		owners[i] <- batch
	}
	for range cap(free) {
		<-free
	}
}
