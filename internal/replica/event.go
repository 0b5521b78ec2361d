package replica

// Event is what happens to a member. Its adapters make one of each, and carry out the
// actions of each before the next.
type Event interface{ event() }

type (
	// Tick comes every 10 ms or so.
	Tick struct{}

	// Learned is a config that was read, or the outcome of a change: after a change
	// that failed it is the config that was in the way. Reads are linearizable.
	Learned struct{ Config Config }

	// Receive is a message of another member.
	Receive struct {
		From    ID
		Message Message
	}

	// Synced says that the disk has the log up to and with Through. An adapter sends
	// none for entries that were cut off in the meantime.
	Synced struct{ Through uint64 }

	// Failed says that an entry could not be written or applied. The member does
	// nothing more until it is started again.
	Failed struct{ Revision uint64 }

	// Trimmed says that the log has no entries up to and with Through any more.
	Trimmed struct{ Through uint64 }

	// Copied says that this member's state, on its disk, is a copy of what a primary had
	// published at revision End.
	Copied struct {
		End     uint64
		History History
		Results Results
	}

	// Propose is a batch of writes that were judged in the state after the last
	// entry. A write that the log has already (Member.Lookup) is not made again.
	Propose struct{ Entries []Entry }

	// HandOver asks the primary to make another in-sync member the primary.
	HandOver struct{ To ID }
)

func (Tick) event()     {}
func (Learned) event()  {}
func (Receive) event()  {}
func (Synced) event()   {}
func (Failed) event()   {}
func (Trimmed) event()  {}
func (Copied) event()   {}
func (Propose) event()  {}
func (HandOver) event() {}

// Action is what a member asks for. The adapters carry them out in their order.
type Action interface{ action() }

type (
	// Append adds entries to the log, from First on. They become durable in that
	// order, and Synced says so. A member does not wait with it for much longer than
	// a sync takes at the primary, and 100 ms at others.
	Append struct {
		First   uint64
		Entries []Entry
	}

	// Truncate takes back what is after After. It was never published. Entries that
	// are appended later do not become durable before this is.
	Truncate struct{ After uint64 }

	// Sync makes the log durable now.
	Sync struct{}

	// Publish lets readers see the entries up to and with Through.
	Publish struct{ Through uint64 }

	// Grant publishes a lease in place of the one before.
	Grant struct{ Lease Lease }

	// Send sends a message. It may be lost, but the adapter does not repeat it.
	Send struct {
		To      ID
		Message Message
	}

	// Reply answers a client's write. A write may have several requests waiting.
	Reply struct {
		Client, Number uint64
		Revision       uint64 // if Err is nil
		Err            error
	}

	// Change asks the config store to replace the config with this version. The
	// adapter repeats it until the store's version is another one, and then reads the
	// config (Learned), also after errors. The store does not carry out changes that an
	// earlier boot of the member asked for: the transaction compares a key with the
	// boot, which a member writes when it starts.
	Change struct{ Config Config }

	// Read reads the config (Learned). It may come often: one read at a time is enough.
	Read struct{}

	// Copy replaces the state by a copy of the primary's, and says Copied.
	Copy struct{ From ID }
)

func (Append) action()   {}
func (Truncate) action() {}
func (Sync) action()     {}
func (Publish) action()  {}
func (Grant) action()    {}
func (Send) action()     {}
func (Reply) action()    {}
func (Change) action()   {}
func (Read) action()     {}
func (Copy) action()     {}
