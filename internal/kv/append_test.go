package kv

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// An Append puts bytes behind those that are there, of values in one place or in blocks, and
// keeps flags and expiry; without a record, or after its expiry, it is a Put.
func TestAppend(t *testing.T) {
	var c clock
	c.advance(time.Hour)
	m := newMap(t, c.Now, Options{})
	key := []byte("k")
	has := func(want []byte, flags uint16, expiry time.Duration) {
		t.Helper()
		v, _, err := m.Get(key, &Buffer{})
		if err != nil || !bytes.Equal(v.Value, want) || v.Flags != flags || time.Duration(v.Expiry) != expiry {
			t.Fatalf("%d bytes, flags %d, expiry %v, %v; want %d bytes, %d, %v", len(v.Value), v.Flags, v.Expiry, err, len(want), flags, expiry)
		}
	}
	if _, err := m.Append(Entry{Key: key}, Condition{IfPresent: true}); !errors.Is(err, ErrNotFound) {
		t.Errorf("if present, of no record: %v", err)
	}
	if _, err := m.Put(Entry{Key: key}, Condition{IfPresent: true}); !errors.Is(err, ErrNotFound) {
		t.Errorf("put if present, of no record: %v", err)
	}
	ends := c.Now() + time.Minute
	revision, err := m.Append(Entry{Key: key, Value: []byte("first"), Flags: 5, Expiry: ends}, Condition{})
	if err != nil {
		t.Fatal(err)
	}
	want := []byte("first")
	has(want, 5, ends)
	for _, n := range []int{0, 1, 50, 5000, 60_000, 100, 200_000, 300_000} {
		more := bytes.Repeat([]byte{byte(n)}, n)
		now, err := m.Append(Entry{Key: key, Value: more, Flags: 9, Expiry: 1}, Condition{IfRevision: revision})
		if err != nil || now != revision+1 {
			t.Fatalf("revision %d after %d, %v", now, revision, err)
		}
		revision, want = now, append(want, more...)
		has(want, 5, ends)
	}
	if _, err := m.Append(Entry{Key: key, Value: []byte("x")}, Condition{IfRevision: revision - 1}); !errors.Is(err, ErrConflict) {
		t.Errorf("of another revision: %v", err)
	}
	rest := make([]byte, MostAppended-len(want)+1)
	if _, err := m.Append(Entry{Key: key, Value: rest}, Condition{}); !errors.Is(err, record.ErrTooLarge) {
		t.Errorf("of a value beyond the limit: %v", err)
	}
	has(want, 5, ends)
	if _, err := m.Append(Entry{Key: key, Value: rest[1:]}, Condition{IfPresent: true}); err != nil {
		t.Errorf("of a value at the limit: %v", err)
	}
	c.advance(time.Minute)
	if _, err := m.Append(Entry{Key: key, Value: []byte("again"), Flags: 7}, Condition{}); err != nil {
		t.Fatal(err)
	}
	has([]byte("again"), 7, 0)
}
