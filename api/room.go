package api

// roomer is a Backend that can be out of memory. While it is, calls that need
// more are refused with RESOURCE_EXHAUSTED, SERVER_BUSY: inserts, updates,
// loads, and answers that hold more than fullAnswer. Connections are not
// refused: what an idle one holds is little, their number is bounded, and a
// supervisor that checks the health of the server, and would otherwise kill it,
// connects each time. *catfish.Server is one.
type roomer interface {
	// Room returns nil, or an error that wraps catfish.ErrBusy and says what is
	// held and what the limit is. It is called for each write.
	Room() error
}

// fullAnswer is what the answer of a call may hold while Room fails.
const fullAnswer = 1 << 20

// room returns nil if b has room for more.
func room(b Backend) error {
	if r, ok := b.(roomer); ok {
		return r.Room()
	}
	return nil
}
