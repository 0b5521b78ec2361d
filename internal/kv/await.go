package kv

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/record"
)

// MaxWaiters bounds the calls of WaitFor that wait in a Map.
const MaxWaiters = 4096

// waiter is a call of WaitFor. It gets one Entry, or ended is closed with the Map.
type waiter struct {
	value []byte
	ended chan Entry // has room for it
}

// WaitFor waits until the key has a record with this value, and returns the record, whose Key
// and Value are the caller's. A write wakes it; a value that is there only between two writes is
// noticed, too. The error is ctx's, ErrClosed, or fault.ErrBusy: MaxWaiters wait already.
func (m *Map) WaitFor(ctx context.Context, key, value []byte) (Entry, error) {
	w := &waiter{value, make(chan Entry, 1)}
	there, err := m.await(key, w)
	if err != nil || there.Revision != 0 {
		return there, err
	}
	select {
	case e, ok := <-w.ended:
		if !ok {
			return Entry{}, fmt.Errorf("kv: waiting for %q: %w", key, ErrClosed)
		}
		e.Key, e.Value = key, value
		return e, nil
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unawait(string(key), w)
		return Entry{}, fmt.Errorf("kv: waiting for %q: %w", key, context.Cause(ctx))
	}
}

// await returns the record if it is as wanted, else it lists the waiter.
func (m *Map) await(key []byte, w *waiter) (Entry, error) {
	if err := m.lock(); err != nil {
		return Entry{}, err
	}
	defer m.mu.Unlock()
	if ref, has, _ := m.find(cuckoo.Hash(m.seed, key), key, m.now()); has != 0 {
		if v, ok := m.equals(ref, w.value); ok {
			return Entry{Key: key, Value: w.value, Revision: v.Revision, Expiry: time.Duration(v.Expiry), Flags: v.Flags}, nil
		}
	}
	if m.waiters >= MaxWaiters {
		return Entry{}, fmt.Errorf("%w: %d calls wait for records of the collection", fault.ErrBusy, MaxWaiters)
	}
	if m.awaited == nil {
		m.awaited = map[string][]*waiter{}
	}
	m.awaited[string(key)] = append(m.awaited[string(key)], w)
	m.waiters++
	return Entry{}, nil
}

// unawait takes a waiter from the list, if it is there. The caller holds the lock.
func (m *Map) unawait(key string, w *waiter) {
	all := m.awaited[key]
	for i, x := range all {
		if x != w {
			continue
		}
		m.waiters--
		if len(all) == 1 {
			delete(m.awaited, key)
			return
		}
		all[i] = all[len(all)-1]
		m.awaited[key] = all[:len(all)-1]
		return
	}
}

// wake ends the waiters for a record to which the index leads now, when the one before is
// dead: whoever is woken finds the new one by every path. The caller holds the lock.
func (m *Map) wake(ref record.Ref) {
	head, err := m.heap.View(ref, nil)
	if err != nil || len(m.awaited[string(head.Key)]) == 0 {
		return
	}
	key := string(head.Key)
	for _, w := range append([]*waiter(nil), m.awaited[key]...) {
		if v, ok := m.equals(ref, w.value); ok {
			w.ended <- Entry{Revision: v.Revision, Expiry: time.Duration(v.Expiry), Flags: v.Flags}
			m.unawait(key, w)
		}
	}
}

// equals reports whether a record has a value. The caller holds the lock.
func (m *Map) equals(ref record.Ref, value []byte) (v record.View, ok bool) {
	v, err := m.heap.View(ref, nil)
	if err != nil || v.ValueBytes != len(value) {
		return v, false
	}
	if v.Blocks() > 0 {
		if v, m.joined.record, err = m.heap.Read(ref, nil, m.joined.record); err != nil {
			return v, false
		}
	}
	return v, bytes.Equal(v.Value, value)
}

// endWaiters ends all, for Close.
func (m *Map) endWaiters() {
	for _, all := range m.awaited {
		for _, w := range all {
			close(w.ended)
		}
	}
	m.awaited, m.waiters = nil, 0
}

// Waiters is the number of calls of WaitFor that wait.
func (m *Map) Waiters() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiters
}
