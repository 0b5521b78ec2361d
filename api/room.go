package api

// roomer is a Backend that can be out of memory. While it is, what needs more
// is refused with RESOURCE_EXHAUSTED, SERVER_BUSY: inserts, updates, loads, and
// answers that hold more than fullAnswer. Connections are not: what they hold
// at rest is little, their number is bounded, and whoever checks the health of
// the server, and would kill it otherwise, makes one each time.
// *catfish.Server is one.
type roomer interface {
	// Room returns nil, or an error that wraps catfish.ErrBusy and says what is
	// held and what the limit is. It is called for each write.
	Room() error
}

// fullAnswer is what the answer of a call may hold while there is no room.
const fullAnswer = 1 << 20

// room returns nil if b has room for more.
func room(b Backend) error {
	if r, ok := b.(roomer); ok {
		return r.Room()
	}
	return nil
}
