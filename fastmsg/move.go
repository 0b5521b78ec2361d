package fastmsg

import "encoding/binary"

// Moving answers from the fetched ring into the client's ring
//
// A client that wants its answers written may have left a full ring unfetched, up to
// 8 MiB. The answers stay where they are, and move into the client's ring as it has
// room, moveBytes in each turn, so that no other client waits for more than that:
//
//	answers left --> client's ring
//	backlog     --/  (answers given meanwhile, after those left)
//
// Until all have moved, no request of the client is served, and no step is made, as
// while anything waits in the backlog. They need no further memory.

// moveBytes take some 100 us.
const moveBytes = 256 << 10

// moving reports whether answers that were left are still to be written.
func (c *Conn) moving() bool {
	return c.answers != nil && !c.answers.on && c.answers.head != c.answers.tail
}

// beginMove makes the server write answers from now on, first those that were
// left and that the client has not fetched.
func (c *Conn) beginMove() {
	a := c.answers
	a.on, a.rides = false, 0
	a.published = a.head // nothing more can be fetched
	// Reports in numbers of lines that the client has not seen are repeated.
	a.sayRead = true
}

// drainLeft is drain of a client that may fetch.
func (c *Conn) drainLeft() (more bool) {
	if c.moving() {
		if more = c.move(); c.moving() {
			return more
		}
	}
	var to ring = &c.out
	if c.answers.on {
		to = c.answers
	}
	c.account.Give(c.backlog.drain(to))
	return false
}

// move moves answers while there is room for them, and reports whether there may be room
// for more.
func (c *Conn) move() (more bool) {
	a := c.answers
	for moved := 0; c.moving(); {
		if moved >= moveBytes {
			return true
		}
		from := a.head
		m := a.message(c.w.scratch[:0])
		if decodeHeader(binary.LittleEndian.Uint64(m)).flags != FlagMailbox && !c.out.appendEncoded(m) {
			a.head = from
			return false
		}
		moved += len(m)
	}
	return false
}

// leftBytes is how much is still to be moved.
func (c *Conn) leftBytes() int {
	if !c.moving() {
		return 0
	}
	return int(c.answers.tail-c.answers.head) * lineBytes
}
