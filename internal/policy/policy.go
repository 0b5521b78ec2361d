package policy

import (
	"time"

	"github.com/catfish-index/catfish/heartbeat"
)

// Path is how one search is executed.
type Path uint8

// The two paths.
const (
	FastMessaging Path = iota
	Offload
)

func (p Path) String() string {
	if p == Offload {
		return "offload"
	}
	return "fast"
}

// A Policy decides how the searches of one client are executed. Its
// methods are called under a lock of the client, one at a time. A policy
// of one client only needs no lock of its own.
//
// Most policies embed Named, and have one method of their own, Plan:
//
//	type busy struct{ policy.Named }
//
//	func (busy) Plan(a *policy.Ask) policy.Plan {
//		if a.Load.Seq > 0 && a.Load.CPU > 0.9 {
//			return policy.Plan{Share: 1, Heartbeat: true}
//		}
//		return policy.Plan{Heartbeat: true}
//	}
//
//	catfish.Dial(ctx, addr, catfish.Options{Custom: busy{"busy"}})
//
// A policy that learns from the costs of searches is a Learner, too.
type Policy interface {
	// Plan decides the paths of the next searches, the first of which is
	// about to begin. a is valid during the call.
	Plan(a *Ask) Plan
	// Describe is for people. Its result may change, except for the name.
	Describe() Description
}

// A Learner is a Policy that observes the costs of searches.
type Learner interface {
	Policy
	// Observe gets, under the same lock, the outcome of each search for
	// which the engine looked at the clock: the first of a plan, and about
	// every n-th while it lasts.
	Observe(now time.Time, o Outcome)
}

// Description is what people see of a policy.
type Description struct {
	Name  string // what --policy takes and benchmark rows show
	Why   string // it chose so; a sentence's part, such as "the server was busy 0.97 of the time"
	State State
}

// Named implements Describe for a policy that has only a name.
type Named string

// Describe returns the name.
func (n Named) Describe() Description { return Description{Name: string(n)} }

// Ask is the information for making a plan.
type Ask struct {
	Now    time.Time
	Load   *Load  // from the latest heartbeat; Seq is 0 before the first
	Fresh  bool   // it arrived since the policy was last asked
	Begun  int    // searches that began under the last plan
	Search Search // the one that is about to begin
	Group  *Group // of the client
}

// Plan decides the paths of the next searches. It ends at the first of the limits
// that are set; a plan without limits never ends, and costs its searches nothing.
type Plan struct {
	// Share of searches that are offloaded, each by its own sample, 0..1.
	Share float64
	// Searches, if above 0, is after how many the policy is asked again.
	Searches int
	// Until, unless it is zero, is when the plan ends. The engine looks at
	// the clock often enough to be late by about an eighth of the plan, at
	// least once in 64 searches.
	Until time.Time
	// Heartbeat ends the plan before the first search that begins after a
	// heartbeat has arrived. Otherwise heartbeats are noticed when a plan ends.
	Heartbeat bool
}

// Load is the server's state as a heartbeat describes it.
type Load struct {
	Seq      uint64        // grows by one with each heartbeat; 0 = none came yet
	CPU      float64       // utilisation of the server's cores, 0..1, spinning not counted
	Busy     float64       // share of time its workers served requests, 0..1
	Waiting  uint64        // requests that had arrived and not begun
	BytesOut float64       // bytes per second
	Interval time.Duration // between heartbeats
}

// LoadOf returns the load that a heartbeat reports.
func LoadOf(b heartbeat.Beat) Load {
	return Load{
		Seq: b.Sequence, CPU: b.CPU, Busy: b.Busy, Waiting: uint64(b.Waiting),
		BytesOut: float64(b.BytesPerSecond), Interval: b.Interval,
	}
}

// Outcome is the cost of a finished search. Searches that SearchMany
// makes together get one decision and one Outcome.
type Outcome struct {
	Path     Path // tried first: Offload also if it ended by fast messaging
	Searches int  // 1, or how many were made together: all else is their sum
	Took     time.Duration
	Results  int
	Reads    int // RDMA Reads, 0 for fast messaging
	Trips    int // round trips, 1 for fast messaging
	Bytes    int // read, or sent and received
}

// A Search is the part of a search that policies may inspect.
type Search interface {
	// Estimate fills e from what the client has cached. It costs the
	// client some 20 ns per cached node. False: nothing is known, as
	// without a cache and for the nearest.
	Estimate(e *Estimate) bool
}

// Estimate is what the client's cached nodes reveal about a search
// before it begins.
type Estimate struct {
	Searches int `json:"searches"` // 1, or how many are made together
	Leaves   int `json:"leaves"`   // that cached nodes name: they would be read
	Heads    int `json:"heads"`    // of these, how many by their first lines only
	Missing  int `json:"missing"`  // internal nodes that would be read, with unknown ones below
	Cached   int `json:"cached"`   // nodes that show this; each costs the read of a line
	Bytes    int `json:"bytes"`    // of the first round trip
}

// State is the visible state of a policy.
type State struct {
	Busy        int     `json:"r_busy"`      // consecutive busy findings (Algorithm 1)
	Left        int     `json:"r_off"`       // searches still to offload (Algorithm 1)
	Utilisation float64 `json:"utilisation"` // last one judged, 0..1
	Peak        float64 `json:"peak"`        // highest one judged, 0..1
	// Share of searches offloaded, 0..1, of policy cost.
	Share float64 `json:"offload_share,omitempty"`
}

// Fixed is a policy that always takes one path.
func Fixed(name string, p Path) Policy { return fixed{name, p} }

type fixed struct {
	name string
	path Path
}

func (f fixed) Plan(*Ask) Plan { return Plan{Share: float64(f.path)} }

func (f fixed) Describe() Description {
	return Description{Name: f.name, Why: "policy " + f.name + " always does"}
}
