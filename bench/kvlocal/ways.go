package kvlocal

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
)

// way makes ops lookups of keys that r draws, and returns the sum of the
// values' first words: so values are read, and ways that find different values
// are detected.
type way struct {
	name string
	run  func(r *rand.Rand, ops int) (uint64, error)
}

func (c *GetConfig) draw(r *rand.Rand, key *[keyBytes]byte) []byte {
	return keyAt(key, r.Uint64N(uint64(c.Keys)))
}

func (c *GetConfig) goMap(m map[string][]byte) way {
	var mu sync.RWMutex
	return way{"go map", func(r *rand.Rand, ops int) (sum uint64, err error) {
		var key [keyBytes]byte
		for range ops {
			k := c.draw(r, &key)
			mu.RLock()
			v, ok := m[string(k)]
			mu.RUnlock()
			if !ok {
				return 0, fmt.Errorf("bench: key %x is not in the Go map", k)
			}
			sum += binary.LittleEndian.Uint64(v)
		}
		return sum, nil
	}}
}

func (c *GetConfig) get(m *kv.Map) way {
	var b kv.Buffer
	return way{"get", func(r *rand.Rand, ops int) (sum uint64, err error) {
		var key [keyBytes]byte
		for range ops {
			v, _, err := m.Get(c.draw(r, &key), &b)
			if err != nil {
				return 0, err
			}
			sum += binary.LittleEndian.Uint64(v.Value)
		}
		return sum, nil
	}}
}

func (c *GetConfig) getMany(m *kv.Map) way {
	var b kv.ManyBuffer
	bytes := make([][keyBytes]byte, c.Batch)
	keys := make([][]byte, c.Batch)
	return way{fmt.Sprintf("get many of %d", c.Batch), func(r *rand.Rand, ops int) (sum uint64, err error) {
		for done := 0; done < ops; done += c.Batch {
			n := min(c.Batch, ops-done)
			for i := range n {
				keys[i] = c.draw(r, &bytes[i])
			}
			m.GetMany(keys[:n], &b, func(_ int, v record.View, _ record.Ref, e error) bool {
				if e != nil {
					err = e
					return false
				}
				sum += binary.LittleEndian.Uint64(v.Value)
				return true
			})
		}
		return sum, err
	}}
}
