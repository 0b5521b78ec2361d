//go:build linux

package rounds

import (
	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/history"
)

// Role of a process of clients.
const Role child.Role = "clients"

// Collections of a round: keysName of features that clients write again and again, keptName
// of kept boxes, each of which they insert once.
const (
	keysName = "keys"
	keptName = "kept"
)

// Paths of reads.
const (
	pathMessage   = "message"   // fast messaging
	pathOneSided  = "one-sided" // reads of the server's memory
	pathTCP       = "tcp"
	pathHTTP      = "http"      // at the member that the clients take for the primary
	pathSecondary = "secondary" // HTTP at others, which may be late
	pathWrite     = ""
)

// paths are those that must work.
var paths = []string{pathMessage, pathOneSided, pathTCP, pathHTTP}

// Server is a member as clients know it.
type Server struct {
	Node string `json:"node"`
	Addr string `json:"addr"`
	HTTP string `json:"http"`
}

// Job is the work of a process of clients.
type Job struct {
	Number    int      `json:"number"` // of the process, from 1
	Servers   []Server `json:"servers"`
	Transport string   `json:"transport"` // of one-sided reads: shm or soft
	Keys      int      `json:"keys"`
	EveryMS   int      `json:"every_ms"` // the least time between calls of a goroutine
	Seed      uint64   `json:"seed"`
	Several   bool     `json:"several,omitempty"` // groups have the store
}

// all is how many keys there are, with those that are records.
func (j *Job) all() int {
	if j.Several {
		return 2 * j.Keys
	}
	return j.Keys
}

// Order is the next step of a process of clients. All stop before one has its last event, and
// all have that before one reads everything.
type Order struct {
	Stop    bool     `json:"stop,omitempty"`    // the users
	Last    bool     `json:"last,omitempty"`    // wait for the last event
	Servers []Server `json:"servers,omitempty"` // else read everything, also at these
}

// Op is an operation on a key, with its times.
type Op struct {
	history.KeyOp
	Path     string `json:"path,omitempty"`
	Area     bool   `json:"area,omitempty"`   // a search has read it
	Member   string `json:"member,omitempty"` // of a read over HTTP
	Revision uint64 `json:"revision,omitempty"`
}

// Box is an attempt to insert a box.
type Box struct {
	ID      uint64          `json:"id"`
	End     int64           `json:"end"`
	Outcome history.Outcome `json:"outcome"`
}

// Keys of events that are of no key.
const (
	lastWrite = -1 // of some process
	standing  = -2 // the watch stands: it gets what comes after the revision
)

// Event is one that a watcher got.
type Event struct {
	Key      int    `json:"key"` // of keys; or lastWrite, or standing
	Value    uint64 `json:"value"`
	Revision uint64 `json:"revision"`
	Call     int64  `json:"call,omitempty"` // standing: when the watch began
	End      int64  `json:"end,omitempty"`  // standing: when it stood
}

// Failure is a call that failed, and has no effect on a history.
type Failure struct {
	Path string `json:"path"`
	End  int64  `json:"end"`
	Text string `json:"text"`
}

// Contents is what a member, or the clients' primary (empty), has in the end.
type Contents struct {
	Node  string         `json:"node"`
	Keys  map[int]uint64 `json:"keys"`
	Boxes []uint64       `json:"boxes,omitempty"` // ids, those that exist twice twice
	Error string         `json:"error,omitempty"`
}

// Said is a line of a process of clients: one field is set.
type Said struct {
	Op       *Op       `json:"op,omitempty"`
	Box      *Box      `json:"box,omitempty"`
	Event    *Event    `json:"event,omitempty"`
	Failure  *Failure  `json:"failure,omitempty"`
	Contents *Contents `json:"contents,omitempty"`
	// Broken is a promise that a client has seen broken.
	Broken string `json:"broken,omitempty"`
	Ready  bool   `json:"ready,omitempty"`
	Done   bool   `json:"done,omitempty"` // with an order
	// Offloaded is how many searches were one-sided: with Done.
	Offloaded uint64 `json:"offloaded,omitempty"`
	Transport string `json:"transport,omitempty"` // of these, with Ready
}

// clock is one for all processes of a machine.
func clock() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // It does not fail for this clock.
	return t.Nano()
}
