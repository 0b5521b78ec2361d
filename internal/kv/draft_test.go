package kv

import (
	"bytes"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/record"
)

// A draft is put as an Entry is, with its condition. No reader sees it before that, or
// if it is not put.
func TestDraft(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{})
	var b Buffer
	key := []byte("key")
	value := bytes.Repeat([]byte("0123456789"), 50_000)
	draft := func(v []byte) *Draft {
		d := m.NewDraft()
		for len(v) > 0 {
			n := min(7001, len(v))
			if err := d.Append(v[:n]); err != nil {
				t.Fatal(err)
			}
			v = v[n:]
		}
		return d
	}
	want := func(v []byte, revision uint64) {
		t.Helper()
		got, _, err := m.Get(key, &b)
		if v == nil && !errors.Is(err, ErrNotFound) || v != nil && (err != nil || !bytes.Equal(got.Value, v) || got.Revision != revision) {
			t.Fatalf("value of %d bytes, revision %d, %v, want %d, %d", len(got.Value), got.Revision, err, len(v), revision)
		}
	}
	d := draft(value)
	want(nil, 0)
	if m.Stats().Records.UsedBytes == 0 {
		t.Error("a draft of several blocks uses no memory of the records")
	}
	d.Discard()
	d.Discard()
	if s := m.Stats(); s.Records.UsedBytes != 0 || s.Revision != 0 {
		t.Fatalf("after Discard: %+v", s)
	}
	if _, err := draft(value).Put(Entry{Key: key, Value: []byte("x")}, Condition{}); !errors.Is(err, ErrOptions) {
		t.Fatalf("a value besides: %v", err)
	}
	rev, err := draft(value).Put(Entry{Key: key, Flags: 3}, Condition{IfAbsent: true})
	if err != nil {
		t.Fatal(err)
	}
	want(value, rev)
	used := m.Stats().Records.UsedBytes
	for cond, wanted := range map[Condition]error{{IfAbsent: true}: ErrExists, {IfRevision: rev + 1}: ErrConflict} {
		if _, err := draft(value[1:]).Put(Entry{Key: key}, cond); !errors.Is(err, wanted) {
			t.Errorf("%+v: %v", cond, err)
		}
		if now := m.Stats().Records.UsedBytes; now != used {
			t.Errorf("%+v: %d bytes used, before %d", cond, now, used)
		}
		want(value, rev)
	}
	if _, err := draft(value).Put(Entry{Key: make([]byte, record.MaxKeyBytes+1)}, Condition{}); !errors.Is(err, record.ErrTooLarge) {
		t.Errorf("a key that is too long: %v", err)
	}
	for _, v := range [][]byte{value[2:], value[:1000]} {
		if rev, err = draft(v).Put(Entry{Key: key}, Condition{IfRevision: rev}); err != nil {
			t.Fatal(err)
		}
		want(v, rev)
	}
	// A draft that was begun before the Map is closed can be ended.
	d = draft(value)
	m.Close()
	if err := d.Append(value); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := d.Put(Entry{Key: key}, Condition{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	d.Discard()
}

// When no place is free, places of dead records are freed; when no memory is left, the
// draft changes nothing.
func TestDraftWhenFull(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{Records: memory(t, 9*record.SpanBytes)})
	value := make([]byte, 900_000) // of 2 MiB
	for i := range 10 {
		d := m.NewDraft()
		if err := d.Append(value); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if _, err := d.Put(Entry{Key: []byte("key")}, Condition{}); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		c.advance(2 * record.DefaultGrace)
	}
	d := m.NewDraft()
	var err error
	for range 3 {
		err = errors.Join(err, d.Append(value))
	}
	if !errors.Is(err, record.ErrFull) {
		t.Fatal(err)
	}
	d.Discard()
	if s := m.Stats(); s.Index.Items != 1 || s.Records.UsedBytes > 1_100_000 {
		t.Errorf("%+v", s)
	}
}
