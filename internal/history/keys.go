package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Keys collects operations on keys, each of which is a linearizable register:
// its value is the number of the write that stored it, 0 for none. No two writes
// of a key store the same number.
type Keys struct {
	start time.Time

	mu  sync.Mutex
	ops map[int][]KeyOp // by key
}

// NewKeys starts a history.
func NewKeys() *Keys { return &Keys{start: time.Now(), ops: map[int][]KeyOp{}} }

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

// KeyOp is an operation on a key, with its answer. Call and End are times of one clock.
type KeyOp struct {
	Client   int
	Key      int
	Call     int64
	End      int64 // not looked at if the outcome is Unknown
	Read     bool
	Value    uint64 // read: the value seen; put: the value stored; delete: 0
	IfAbsent bool   // put
	Remove   bool
	Outcome  Outcome
	// covers is of a search of a part of all that did not see the key.
	covers func(value uint64) bool
}

// Add records an operation of any process, with its times.
func (k *Keys) Add(o KeyOp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ops[o.Key] = append(k.ops[o.Key], o)
}

// now records an operation that ends now.
func (k *Keys) now(o KeyOp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o.End = k.Now()
	k.ops[o.Key] = append(k.ops[o.Key], o)
}

// Get records the value that a read saw.
func (k *Keys) Get(client int, call int64, key int, value uint64) {
	k.now(KeyOp{Client: client, Call: call, Key: key, Read: true, Value: value})
}

// Missed records that a search of an area did not see a key: there is none, or
// covers reports that its value is elsewhere.
func (k *Keys) Missed(client int, call int64, key int, covers func(value uint64) bool) {
	k.now(KeyOp{Client: client, Call: call, Key: key, Read: true, covers: covers})
}

// Put records a write.
func (k *Keys) Put(client int, call int64, key int, value uint64, ifAbsent bool, o Outcome) {
	k.now(KeyOp{Client: client, Call: call, Key: key, Value: value, IfAbsent: ifAbsent, Outcome: o})
}

// Delete records a deletion; Refused: there was no value.
func (k *Keys) Delete(client int, call int64, key int, o Outcome) {
	k.now(KeyOp{Client: client, Call: call, Key: key, Remove: true, Outcome: o})
}

// Check looks for an order of each key's operations that explains all of them. At
// first no key has a value. The error shows the first operation that fits no order, and
// those before it.
func (k *Keys) Check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(k.ops)) {
		ops := k.ops[key]
		switch ok, err := explained(0, keySteps(ops), most); {
		case err != nil:
			return fmt.Errorf("history: key %d: %d operations: %w", key, len(ops), err)
		case !ok:
			return fmt.Errorf("history: key %d: no order explains its %d operations: %s", key, len(ops), evidence(ops))
		}
	}
	return nil
}

func keySteps(ops []KeyOp) []operation[uint64] {
	all := make([]operation[uint64], len(ops))
	for i, o := range ops {
		all[i] = operation[uint64]{client: o.Client, call: o.Call, end: o.until(), watches: o.Read || o.Outcome == Refused, step: o.step}
	}
	return all
}

func (o *KeyOp) until() int64 {
	if o.Outcome == Unknown {
		return never
	}
	return o.End
}

// shown is how many operations evidence shows: those that returned last.
const shown = 8

// evidence is the end of the shortest prefix of a history, by time of return, that no
// order explains.
func evidence(ops []KeyOp) string {
	byEnd := slices.SortedStableFunc(slices.Values(ops), func(a, b KeyOp) int { return cmp.Compare(a.until(), b.until()) })
	lo, hi := 1, len(byEnd)
	for lo < hi {
		mid := (lo + hi) / 2
		if ok, err := explained(0, keySteps(keyPrefix(byEnd, mid)), most); !ok && err == nil {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	n := hi
	var b strings.Builder
	for _, o := range byEnd[max(0, n-shown):n] {
		fmt.Fprintf(&b, "\n  %s", o)
	}
	for _, o := range byEnd[n:] { // Their effect may have been visible.
		if !o.Read && o.Outcome == Unknown && o.Call <= byEnd[n-1].End {
			fmt.Fprintf(&b, "\n  %s", o)
		}
	}
	return b.String()
}

// keyPrefix is the n operations that returned first, and the writes that had begun by then.
func keyPrefix(byEnd []KeyOp, n int) []KeyOp {
	p := slices.Clone(byEnd[:n])
	for _, o := range byEnd[n:] {
		if !o.Read && o.Call <= byEnd[n-1].End {
			p = append(p, o)
		}
	}
	return p
}

// String is the operation in a line, with its times in milliseconds.
func (o KeyOp) String() string {
	what := fmt.Sprintf("stores %d", o.Value)
	switch {
	case o.covers != nil:
		what = "does not find it in its area"
	case o.Read:
		what = fmt.Sprintf("reads %d", o.Value)
	case o.Remove:
		what = "deletes"
	case o.IfAbsent:
		what += " if there is none"
	}
	return fmt.Sprintf("client %d, %.1f to %.1f ms: %s%s", o.Client, float64(o.Call)/1e6, float64(o.End)/1e6, what,
		[...]string{"", ", refused", ", outcome unknown"}[o.Outcome])
}

func (o KeyOp) step(is uint64) (bool, uint64) {
	if o.Read {
		return is == o.Value || o.covers != nil && !o.covers(is), is
	}
	holds := !o.IfAbsent || is == 0
	if o.Remove {
		holds = is != 0
	}
	switch {
	case o.Outcome == Unknown && !holds:
		return true, is
	case o.Outcome == Refused:
		return !holds, is
	}
	return holds, o.Value
}
