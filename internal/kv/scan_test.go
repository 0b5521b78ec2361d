package kv

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/record"
)

// A scan beside writers gives every key that stays at least once, with one of its
// values, and gives long values only if the caller wants them.
func TestScan(t *testing.T) {
	start := time.Now()
	m := newMap(t, func() time.Duration { return time.Since(start) }, Options{})
	const keys = 3000
	put := func(k string, bytes int) {
		if _, err := m.Put(Entry{Key: []byte(k), Value: make([]byte, bytes)}, Condition{}); err != nil {
			t.Error(err)
		}
	}
	for i := range keys {
		put(fmt.Sprintf("stays %d", i), i%200)
	}
	put("long", 200_000)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 5000 {
			put(fmt.Sprintf("stays %d", i%keys), i%200)
			put(fmt.Sprintf("comes %d", i), 10)
		}
	})
	seen := map[string]int{}
	for _, longest := range []int{0, 1000} {
		clear(seen)
		b := ScanBuffer{Buffer{LongestValue: longest}}
		for c := (cuckoo.Cursor{}); !c.Done; {
			var err error
			if c, err = m.Scan(c, &b, func(_ record.Ref, v record.View) { seen[string(v.Key)] = len(v.Value) }); err != nil {
				t.Fatal(err)
			}
		}
		for i := range keys {
			if n, ok := seen[fmt.Sprintf("stays %d", i)]; !ok || n%200 != i%200 {
				t.Fatalf("key %d: %d bytes, %t", i, n, ok)
			}
		}
		if want := (map[int]int{0: 200_000})[longest]; seen["long"] != want {
			t.Errorf("values of up to %d bytes: the long one has %d", longest, seen["long"])
		}
	}
	wg.Wait()
}

// After Close no call touches the memory.
func TestClose(t *testing.T) {
	for range 20 {
		closeBesideReadersAndWriters(t)
	}
}

func closeBesideReadersAndWriters(t *testing.T) {
	start := time.Now()
	records, err := mapped.Map(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	m := newMap(t, func() time.Duration { return time.Since(start) }, Options{Records: records})
	if _, err := m.Put(Entry{Key: []byte("k")}, Condition{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var b Buffer
			for {
				if _, _, err := m.Get([]byte("k"), &b); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	going := make(chan struct{})
	wg.Go(func() {
		value := make([]byte, 100_000) // The writer is in the Map most of the time.
		for n := 0; ; n++ {
			if n == 10 {
				close(going)
			}
			_, err := m.Put(Entry{Key: []byte("k"), Value: value}, Condition{})
			if errors.Is(err, ErrClosed) {
				return
			}
			if err != nil && !errors.Is(err, record.ErrFull) {
				t.Error(err)
				return
			}
		}
	})
	<-going
	m.Close()
	m.Close()
	if err := mapped.Unmap(records); err != nil { // A goroutine that touches it ends the test.
		t.Fatal(err)
	}
	wg.Wait()
	_, put := m.Put(Entry{Key: []byte("k")}, Condition{})
	_, scan := m.Scan(cuckoo.Cursor{}, new(ScanBuffer), func(record.Ref, record.View) { t.Error("a record") })
	for what, err := range map[string]error{"put": put, "scan": scan, "delete": m.Delete([]byte("k"), Condition{})} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if m.Tidy(10) {
		t.Error("there is nothing to tidy")
	}
	if l := m.Grant([]record.Ref{1 << 40}, nil); len(l) != 1 || l[0] != 0 {
		t.Errorf("leases %v", l)
	}
}

// Scans end although writers replace every record all the time.
func TestScanBesideUpdates(t *testing.T) {
	start := time.Now()
	m := newMap(t, func() time.Duration { return time.Since(start) }, Options{})
	key := func(i int) []byte { return fmt.Append(nil, i) }
	const keys = 32
	put := func(i int) {
		if _, err := m.Put(Entry{Key: key(i % keys)}, Condition{}); err != nil {
			t.Error(err)
		}
	}
	for i := range keys {
		put(i)
	}
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range 2 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				put(i)
			}
		})
	}
	for range 50 {
		seen := map[string]bool{}
		var b ScanBuffer
		for c := (cuckoo.Cursor{}); !c.Done; {
			var err error
			if c, err = m.Scan(c, &b, func(_ record.Ref, v record.View) { seen[string(v.Key)] = true }); err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) != keys {
			t.Fatalf("%d keys, want %d", len(seen), keys)
		}
	}
	stop.Store(true)
	wg.Wait()
}

// A scan passes over deleted and expired records a piece at a time: each call holds the
// lock briefly, whatever their number.
func TestScanPassesOverDeletedInPieces(t *testing.T) {
	now := time.Second
	m := newMap(t, func() time.Duration { return now }, Options{})
	for i := range 20_000 {
		e := Entry{Key: fmt.Append(nil, i)}
		if i%2 == 0 {
			e.Expiry = 2 * time.Second
		}
		if _, err := m.Put(e, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < 20_000; i += 2 {
		if err := m.Delete(fmt.Append(nil, i), Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	now = 3 * time.Second
	calls := func() (n int) {
		var b ScanBuffer
		for c := (cuckoo.Cursor{}); !c.Done; n++ {
			var err error
			if c, err = m.Scan(c, &b, func(_ record.Ref, v record.View) { t.Fatalf("%q", v.Key) }); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	if n := calls(); n < 10_000/(scanPiece+8) {
		t.Errorf("10,000 records that have expired are scanned in %d calls", n)
	}
	// Tidy is called until it has no more to do: then no record is left.
	tidies := 0
	for m.Tidy(64) {
		if tidies++; tidies > 10_000 {
			t.Fatal("there is always more to tidy")
		}
	}
	if n := m.Stats().Expired; n != 10_000 {
		t.Errorf("%d records have expired after %d turns, want 10,000", n, tidies)
	}
	if n := calls(); n < 20 {
		t.Errorf("an empty table of %d buckets is scanned in %d calls", m.Stats().Index.Capacity, n)
	}
}

// Close waits for reads in flight, whose callbacks may write.
func TestCloseWaitsForReadsInFlight(t *testing.T) {
	start := time.Now()
	for range 20 {
		m := newMap(t, func() time.Duration { return time.Since(start) }, Options{})
		keys := make([][]byte, 100)
		for i := range keys {
			keys[i] = fmt.Append(nil, i)
			if _, err := m.Put(Entry{Key: keys[i]}, Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				var b ScanBuffer
				if _, err := m.Scan(cuckoo.Cursor{}, &b, func(record.Ref, record.View) {}); err != nil {
					return
				}
			}
		})
		going := make(chan struct{})
		wg.Go(func() {
			var b ManyBuffer
			m.GetMany(keys, &b, func(i int, _ record.View, _ record.Ref, _ error) bool {
				if i == 0 {
					close(going)
				}
				_, _ = m.Put(Entry{Key: keys[i]}, Condition{})
				return true
			})
		})
		<-going
		m.Close()
		wg.Wait()
	}
}
