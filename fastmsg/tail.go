package fastmsg

import (
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/tailword"
)

// Announcements in memory
//
// A client may announce its requests without immediates, as the paper's
// polling server has it (section III-A, figure 6a): it writes them by plain
// Writes, and then, by one more in the same Post, the tail of the ring, which
// a polling worker looks at:
//
//	request ring, RingBytes                        tail word, a line of its own
//	+------+------+---------------------------+    +--------+--------------+
//	| ...  | new  |                           |    | 8 bytes|  56 unused   |
//	+------+------+---------------------------+    +--------+--------------+
//	        1. Write: the bytes                      2. Write: the new tail
//
// The paper's server, as FaRM's, looks at the messages themselves: their size,
// then their last byte. That needs a card that places the bytes of a write in
// order (placed.go). InfiniBand does not promise it, and neither does package rdma. It
// promises that one aligned word is seen whole, with all that was written
// before it ("Order" there, also on how a processor with weakly ordered memory
// keeps that promise). Here, Go's atomic load is the other half: nothing that
// the worker reads after it is older.
//
// Package tailword says what the word contains.
const (
	// tailBytes is the line after the ring that holds the word.
	tailBytes = rdma.LineBytes
	wordBytes = tailword.Bytes
)

// tailSources is the number of words that a writer keeps, since each belongs to
// the provider until its Write has completed. At most callerDepth requests are
// outstanding, and at least every second one is the Write of bytes before a
// word; so when callerDepth/2+1 words were posted after it, a word is complete.
func tailSources() int { return callerDepth(true)/2 + 2 }

// tailWriter is the part of a sendRing that writes the word.
type tailWriter struct {
	sources []byte      // in the mirror, after the ring; nil: announces by immediates
	remote  rdma.Remote // the word
	posted  uint64      // words posted
}

// request returns the Write that announces everything up to tail.
func (t *tailWriter) request(mirror rdma.Region, ringBytes int, tail uint64) rdma.WorkRequest {
	at := int(t.posted%uint64(len(t.sources)/wordBytes)) * wordBytes
	t.posted++
	tailword.Put(t.sources[at:], tail)
	return rdma.WorkRequest{
		Op:         rdma.OpWrite,
		Unsignaled: true,
		Local:      rdma.Buffer{Region: mirror, Offset: ringBytes + at, Len: wordBytes},
		Remote:     t.remote,
	}
}

// mirrorBytes is the memory that the writer of a ring needs.
func mirrorBytes(ringBytes int, inMemory bool) int {
	if inMemory {
		return ringBytes + tailSources()*wordBytes
	}
	return ringBytes
}

// regionBytes is the memory that the reader of requests needs.
func regionBytes(ringBytes int, inMemory bool) int {
	if inMemory {
		return ringBytes + tailBytes
	}
	return ringBytes
}

// watched is a word that a worker looks at: a tail, or where a message will begin
// (placed.go), which is 0 until then. A slice holds them together,
// so that a worker with many connections waits for no memory but the words.
type watched struct {
	word *atomic.Uint64
	seen uint64 // as loaded
}

// tailOf returns the word after the ring in a region's memory.
//
// SAFETY: the memory has ringBytes+tailBytes, and begins at a page boundary, as
// the word does. Pointers to it are kept only while its region is open.
func tailOf(mem []byte, ringBytes int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mem[ringBytes : ringBytes+tailBytes][0]))
}

// watch begins to look at the tail word of a connection, as long as it is open.
func (w *Worker) watch(c *Conn) {
	word := c.in.word(c.in.tail)
	if !c.in.placed {
		word = tailOf(c.requests.Bytes(), int(c.in.size))
	}
	w.words = append(w.words, watched{word: word})
	w.wordsOf = append(w.wordsOf, c)
	c.place.watched = len(w.words)
	w.keepPolling(c)
}

func (w *Worker) unwatch(c *Conn) {
	at, last := c.place.watched-1, len(w.words)-1
	w.words[at], w.wordsOf[at] = w.words[last], w.wordsOf[last]
	w.wordsOf[at].place.watched = at + 1
	w.words[last], w.wordsOf[last] = watched{}, nil
	w.words, w.wordsOf = w.words[:last], w.wordsOf[:last]
	c.place.watched = 0
}

// look looks at all tail words once, and lists the connections whose word has
// changed. The loads do not depend on each other, so the processor waits for
// several at once.
func (w *Worker) look() {
	for i := range w.words {
		if v := w.words[i].word.Load(); v != w.words[i].seen {
			if w.wordsOf[i].in.placed {
				w.lookPlaced(i, w.wordsOf[i])
				continue
			}
			w.words[i].seen = v
			if c := w.wordsOf[i]; c.tailChanged(v) {
				w.account(c)
				w.ticking = true
			}
		}
	}
}

// tailChanged takes the new value of the tail word, and reports whether it
// announced requests.
func (c *Conn) tailChanged(loaded uint64) (requests bool) {
	n, ok := tailword.Units(loaded)
	if !ok || c.failed != nil {
		return false // not complete: the rest of it will come
	}
	if err := c.in.announceTail(n); err != nil {
		c.Fail(err)
		return false
	}
	c.w.schedule.touch(c)
	return true
}
