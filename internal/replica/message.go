package replica

import "time"

// Entry is what the protocol needs to know of an entry of the log. Its revision is
// its place: entries are numbered from 1 without gaps.
type Entry struct {
	Term uint64 // not 0: the first entry of the primary of this term, and no write
	// Client and Number name a write, so that it is not made twice. A client gives
	// its writes rising numbers, from 1. Client 0: a write of the server, which it
	// does not repeat.
	Client, Number uint64
	Data           any // what the store wrote, which the protocol does not look at
}

// Message is one that members send each other: *Hello, *Frame, *Ack or *CopyFirst.
// Messages may be late, lost, or repeated, and an Ack may be replaced by a later one
// of the same sender: it is one line of memory. Frames of one session arrive in order,
// but for those that are lost.
type Message interface{ message() }

// Hello is a follower's first message to the primary of a term, and the first of a
// session. A session is one connection between a boot of a follower and a primary: a
// queue pair, and the ring and the acknowledgement line that it is for.
type Hello struct {
	Term    uint64
	Session uint64
	End     uint64 // the last entry of its log
	History History
}

// Frame is entries of the log, or none, and a beacon.
type Frame struct {
	Term    uint64
	Session uint64
	Start   bool   // the answer to Hello: the logs are the same up to Prev
	Prev    uint64 // the revision before the first entry
	Last    uint64 // the last entry's
	// Entries from Prev+1 to Last. The sender's adapter takes them from its log, in
	// one frame or in several.
	Entries   []Entry
	Committed uint64
	Sent      time.Duration // the primary's clock
}

// Ack is what a follower has. It is cumulative.
type Ack struct {
	Term     uint64
	Session  uint64
	Received uint64
	Durable  uint64
	Applied  uint64        // published here
	Echo     time.Duration // Sent of the latest frame
}

// CopyFirst is the answer to a Hello of a follower whose log ends before the primary's
// begins.
type CopyFirst struct {
	Term    uint64
	Session uint64
}

func (*Hello) message()     {}
func (*Frame) message()     {}
func (*Ack) message()       {}
func (*CopyFirst) message() {}
