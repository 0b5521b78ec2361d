package kv

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// Reads between Enter and Leave succeed, and Close waits for Leave. Later reads fail.
func TestEnter(t *testing.T) {
	var ref record.Ref
	m := newMap(t, func() time.Duration { return time.Hour }, Options{
		Follow: func(_, to record.Ref) error { ref = to; return nil },
	})
	if _, err := m.Put(Entry{Key: []byte("a"), Value: []byte("b")}, Condition{}); err != nil {
		t.Fatal(err)
	}
	b := &Buffer{}
	if err := m.Enter(b); err != nil {
		t.Fatal(err)
	}
	var left atomic.Bool
	begun, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		close(begun)
		m.Close()
		if !left.Load() {
			t.Error("Close did not wait for Leave")
		}
	}()
	<-begun
	for range 100 {
		if v, err := m.ReadSince(ref, 0, b); err != nil || string(v.Value) != "b" {
			t.Fatalf("%q, %v", v.Value, err)
		}
	}
	left.Store(true)
	m.Leave(b)
	<-closed
	if err := m.Enter(b); !errors.Is(err, ErrClosed) {
		t.Errorf("Enter after Close: %v", err)
	}
	if _, err := m.ReadSince(ref, 0, b); !errors.Is(err, ErrClosed) {
		t.Errorf("ReadSince after Close: %v", err)
	}
}
