package kv

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// getFunc makes a function that looks up a key, for one goroutine.
type getFunc func() func(m *Map, key []byte) (record.View, record.Ref, error)

func getOne() func(m *Map, key []byte) (record.View, record.Ref, error) {
	var b Buffer
	return func(m *Map, key []byte) (record.View, record.Ref, error) { return m.Get(key, &b) }
}

// getAmong looks up n keys, of which the last is the one of the call, and one occurs
// twice.
func getAmong(n int) getFunc {
	return func() func(m *Map, key []byte) (record.View, record.Ref, error) {
		var b ManyBuffer
		others, keys := make([][]byte, n), make([][]byte, n)
		for i := range others {
			others[i] = fmt.Appendf(nil, "key-%d", i)
		}
		return func(m *Map, key []byte) (v record.View, ref record.Ref, err error) {
			copy(keys, others)
			keys[n/3], keys[n-1] = key, key
			next := 0
			m.GetMany(keys, &b, func(i int, got record.View, r record.Ref, e error) bool {
				if i != next || e == nil && !bytes.Equal(got.Key, keys[i]) {
					err = fmt.Errorf("result %d is of key %q, want result %d, of %q: %w", i, got.Key, next, keys[i], e)
				}
				if next++; i == n-1 && err == nil {
					v, ref, err = got, r, e
					v.Value = bytes.Clone(got.Value) // it is good until f returns
				}
				return true
			})
			if next != n {
				err = fmt.Errorf("%d results for %d keys", next, n)
			}
			return v, ref, err
		}
	}
}

// interrupted is an index that calls a function after lookups.
type interrupted struct {
	cuckoo.Index
	after func()
}

func (x *interrupted) Lookup(dst []uint64, hash uint64) []uint64 {
	dst = x.Index.Lookup(dst, hash)
	if f := x.after; f != nil {
		x.after = nil
		f()
	}
	return dst
}

// A Get that is stopped between the index and the record, for any time, finds the key's
// present record, whatever became of the old record's place.
func TestGetStoppedBetweenIndexAndRecord(t *testing.T) {
	key, other := []byte("key"), []byte("yek")
	put := func(m *Map, key []byte, value string) {
		if _, err := m.Put(Entry{Key: key, Value: []byte(value)}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, then := range map[string]struct {
		do   func(m *Map, c *clock)
		want string
	}{
		"nothing": {func(*Map, *clock) {}, "first"},
		"updated": {func(m *Map, _ *clock) { put(m, key, "second") }, "second"},
		"deleted": {func(m *Map, _ *clock) {
			if err := m.Delete(key, Condition{}); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"place used by the same key": {func(m *Map, c *clock) {
			for range 20 {
				put(m, key, "later")
				c.advance(2 * record.DefaultGrace)
			}
		}, "later"},
		"place used by another key": {func(m *Map, c *clock) {
			put(m, key, "other value")
			c.advance(2 * record.DefaultGrace)
			for range 20 {
				put(m, other, "other")
				c.advance(2 * record.DefaultGrace)
			}
		}, "other value"},
		"expired": {func(m *Map, c *clock) {
			if _, err := m.Put(Entry{Key: key, Value: []byte("x"), Expiry: c.Now() + time.Second}, Condition{}); err != nil {
				t.Fatal(err)
			}
			c.advance(time.Second)
		}, ""},
	} {
		for way, get := range map[string]getFunc{"Get": getOne, "GetMany": getAmong(1)} {
			t.Run(name+"/"+way, func(t *testing.T) {
				var c clock
				m := newMap(t, c.Now, Options{})
				put(m, key, "first")
				x := &interrupted{Index: m.index}
				m.index = x
				x.after = func() { then.do(m, &c) }
				v, _, err := get()(m, key)
				if then.want == "" {
					if !errors.Is(err, ErrNotFound) {
						t.Fatalf("value %q, %v, want none", v.Value, err)
					}
				} else if err != nil || string(v.Value) != then.want {
					t.Fatalf("value %q, %v, want %q", v.Value, err, then.want)
				}
			})
		}
	}
}

// An index that leads to a place without a record causes an error, not a loop.
func TestGetOfDamagedIndexIsAnError(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{})
	key := []byte("key")
	if err := m.index.Insert(cuckoo.Hash(m.seed, key), uint64(record.RefAt(record.SpanBytes, 64, 1))); err != nil {
		t.Fatal(err)
	}
	for _, get := range []getFunc{getOne, getAmong(1)} {
		if _, _, err := get()(m, key); !errors.Is(err, record.ErrStale) {
			t.Errorf("%v", err)
		}
	}
}

// After Close every key gets ErrClosed.
func TestGetManyOfAClosedMap(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{})
	m.Close()
	n := 0
	m.GetMany([][]byte{[]byte("a"), []byte("b")}, &ManyBuffer{}, func(i int, _ record.View, _ record.Ref, err error) bool {
		if !errors.Is(err, ErrClosed) || i != n {
			t.Errorf("key %d: %v", i, err)
		}
		n++
		return true
	})
	if n != 2 {
		t.Errorf("%d results", n)
	}
}

func TestGetManyDoesNotAllocate(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{})
	var keys [][]byte
	for i := range 200 {
		k := fmt.Appendf(nil, "key-%d", i)
		keys = append(keys, k)
		if _, err := m.Put(Entry{Key: k, Value: make([]byte, 32)}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	var b ManyBuffer
	if n := testing.AllocsPerRun(100, func() {
		found := 0
		m.GetMany(keys, &b, func(_ int, v record.View, _ record.Ref, err error) bool {
			if err == nil && len(v.Value) == 32 {
				found++
			}
			return true
		})
		if found != len(keys) {
			t.Fatalf("found %d of %d", found, len(keys))
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// It ends when f returns false, and leaves out values longer than LongestValue.
func TestGetManyOfLongValues(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{})
	var keys [][]byte
	for i, bytes := range []int{10, 200_000, 3000, 100} {
		keys = append(keys, fmt.Appendf(nil, "key %d", i))
		if _, err := m.Put(Entry{Key: keys[i], Value: make([]byte, bytes)}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	b := ManyBuffer{LongestValue: 1000}
	var got, whole []int
	m.GetMany(keys, &b, func(i int, v record.View, _ record.Ref, err error) bool {
		if err != nil {
			t.Error(err)
		}
		got, whole = append(got, len(v.Value)), append(whole, v.ValueBytes)
		return i < 2
	})
	if !slices.Equal(got, []int{10, 0, 0}) || !slices.Equal(whole, []int{10, 200_000, 3000}) {
		t.Errorf("values of %d bytes, of %d", got, whole)
	}
}
