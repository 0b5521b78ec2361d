package bench

import (
	"context"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/rstar"
)

// Conn is one client of the system under test. All methods are safe for
// concurrent use: in-flight goroutines share one Conn.
type Conn interface {
	// SearchAppend appends all objects that intersect q to dst.
	SearchAppend(ctx context.Context, dst []rstar.Item, q rstar.Rect) ([]rstar.Item, error)
	// Nearest returns how many objects it found, at most k.
	Nearest(ctx context.Context, x, y float64, k int) (int, error)
	Insert(ctx context.Context, r rstar.Rect, id uint64) error
	// Delete and Update report whether the object existed.
	Delete(ctx context.Context, r rstar.Rect, id uint64) (bool, error)
	Update(ctx context.Context, from, to rstar.Rect, id uint64) (bool, error)
	// Counters returns totals since the connection was made.
	Counters() Counters
	// Gauges returns the state of this moment.
	Gauges() Gauges
	// Info says how the client is connected.
	Info() Info
	Close() error
}

// Counters are totals of one Conn, or sums over several.
type Counters struct {
	Fast      uint64 `json:"fast"`      // searches by messages
	Offloaded uint64 `json:"offloaded"` // searches by offloading
	FellBack  uint64 `json:"fell_back"` // offloads finished by messaging

	Reads      uint64 `json:"reads"`       // RDMA Reads posted
	RoundTrips uint64 `json:"round_trips"` // of searches, in sequence
	Bytes      uint64 `json:"bytes"`       // read, sent and received, all calls
	Restarts   uint64 `json:"restarts"`    // searches begun again
	TornReads  uint64 `json:"torn_reads"`  // nodes read again
	Cached     uint64 `json:"cached"`      // cached nodes used instead of a read
	Repairs    uint64 `json:"repairs"`     // of these, read again after a change

	// Of answers that the client fetches: the Reads of answers, and of these
	// the Reads that found nothing; how often it switched to written answers.
	AnswerReads   uint64 `json:"answer_reads"`
	AnswersMissed uint64 `json:"answers_missed"`
	AnswerChanges uint64 `json:"answer_changes"`
}

// Add returns the sum.
func (c Counters) Add(o Counters) Counters { return stats.Sum(c, o) }

// Sub returns what came since o.
func (c Counters) Sub(o Counters) Counters { return stats.Difference(c, o) }

// Gauges show a client's adaptive state (design, section 7).
type Gauges struct {
	Busy       int     `json:"r_busy"`      // consecutive busy findings
	Left       int     `json:"r_off"`       // searches still to offload
	ServerUtil float64 `json:"server_util"` // last heartbeat's, 0 to 1
	PeakUtil   float64 `json:"peak_util"`   // highest that the policy judged
}

// Info says how a client reached its server.
type Info struct {
	Transport string `json:"transport"`
	Device    string `json:"device"` // what carries it: provider, card, port, GID
	Policy    string `json:"policy"`
	NodeBytes int    `json:"node_bytes"`
}

// Dialer makes one Conn for a job.
type Dialer func(ctx context.Context, job ClientJob) (Conn, error)
