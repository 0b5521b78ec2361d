package kv

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/record"
)

// A scan beside writers gives every key that stays at least once, with a value
// that it had, and long values only if they are wanted.
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

// After Close nothing touches the memory.
func TestClose(t *testing.T) {
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
	for range 1000 {
		if _, err := m.Put(Entry{Key: []byte("k")}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	m.Close()
	m.Close()
	if err := mapped.Unmap(records); err != nil { // Who touches it ends the test.
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
