package kv

import (
	"errors"
	"testing"
	"time"
)

// GetExpired finds a record that has expired, from that moment until it is removed.
func TestGetExpired(t *testing.T) {
	var now clock
	now.advance(time.Hour)
	m := newMap(t, now.Now, Options{Expired: func([]byte, uint64) {}})
	var b Buffer
	is := func(want string, wantErr error) {
		t.Helper()
		v, err := m.GetExpired([]byte("k"), &b)
		if string(v.Value) != want && err == nil || !errors.Is(err, wantErr) || wantErr == nil && err != nil {
			t.Fatalf("%q, %v, want %q, %v", v.Value, err, want, wantErr)
		}
	}
	put := func(value string, expiry time.Duration) {
		t.Helper()
		if _, err := m.Put(Entry{Key: []byte("k"), Value: []byte(value), Expiry: expiry}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	is("", ErrNotFound)
	put("for ever", 0)
	is("", ErrNotFound)
	put("a second", now.Now()+time.Second)
	is("", ErrNotFound)
	now.advance(time.Second)
	is("a second", nil)
	if err := m.DeleteAs([]byte("k"), Condition{}, 0); err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	put("another second", now.Now()+time.Second)
	is("", ErrNotFound)
	now.advance(time.Second)
	is("another second", nil)
	put("for ever", 0)
	is("", ErrNotFound)
	m.Close()
	is("", ErrClosed)
}
