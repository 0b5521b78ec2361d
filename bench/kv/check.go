package kv

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/ycsb"
)

// checker checks and counts the values that one goroutine reads. A value must
// exist and be one of those written for its key (ycsb.CheckValue).
//
// It also must not be older than one that the goroutine has seen. A client's
// writes have ascending numbers, and each begins when the previous one has
// been acknowledged. So after the goroutine read or wrote number n of a
// client in a key, no later read may return a smaller number of the same
// client there, nor the loaded value. Numbers of different clients are
// unordered. An observation stays true, so keeping only some of them is
// harmless: those of the last key of each remainder modulo seenKeys, which a
// popular key is most of the time.
type checker struct {
	// ascending is false if numbers are meaningless: values too short to hold
	// one, and writes in another order than the drawn one.
	ascending bool
	cache     bool // a key may have no record
	Answers
	seen [seenKeys]struct{ key, seq uint64 }
}

// seenKeys entries take 4 KiB for each goroutine. Of a million keys by Zipf's
// law with theta 0.99, two fifths of the reads are of the 256 most popular ones.
const seenKeys = 256

// check judges an answer and returns the number of the value.
func (c *checker) check(op *ycsb.Op, value []byte, found bool) (seq uint64) {
	c.Checked++
	if !found && c.cache {
		c.Missed++
		return 0
	}
	if !found {
		c.wrong(op, "it is lost")
		return 0
	}
	seq, err := ycsb.CheckValue(op.Key, value)
	if err != nil {
		c.wrong(op, err.Error())
		return 0
	}
	if last := &c.seen[op.Number%seenKeys]; c.ascending && last.key == op.Number && last.seq > seq &&
		(seq == 0 || ycsb.Writer(seq) == ycsb.Writer(last.seq)) {
		c.wrong(op, fmt.Sprintf("it has write %#x, after %#x was seen", seq, last.seq))
	}
	return seq
}

// saw records a value that was read or written for a key.
func (c *checker) saw(key, seq uint64) {
	last := &c.seen[key%seenKeys]
	if last.key == key && last.seq > seq && (seq == 0 || ycsb.Writer(seq) == ycsb.Writer(last.seq)) {
		return
	}
	last.key, last.seq = key, seq
}

func (c *checker) wrong(op *ycsb.Op, why string) {
	c.Wrong++
	if c.First == "" {
		c.First = fmt.Sprintf("key %s, number %#x: %s", op.Key, op.Number, why)
	}
}
