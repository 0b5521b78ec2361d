package kv

import (
	"fmt"

	"github.com/catfish-index/catfish/datasets/ycsb"
)

// checker judges what one goroutine reads, and counts. A value has to be one that
// was written for its key (ycsb.CheckValue), and has to be there.
//
// It also must not be older than one that the goroutine has seen. A client's
// writes have ascending numbers, and each is made when the one before has been
// acknowledged. So once number n of a client was seen in a key, by reading it or
// by having written it, no later read may give a smaller number of the same
// client there, nor the value that was loaded. Numbers of different clients say
// nothing about each other. What was seen stays true, so that it does no harm to
// remember only some of it: the last key of each remainder modulo seenKeys, which
// a popular key is most of the time.
type checker struct {
	// ascending is false where numbers tell nothing: values too short to hold
	// one, and writes that are not made in the order in which they were drawn.
	ascending bool
	Answers
	seen [seenKeys]struct{ key, seq uint64 }
}

// seenKeys take 4 KiB of each goroutine. Of a million keys by Zipf's law with
// theta 0.99, two fifths of the reads are of the 256 most popular ones.
const seenKeys = 256

// check judges an answer and returns the number of the value.
func (c *checker) check(op *ycsb.Op, value []byte, found bool) (seq uint64) {
	c.Checked++
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

// saw remembers that a key had a value, by reading or writing it.
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
