package fastmsg

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Which side moves the answers
//
// A client that asks for it in the handshake (flag 2) may fetch its answers from an
// answerRing, or let the server write them into its ring as for all others. It says
// which, at any time and without waiting, by an immediate; by the same it reports which
// lines it has fetched:
//
//	31  30  29 28                                  0
//	0   units that I appended to your ring             (as on all connections)
//	1   0   0  units of my ring that I have read       (so)
//	1   0   1  I have the answers before line at, modulo 2^29
//	1   1   0  the same; write all others
//	1   1   1  leave those that come, when you can
//
// The server says where it leaves answers, and from which line on, by a message
// of its own (FlagWhere), which it writes after all earlier answers. The first
// one follows the handshake, whose private data has no room for it.
//
// # No answer is lost or comes twice
//
// A client that wants its answers written stops fetching, and then says up to where it
// has them, at the end of a message. The server writes the answers left after that
// position, in order, before all others: so each message is taken from one of the two
// memories, and the pieces of an answer come in their order. When the client wants to
// fetch again, the server changes over between two answers, when none waits for room
// in the client's ring, and the client fetches when no earlier written answer is
// unread. Lines that were moved are never fetched: their numbers are used up.
//
// On such connections the server says how much of its ring for requests it has read as
// a number of units since the start, and not as those since its last report: a
// report by the number of a line that was not fetched is repeated.
const (
	flagFetch = 2

	// FlagWhere: the message says where the answers lie that the client may fetch.
	FlagWhere Flags = 4
	// FlagMailbox: the message is the beginning of the mailbox, and no answer.
	FlagMailbox Flags = 8
	// RideBytes is the largest payload of a FlagMailbox message.
	RideBytes = 64

	whereBytes   = 28
	positionBits = 29
	positionMask = 1<<positionBits - 1

	// maxSays is how many immediates of a client about its answers the server
	// may have left to poll: four quarters of the lines, and one change.
	maxSays = maxReturns/2 + 1

	tookBit  = 1 << 29
	modeBit  = 1 << 30
	sayMask  = returnBit | modeBit | tookBit
	sayTook  = returnBit | tookBit
	sayWrite = returnBit | modeBit
	sayLeave = returnBit | modeBit | tookBit
)

// openAnswers gives the connection a ring to leave its answers in.
func (w *Worker) openAnswers(c *Conn, bytes int) error {
	region, err := w.dev.Register(bytes, rdma.RemoteRead)
	if err != nil {
		return err
	}
	c.answers = newAnswerRing(region)
	return nil
}

// recvDepth is the number of events that can wait at the server.
func (c *Conn) recvDepth() int {
	n := recvDepth(c.w.cfg.RingBytes, c.in.inMemory())
	if c.answers != nil {
		n += maxSays
	}
	return n
}

// Fetches reports whether the client fetches its answers at present.
func (c *Conn) Fetches() bool { return c.answers != nil && c.answers.on }

// Ride puts the first bytes of the client's mailbox, at most RideBytes, into the
// next answer that the client fetches, in place of a write by the owner. It reports
// false if the client fetches no answers, or has fetched none since the last Ride.
//
// With WorkerConfig.MailboxInRing, it writes them as a message into the ring of a
// client that does not fetch. A message that finds no room there is left out.
func (c *Conn) Ride(b []byte) bool {
	if c.w.cfg.MailboxInRing && c.answers == nil && len(b) <= RideBytes {
		if c.backlog.empty() && c.out.append(1, FlagMailbox, 0, b) {
			c.w.schedule.touch(c)
		}
		return true
	}
	if !c.Fetches() || len(b) > RideBytes {
		return false
	}
	a := c.answers
	if a.rides > 0 { // The owner writes newer bytes now: the old ones must not replace them.
		a.rides = 0
		return false
	}
	a.rides = copy(a.ride[:], b)
	return true
}

// append puts a message where the client takes its answers from, if there is room.
func (c *Conn) append(kind Kind, flags Flags, id uint64, payload []byte) bool {
	if c.moving() {
		return false
	}
	if !c.Fetches() {
		return c.out.append(kind, flags, id, payload)
	}
	a := c.answers
	if a.rides > 0 && a.append(1, FlagMailbox, 0, a.ride[:a.rides]) {
		a.rides = 0
	}
	return a.append(kind, flags, id, payload)
}

// unposted is how many bytes the client cannot see yet.
func (c *Conn) unposted() uint64 {
	if c.Fetches() {
		return c.answers.unpublished()
	}
	return c.out.unposted()
}

// publish makes the appended answers visible to the client.
func (c *Conn) publish() {
	if c.Fetches() && c.answers.publish(c.in.head) {
		c.in.gaveBack(c.in.unreturned())
		c.w.count.fetchable++
	}
}

// handleReturned handles an immediate with returnBit.
func (c *Conn) handleReturned(imm uint32) error {
	a := c.answers
	if a == nil {
		return c.out.returned(imm &^ returnBit)
	}
	switch imm & sayMask {
	case sayTook:
		return a.fetched(imm & positionMask)
	case sayLeave:
		if a.on || a.again {
			return protocolError("answers are to be left, and are already")
		}
		a.again = true
		return nil
	case sayWrite:
		if !a.on {
			return protocolError("answers are to be written, and are already")
		}
		if err := a.fetched(imm & positionMask); err != nil {
			return err
		}
		c.beginMove()
		return nil
	}
	return c.out.returned(imm &^ returnBit)
}

// leaveAgain changes over to answers that are left, between two answers.
func (c *Conn) leaveAgain() {
	a := c.answers
	if a == nil || !a.again || c.step != nil || c.Waits() {
		return
	}
	var b [whereBytes]byte
	at := a.region.Remote()
	binary.LittleEndian.PutUint64(b[:], uint64(at.Key))
	binary.LittleEndian.PutUint64(b[8:], at.Addr)
	binary.LittleEndian.PutUint32(b[16:], uint32(a.lines))
	binary.LittleEndian.PutUint64(b[20:], a.tail)
	if c.out.append(1, FlagWhere, 0, b[:]) {
		a.on, a.again, a.published = true, false, a.tail
	}
}

// credit is the immediate that reports how much of the request ring was read, 0
// if that can wait.
func (c *Conn) credit() uint32 {
	if c.answers == nil {
		return c.in.due()
	}
	if c.in.due() == 0 && !c.answers.sayRead {
		return 0
	}
	return returnBit | uint32(c.in.head/unitBytes)&^returnBit
}

// credited records that the immediate was posted.
func (c *Conn) credited(imm uint32) {
	if c.answers == nil {
		c.in.gaveBack(imm)
		return
	}
	c.in.gaveBack(c.in.unreturned())
	c.answers.sayRead = false
}

// takenBytes is how many bytes of its answers the client has taken, for slow.go.
func (c *Conn) takenBytes() uint64 {
	if c.answers == nil {
		return c.out.head
	}
	return c.out.head + c.answers.taken
}
