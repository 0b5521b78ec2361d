package history

import (
	"fmt"
	"sync"
	"time"
)

// Keys collects operations on keys, each of which is a linearizable register:
// its value is the number of the write that stored it, 0 for none. No two writes
// of a key store the same number.
type Keys struct {
	start time.Time

	mu  sync.Mutex
	ops map[int][]operation[uint64] // by key
}

// NewKeys starts a history.
func NewKeys() *Keys { return &Keys{start: time.Now(), ops: map[int][]operation[uint64]{}} }

// Now returns the time to pass as an operation's call.
func (k *Keys) Now() int64 { return int64(time.Since(k.start)) }

// Len is the number of operations so far.
func (k *Keys) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, ops := range k.ops {
		n += len(ops)
	}
	return n
}

// Outcome is the outcome of a write.
type Outcome uint8

// The outcomes.
const (
	Done    Outcome = iota
	Refused         // the condition did not hold, or there was nothing to delete
	Unknown         // it may take effect at any later time, or never
)

type keyOp struct {
	key      int
	read     bool
	value    uint64 // read: the value seen; put: the value stored; delete: 0
	ifAbsent bool   // put
	remove   bool
	outcome  Outcome
	covers   func(value uint64) bool // read that did not see the key, of a part of all
}

func (k *Keys) add(client int, call int64, o keyOp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	end := k.Now()
	if o.outcome == Unknown {
		end = never
	}
	k.ops[o.key] = append(k.ops[o.key], operation[uint64]{
		client: client, call: call, end: end, watches: o.read || o.outcome == Refused, step: o.step,
	})
}

// Get records the value that a read saw.
func (k *Keys) Get(client int, call int64, key int, value uint64) {
	k.add(client, call, keyOp{key: key, read: true, value: value})
}

// Missed records that a search of an area did not see a key: there is none, or
// covers reports that its value is elsewhere.
func (k *Keys) Missed(client int, call int64, key int, covers func(value uint64) bool) {
	k.add(client, call, keyOp{key: key, read: true, covers: covers})
}

// Put records a write.
func (k *Keys) Put(client int, call int64, key int, value uint64, ifAbsent bool, o Outcome) {
	k.add(client, call, keyOp{key: key, value: value, ifAbsent: ifAbsent, outcome: o})
}

// Delete records a deletion; Refused: there was no value.
func (k *Keys) Delete(client int, call int64, key int, o Outcome) {
	k.add(client, call, keyOp{key: key, remove: true, outcome: o})
}

// Check looks for an order of each key's operations that explains all of them. At
// first no key has a value.
func (k *Keys) Check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, ops := range k.ops {
		switch ok, err := explained(0, ops, most); {
		case err != nil:
			return fmt.Errorf("history: key %d: %d operations: %w", key, len(ops), err)
		case !ok:
			return fmt.Errorf("history: key %d: no order explains its %d operations", key, len(ops))
		}
	}
	return nil
}

func (o keyOp) step(is uint64) (bool, uint64) {
	if o.read {
		return is == o.value || o.covers != nil && !o.covers(is), is
	}
	holds := !o.ifAbsent || is == 0
	if o.remove {
		holds = is != 0
	}
	switch {
	case o.outcome == Unknown && !holds:
		return true, is
	case o.outcome == Refused:
		return !holds, is
	}
	return holds, o.value
}
