package wire

import (
	"time"
)

// ClockBase is the zero of monotonic.
var ClockBase = time.Now()

// Monotonic is the clock of leases, the same for all clients of the process, since
// they share kept references.
func Monotonic() time.Duration { return time.Since(ClockBase) }

// Swapping the names of two collections
//
// A collection that was loaded beside another takes its place at one moment, while
// clients search both. The store exchanges the names (store.Swap). Here each of the
// two gets a new number, and one map of names is replaced by another:
//
//	names   a --> 5 ----> data of a        a --> 1029 --> data of b
//	        b --> 6 ----> data of b        b --> 1030 --> data of a
//	numbers 5, 6                           5, 6: unknown
//
// A message with an old number fails, as after a drop, and the client asks what the
// name means now. A client that offloads sends no message, and the memory is the same
// as before. So the answer to an open is valid for a lease only, nameLease from when
// the client asked, and a swap does not return before the last lease has ended. Both
// sides measure durations, so that their clocks need not agree, and the client's lease
// begins earlier: the client asked before the server answered.
//
//	client      ask --------------- lease ----------------|   asks again
//	server          opened ---------------- lease --------------|
//	swap                   names replaced ......................returns
//
// If a client opens an old number while names are replaced: the server answers after
// it has written opened, and only if dropped was not set; a swap sets dropped before
// it reads opened. One of the two sees the other.
//
// The permission to drop, and the owner of the budget, stay with the name.

// NameLease is how long clients may read a name's memory without asking again: one
// message in 10 s costs nothing, and a swap is worth the wait.
const NameLease = 10 * time.Second
