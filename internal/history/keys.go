package history

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// Keys collects operations on keys, each of which is a linearizable register:
// its value is the number of the write that stored it, 0 for none. No two writes
// of a key store the same number.
type Keys struct{ r Recorder }

// NewKeys starts a history.
func NewKeys() *Keys { return &Keys{Recorder{start: time.Now()}} }

// Now returns the time to pass as an operation's call.
func (k *Keys) Now() int64 { return k.r.Now() }

// Len is the number of operations so far.
func (k *Keys) Len() int { return k.r.Len() }

// Outcome is what became of a write.
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
	value    uint64 // read: what was seen; put: what it stores; delete: 0
	ifAbsent bool   // put
	remove   bool
	outcome  Outcome
	covers   func(value uint64) bool // read that did not see the key, of a part of all
}

func (k *Keys) add(client int, call int64, o keyOp) {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	end := k.Now()
	if o.outcome == Unknown {
		end = 1 << 62
	}
	k.r.ops = append(k.r.ops, porcupine.Operation{ClientId: client, Call: call, Return: end, Input: o})
}

// Get records what a read saw.
func (k *Keys) Get(client int, call int64, key int, value uint64) {
	k.add(client, call, keyOp{key: key, read: true, value: value})
}

// Missed records that a search of an area did not see a key: there is none, or covers
// says of its value that it is elsewhere.
func (k *Keys) Missed(client int, call int64, key int, covers func(value uint64) bool) {
	k.add(client, call, keyOp{key: key, read: true, covers: covers})
}

// Put records a write.
func (k *Keys) Put(client int, call int64, key int, value uint64, ifAbsent bool, o Outcome) {
	k.add(client, call, keyOp{key: key, value: value, ifAbsent: ifAbsent, outcome: o})
}

// Delete records a deletion; Refused: there was nothing.
func (k *Keys) Delete(client int, call int64, key int, o Outcome) {
	k.add(client, call, keyOp{key: key, remove: true, outcome: o})
}

// Check looks for an order of each key's operations that explains all of them. At
// first no key has a value.
func (k *Keys) Check(limit time.Duration) error {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	byKey := map[int][]porcupine.Operation{}
	for _, o := range k.r.ops {
		key := o.Input.(keyOp).key
		byKey[key] = append(byKey[key], o)
	}
	for key, ops := range byKey {
		switch porcupine.CheckOperationsTimeout(register, ops, limit) {
		case porcupine.Illegal:
			return fmt.Errorf("history: key %d: no order explains its %d operations", key, len(ops))
		case porcupine.Unknown:
			return fmt.Errorf("history: key %d: %d operations not checked within %v", key, len(ops), limit)
		}
	}
	return nil
}

var register = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		is, o := state.(uint64), input.(keyOp)
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
	},
	Equal: func(a, b any) bool { return a.(uint64) == b.(uint64) },
}
