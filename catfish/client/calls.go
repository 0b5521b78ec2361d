package client

import "sync/atomic"

// calls counts the messages of a session with a member of a group, so that a client looks for
// another primary as soon as this one stands still or is cut off, and not at the next check.
type calls struct {
	begun, ended atomic.Uint64

	// As still saw them last. Only maintain calls it.
	wasBegun, wasEnded uint64
}

// still reports whether requests wait that had begun when still was called last, and no
// answer has come since.
func (c *calls) still() bool {
	ended, begun := c.ended.Load(), c.begun.Load()
	still := ended == c.wasEnded && c.wasBegun > ended
	c.wasBegun, c.wasEnded = begun, ended
	return still
}
