package kv

import (
	"fmt"
	"testing"
	"time"
)

// PrefetchKeys changes nothing, takes any number of keys, absent ones included,
// allocates nothing, and does not touch a closed Map.
func TestPrefetchKeys(t *testing.T) {
	m := newMap(t, func() time.Duration { return 1 }, Options{})
	keys := make([][]byte, 2*manyKeys+1)
	for i := range keys {
		keys[i] = fmt.Append(nil, "key ", i)
		if i%2 == 0 {
			if _, err := m.Put(Entry{Key: keys[i], Value: keys[i]}, Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var b ManyBuffer
	before := m.Stats()
	if n := testing.AllocsPerRun(100, func() { m.PrefetchKeys(keys, &b) }); n > 0 {
		t.Fatal(n, "allocations")
	}
	m.PrefetchKeys(nil, &b)
	if after := m.Stats(); after != before {
		t.Fatal(after, before)
	}
	m.Close()
	m.PrefetchKeys(keys, &b)
	for i := range m.gate.inside {
		if n := m.gate.inside[i].n.Load(); n != 0 {
			t.Fatal(n, "readers are inside")
		}
	}
}
