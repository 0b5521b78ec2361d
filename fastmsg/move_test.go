package fastmsg

import (
	"encoding/binary"
	"testing"
)

// messages returns the ids of the messages in a ring from a position on, without padding.
func (r *sendRing) messages(t *testing.T, from uint64) (ids []uint64) {
	t.Helper()
	for at := from; at < r.tail; {
		b := r.buf[at%r.size:]
		h := decodeHeader(binary.LittleEndian.Uint64(b))
		if h.size == 0 {
			t.Fatalf("no message at %d of %d", at, r.tail)
		}
		if h.kind != kindPad {
			ids = append(ids, binary.LittleEndian.Uint64(b[8:]))
		}
		at += uint64(h.size)
	}
	return ids
}

// TestLeftAnswersMoveToRing: a ring of left answers moves part by part, in
// order, after earlier written answers and before later ones, without other
// memory of the server; no request is served until all have moved.
func TestLeftAnswersMoveToRing(t *testing.T) {
	const size = 4 * moveBytes
	w := &Worker{scratch: make([]byte, 0, size)}
	c := &Conn{w: w, answers: newAnswerRing(newHeapRegion(size)), out: newSendRing(newHeapRegion(size), newHeapRegion(size).Remote(), size, false)}
	if !c.out.append(1, FlagEnd, 0, make([]byte, size/4)) {
		t.Fatal("no room")
	}
	c.answers.on = true
	last := uint64(0)
	for payload := make([]byte, 2000); c.append(1, FlagEnd, last+1, payload); last++ {
		if last == 3 && !c.answers.append(1, FlagMailbox, 0, payload[:8]) {
			t.Fatal("no room")
		}
	}
	c.publish()
	c.beginMove()
	if err := c.answers.fetched(uint32(c.answers.tail)); err == nil {
		t.Error("what moves may be fetched")
	}
	// An answer given meanwhile waits.
	last++
	c.backlog.grow(8)
	c.backlog.push(1, FlagEnd, last, make([]byte, 8))
	if !c.Waits() || c.takesAnswers() || c.append(1, FlagEnd, last, nil) {
		t.Error("it is answered as if nothing moved")
	}
	parts := 0
	for tail := c.out.tail; c.drain(); tail = c.out.tail {
		if n := c.out.tail - tail; n < moveBytes || n > moveBytes+4096 {
			t.Errorf("%d bytes in a part, want %d", n, moveBytes)
		}
		parts++
	}
	// The client's ring is full by now, or has a quarter at its start.
	if !c.moving() || parts < 2 || c.leftBytes() == 0 {
		t.Fatalf("all of it moved in %d parts", parts)
	}
	left := c.leftBytes()
	if c.drain() || c.leftBytes() != left {
		t.Error("it moves without room")
	}
	ids := c.out.messages(t, 0)
	from := c.out.tail
	c.out.posted, c.out.head = c.out.tail, c.out.tail // the client has all
	for c.drain() {
	}
	if c.Waits() || c.answers.head != c.answers.tail {
		t.Errorf("%d bytes are left, %d wait", c.leftBytes(), c.backlog.waiting())
	}
	ids = append(ids, c.out.messages(t, from)...)
	for i, id := range ids {
		if id != uint64(i) {
			t.Fatalf("message %d of %d has id %d", i, len(ids), id)
		}
	}
	if len(ids) != int(last)+1 {
		t.Errorf("%d messages, want %d", len(ids), last+1)
	}
}
