package history

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
)

// This file looks for an order of the operations on one register that explains
// all of them, as Wing and Gong do with Lowe's memory of tried configurations
// ("Testing for linearizability", 2017), and with one more rule.
//
//	configuration  what is in the order so far, and the value after it
//	next           not in the order yet, and called before any other such
//	               operation returned: it may be the next one in the order
//
// An operation that never changes the value (watches) and is possible with the value
// as it is comes next at once. That loses nothing: an order that has it later explains
// as much with it here, where no other operation notices it. So only writes that
// overlap each other make several configurations. Without the rule each set of reads
// that overlap was one, and some dozens of slow searches beside a writer made more than
// could be tried in a minute.

// operation is one client's operation on the register.
type operation[V comparable] struct {
	client    int
	call, end int64
	watches   bool // it does not change the value, whatever that is
	// step reports whether the operation, with its answer, is possible while
	// the register has a value, and the value after it.
	step func(V) (bool, V)
}

// never is the end of an operation whose outcome is unknown.
const never = int64(1) << 62

// errTooMany is returned instead of an answer after most configurations.
var errTooMany = errors.New("too many orders to try")

// most is a number and not a time, so that a busy machine tries the same number as
// any other. It takes some seconds; the histories of our tests have some hundreds.
const most = 1 << 17

// explained reports whether there is such an order from the initial value on.
// An error wraps errTooMany.
func explained[V comparable](initial V, ops []operation[V], most int) (bool, error) {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b operation[V]) int { return cmp.Compare(a.call, b.call) })
	s := search[V]{ops: ops, seed: maphash.MakeSeed(), tried: map[uint64][]configuration[V]{}}
	start := configuration[V]{value: initial, in: make([]uint64, (len(ops)+63)/64), next: make([]int32, len(ops)+1)}
	for i := range start.next {
		start.next[i] = int32(i) // next[i] follows operation i-1
	}
	open := []configuration[V]{start}
	for configurations := 0; len(open) > 0; configurations++ {
		if configurations == most {
			return false, fmt.Errorf("%w: %d were", errTooMany, most)
		}
		c := open[len(open)-1]
		open = open[:len(open)-1]
		s.watch(&c)
		if int(c.next[0]) == len(ops) {
			return true, nil
		}
		open = s.write(open, c)
	}
	return false, nil
}

type search[V comparable] struct {
	ops   []operation[V]
	seed  maphash.Seed
	tried map[uint64][]configuration[V] // by hash, without next
	ways  bool                          // there was more than one way
	bytes []byte                        // scratch of isNew
}

type configuration[V comparable] struct {
	value V
	in    []uint64 // a bit for each operation: it is in the order
	// next[i+1] is the operation not in the order that follows i, next[0] is the
	// first one, len(ops) ends the list.
	next []int32
}

// until is the first return among the operations that are not in the order: an
// operation called later is not next.
func (s *search[V]) until(c *configuration[V]) int64 {
	first := int64(math.MaxInt64)
	for i := c.next[0]; int(i) < len(s.ops) && s.ops[i].call <= first; i = c.next[i+1] {
		first = min(first, s.ops[i].end)
	}
	return first
}

// watch puts all operations into the order that come next at once.
func (s *search[V]) watch(c *configuration[V]) {
	for again := true; again; {
		again = false
		until := s.until(c)
		before := int32(-1)
		for i := c.next[0]; int(i) < len(s.ops) && s.ops[i].call <= until; i = c.next[i+1] {
			if s.ops[i].watches {
				if ok, _ := s.ops[i].step(c.value); ok {
					c.put(before, i)
					again = true
					continue
				}
			}
			before = i
		}
	}
}

// put puts operation i, which follows operation before in the list, into the order.
func (c *configuration[V]) put(before, i int32) {
	c.next[before+1] = c.next[i+1]
	c.in[i/64] |= 1 << (i % 64)
}

// write appends the untried configurations with one more write, the one to try
// first at the end: writes that returned first, before those that never did.
func (s *search[V]) write(open []configuration[V], c configuration[V]) []configuration[V] {
	type write struct {
		before, i int32
		value     V
	}
	var writes []write
	until := s.until(&c)
	before := int32(-1)
	for i := c.next[0]; int(i) < len(s.ops) && s.ops[i].call <= until; before, i = i, c.next[i+1] {
		if s.ops[i].watches {
			continue
		}
		if ok, value := s.ops[i].step(c.value); ok {
			writes = append(writes, write{before, i, value})
		}
	}
	// As long as there is one way there is none that leads to the same place.
	s.ways = s.ways || len(writes) > 1
	slices.SortFunc(writes, func(a, b write) int { return cmp.Compare(s.ops[b.i].end, s.ops[a.i].end) })
	for n, w := range writes {
		with := c
		if n < len(writes)-1 {
			with.in, with.next = slices.Clone(c.in), slices.Clone(c.next)
		}
		with.value = w.value
		with.put(w.before, w.i)
		if !s.ways || s.isNew(&with) {
			open = append(open, with)
		}
	}
	return open
}

func (s *search[V]) isNew(c *configuration[V]) bool {
	s.bytes = s.bytes[:0]
	for _, w := range c.in {
		s.bytes = binary.LittleEndian.AppendUint64(s.bytes, w)
	}
	sum := maphash.Bytes(s.seed, s.bytes)
	for _, t := range s.tried[sum] {
		if t.value == c.value && slices.Equal(t.in, c.in) {
			return false
		}
	}
	s.tried[sum] = append(s.tried[sum], configuration[V]{value: c.value, in: slices.Clone(c.in)})
	return true
}
