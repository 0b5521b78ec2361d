package kvlocal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
)

// ErrConfig is wrapped by Validate's errors.
var ErrConfig = errors.New("bench: kv-local")

const (
	keyBytes = 16
	bootID   = 1
	maxKeys  = 1 << 30
	minValue = 8 // a word, which all ways to look up add up
	maxValue = 1 << 16
)

// keyAt writes key i to dst: 16 bytes, as YCSB's are in the papers.
func keyAt(dst *[keyBytes]byte, i uint64) []byte {
	binary.BigEndian.PutUint64(dst[:], mix(i))
	binary.BigEndian.PutUint64(dst[8:], i)
	return dst[:]
}

// mix is SplitMix64's output function, so that adjacent keys differ in all
// bytes.
func mix(i uint64) uint64 {
	i = (i + 1) * 0x9E3779B97F4A7C15
	i = (i ^ i>>30) * 0xBF58476D1CE4E5B9
	i = (i ^ i>>27) * 0x94D049BB133111EB
	return i ^ i>>31
}

// newMap makes a Map for keys keys. Its memory is sparse: the sizes are
// limits. That of the index leaves room for tables of twice the size beside
// all earlier ones (cuckoo/growth.go), some 100 bytes a key; that of the
// records for the given updates within a second.
func newMap(keys, valueBytes, updates int, seed uint64, now func() time.Duration) (m *kv.Map, free func(), err error) {
	record1 := int64(128+keyBytes+valueBytes) * 5 / 4
	sizes := [2]int64{int64(keys)*128 + 1<<20, (int64(keys)+int64(updates))*record1 + 64*record.SpanBytes}
	var mem [2][]byte
	free = func() {
		for _, b := range mem {
			if b != nil {
				_ = mapped.Unmap(b)
			}
		}
	}
	for i, n := range sizes {
		if mem[i], err = mapped.Map((n + record.SpanBytes - 1) / record.SpanBytes * record.SpanBytes); err != nil {
			free()
			return nil, nil, fmt.Errorf("bench: mapping %d bytes: %w", n, err)
		}
	}
	m, err = kv.New(kv.Options{Index: mem[0], Records: mem[1], Boot: bootID, Seed: seed, Now: now})
	if err != nil {
		free()
		return nil, nil, err
	}
	return m, free, nil
}

// interval is the number of operations between two checks of the context.
const interval = 1 << 16

// fill puts all keys, and calls each, which may change the value before.
func fill(ctx context.Context, m *kv.Map, keys int, value []byte, each func(i uint64, key []byte)) error {
	var key [keyBytes]byte
	for i := range uint64(keys) {
		if i%interval == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k := keyAt(&key, i)
		each(i, k)
		if _, err := m.Put(kv.Entry{Key: k, Value: value}, kv.Condition{}); err != nil {
			return fmt.Errorf("bench: put of key %d: %w", i, err)
		}
	}
	return nil
}

func validKeys(keys, valueBytes int) error {
	switch {
	case keys < 1 || keys > maxKeys:
		return fmt.Errorf("%w: %d keys, want 1 to %d", ErrConfig, keys, maxKeys)
	case valueBytes < minValue || valueBytes > maxValue:
		return fmt.Errorf("%w: values of %d bytes, want %d to %d", ErrConfig, valueBytes, minValue, maxValue)
	}
	return nil
}

// Memory is the memory of the process.
type Memory struct {
	Resident uint64 `json:"resident_bytes"` // 0 where the system does not say
	Heap     uint64 `json:"go_heap_bytes"`  // live and not yet collected
	GCs      uint32 `json:"collections"`
}

func memoryNow() Memory {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return Memory{Resident: resident(), Heap: s.HeapAlloc, GCs: s.NumGC}
}

// resident is read from /proc/self/statm (proc(5)): its second number, in pages.
func resident() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return n * uint64(os.Getpagesize())
}
