package kv

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// Walk gives each record once, those that have expired included, and the first error.
func TestWalk(t *testing.T) {
	now := time.Duration(1)
	m := newMap(t, func() time.Duration { return now }, Options{Expired: func([]byte, uint64) {}})
	const keys = 3000
	for i := range keys + 10 {
		if _, err := m.Put(Entry{Key: fmt.Append(nil, i), Expiry: time.Duration(i % 2 * 5)}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		if err := m.Delete(fmt.Append(nil, keys+i), Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	now = 10
	seen, ended := map[string]int{}, 0
	var b Buffer
	read := func(refs []record.Ref) error {
		for _, ref := range refs {
			v, err := m.Read(ref, &b)
			if err != nil {
				return err
			}
			seen[string(v.Key)]++
		}
		return nil
	}
	if err := m.Walk(read, func() error { ended++; return nil }); err != nil || ended != 1 || len(seen) != keys {
		t.Fatalf("%v, ended %d times, %d keys", err, ended, len(seen))
	}
	for k, n := range seen {
		if n != 1 {
			t.Fatalf("%s was given %d times", k, n)
		}
	}
	own := errors.New("mine")
	if err := m.Walk(func([]record.Ref) error { return own }, func() error { t.Error("ended"); return nil }); !errors.Is(err, own) {
		t.Error(err)
	}
	if err := m.Walk(read, func() error { return own }); !errors.Is(err, own) {
		t.Error(err)
	}
	if _, err := m.Put(Entry{Key: []byte("after")}, Condition{}); err != nil { // The lock is free.
		t.Error(err)
	}
	m.Close()
	if err := m.Walk(read, func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
