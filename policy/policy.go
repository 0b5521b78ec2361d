package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrScheme is wrapped by errors about a scheme's name.
var ErrScheme = errors.New("unknown scheme")

// Path is how one search is carried out.
type Path uint8

// The two paths.
const (
	FastMessaging Path = iota
	Offload
)

func (w Path) String() string {
	if w == Offload {
		return "offload"
	}
	return "fast"
}

// Load is the server's state as the last heartbeat told it.
type Load struct {
	Seq      uint64        // grows by one with each heartbeat; 0 = none came yet
	CPU      float64       // utilisation of the server's cores, 0..1, spinning not counted
	Busy     float64       // share of time its workers served requests, 0..1
	Waiting  uint64        // requests that had arrived and were not begun
	BytesOut float64       // bytes per second
	Interval time.Duration // between heartbeats
}

// Outcome is what a finished search cost, for policies that learn. Those
// that SearchMany makes together are decided on, and told of, once.
type Outcome struct {
	Path     Path // that was tried first: Offload also if it ended by fast messaging
	Searches int  // 1, or how many were made together: all else is their sum
	Took     time.Duration
	Results  int
	Reads    int // RDMA Reads, 0 for fast messaging
	Trips    int // round trips, 1 for fast messaging
	Bytes    int // read, or sent and received
	// Others are searches that finished since the last outcome and that a
	// Skipper was not asked about; nothing else here counts them. Those that
	// end while it rests are not among them.
	Others int
}

// Estimate is what the client's cached nodes tell of a search before it is
// begun. Without a cache, and for Nearest, it is zero.
type Estimate struct {
	Searches int `json:"searches"` // that are asked about at once: 1, or a part of SearchMany; 0: nothing is known
	Leaves   int `json:"leaves"`   // that cached nodes name: they would be read
	Heads    int `json:"heads"`    // of these, how many by their first lines only
	Missing  int `json:"missing"`  // internal nodes that would be read, with unknown ones below
	Cached   int `json:"cached"`   // nodes that tell this; each costs a line's read
	Bytes    int `json:"bytes"`    // of the first round trip
}

// A Policy decides the path of each search of one client. Its methods are
// called under a lock, one at a time, once per search unless it is a Settler
// or a Skipper, so they must be quick. A Policy holds state of one
// client and must not be shared between clients.
type Policy interface {
	// Name is what --policy takes and benchmark rows show.
	Name() string
	// Choose decides the next search. load is the latest heartbeat;
	// fresh says that it arrived since Choose last returned with
	// consumed = true. consumed clears it (the paper's "clear"). now is
	// the client's clock, to be asked when needed only: that costs as
	// much as the rest of a decision.
	Choose(now func() time.Time, load *Load, fresh bool) (path Path, consumed bool)
	// State is shown to people: the back-off, if there is one.
	State() State
}

// A Learner is a Policy that wants to know what searches cost.
type Learner interface {
	Policy
	// Observe is told, under the same lock, of every finished search that the
	// policy was asked about.
	Observe(now time.Time, o Outcome)
}

// A Settler is a Policy that knows when its next decisions depend on
// nothing but a heartbeat. It is then not asked again before one arrives,
// which saves a lock for each search.
type Settler interface {
	Policy
	// Settled is asked after Choose, under the same lock: whether every
	// further search goes the path returned, without a change of state,
	// until a heartbeat arrives.
	Settled() (path Path, ok bool)
}

// A Rester is a Settler whose settled time ends by itself, too. It may be a
// Learner: what is done meanwhile it is not told of. A heartbeat that comes
// meanwhile it hears of within eight searches.
type Rester interface {
	Settler
	// Rest is asked after Settled, under the same lock: for how long from now
	// it is settled, 0 or less if it is not.
	Rest(now time.Time) time.Duration
}

// An Estimator is a Policy that looks at the search before it decides. Its
// ChooseFor is called instead of Choose; e is valid during the call.
type Estimator interface {
	Policy
	ChooseFor(now func() time.Time, load *Load, fresh bool, e *Estimate) (path Path, consumed bool)
}

// A Glancer is an Estimator that need not look at every search: going down
// cached nodes takes time of the client, which is lost if the search then
// goes by fast messaging.
type Glancer interface {
	Estimator
	// Glance is asked before ChooseFor, under the same lock. After false
	// ChooseFor gets a zero Estimate.
	Glance() bool
}

// A Skipper is a Learner that throws the dice for several searches at once:
// to be asked about each, and to be told of it by the clock, takes longer
// than half of what a search by fast messaging takes over shared memory.
type Skipper interface {
	Learner
	// Skip is asked after each choice, under the same lock: how many of the
	// next searches go which path without being asked about. A
	// heartbeat ends it, within eight searches if it is a Rester too.
	Skip() (searches int, path Path)
}

// A Counter is a Policy that compares how many searches finish: not its own
// client's only, but those of all clients of the process at this server.
type Counter interface {
	Policy
	// Count is called once, before all else.
	Count(c *Census)
}

// An Explainer is a Policy that can say why it chose.
type Explainer interface {
	Policy
	// Why is asked after a choice, under the same lock; a sentence's part,
	// such as "server busy 0.97 of the time".
	Why() string
}

// State is the visible state of the back-off (Algorithm 1).
type State struct {
	Busy        int     `json:"r_busy"`      // consecutive busy findings
	Left        int     `json:"r_off"`       // searches still to offload
	Utilisation float64 `json:"utilisation"` // last one judged, 0..1
	Peak        float64 `json:"peak"`        // highest one judged, 0..1
	// Share of searches offloaded, 0..1, of policy cost.
	Share float64 `json:"offload_share,omitempty"`
}

// fixed always goes one path.
type fixed struct {
	name string
	path Path
}

func (f fixed) Name() string { return f.name }

func (f fixed) Choose(func() time.Time, *Load, bool) (Path, bool) { return f.path, true }

func (f fixed) Why() string { return "policy " + f.name + " always does" }

func (f fixed) State() State { return State{} }

// scheme is a named set-up of a client: the rows of the paper's figures.
type scheme struct {
	name   string
	doc    string
	single bool // offloading with a window of one read
	tcp    bool // plain sockets instead of rings
	poll   bool // asks the worker to poll
	cached bool // keeps internal nodes: not in the paper
	policy func(seed uint64) Policy
}

var schemes = []scheme{
	{name: "tcp", doc: "plain sockets, the paper's base line", tcp: true,
		policy: func(uint64) Policy { return fixed{"tcp", FastMessaging} }},
	{name: "fast-polling", doc: "fast messaging, server workers poll and never sleep", poll: true,
		policy: func(uint64) Policy { return fixed{"fast-polling", FastMessaging} }},
	{name: "fast", doc: "fast messaging, event-driven server",
		policy: func(uint64) Policy { return fixed{"fast", FastMessaging} }},
	{name: "offload-single", doc: "offloading, one read at a time", single: true,
		policy: func(uint64) Policy { return fixed{"offload-single", Offload} }},
	{name: "offload", doc: "offloading, multi-issue",
		policy: func(uint64) Policy { return fixed{"offload", Offload} }},
	{name: "offload-cached", doc: "offloading, internal nodes kept and validated", cached: true,
		policy: func(uint64) Policy { return fixed{"offload-cached", Offload} }},
	{name: "paper-literal", doc: "Algorithm 1 to the letter",
		policy: func(seed uint64) Policy { return newBackoff(seed, true) }},
	{name: "paper", doc: "Algorithm 1 as the paper's text means it",
		policy: func(seed uint64) Policy { return newBackoff(seed, false) }},
	{name: "cost", doc: "the share of offloading with which most searches finish; nodes kept", cached: true,
		policy: func(seed uint64) Policy { return newCost(seed) }},
}

// Default is what "default" stands for.
const Default = "cost"

// Schemes lists the names that Options.Policy takes, "default" first.
func Schemes() []string {
	names := []string{"default"}
	for _, s := range schemes {
		names = append(names, s.name)
	}
	return names
}

// DescribeScheme is one line about a scheme, "" for an unknown name.
func DescribeScheme(name string) string {
	s, err := schemeByName(name)
	if err != nil {
		return ""
	}
	return s.doc
}

// New makes the policy of a scheme, "" or "default" for the default,
// as a Client with Options.Policy does: for programs that run policies
// without connections, such as simulators. seed is Options.Seed. The error
// wraps ErrScheme.
func New(name string, seed uint64) (Policy, error) {
	s, err := schemeByName(name)
	if err != nil {
		return nil, err
	}
	return s.policy(seed), nil
}

// Scheme tells what a scheme asks for besides its policy.
type Scheme struct {
	Name   string // never "default"
	Single bool   // offloads with one read at a time
	TCP    bool   // plain sockets instead of rings
	Poll   bool   // server workers poll and never sleep
	Cached bool   // keeps internal nodes and validates them
}

// SchemeByName looks a scheme up, "" or "default" for the default. The
// error wraps ErrScheme.
func SchemeByName(name string) (Scheme, error) {
	s, err := schemeByName(name)
	if err != nil {
		return Scheme{}, err
	}
	return Scheme{Name: s.name, Single: s.single, TCP: s.tcp, Poll: s.poll, Cached: s.cached}, nil
}

func schemeByName(name string) (scheme, error) {
	if name == "" || name == "default" {
		name = Default
	}
	i := slices.IndexFunc(schemes, func(s scheme) bool { return s.name == name })
	if i < 0 {
		return scheme{}, fmt.Errorf("%w: policy %q, want one of %s", ErrScheme, name, strings.Join(Schemes(), ", "))
	}
	return schemes[i], nil
}
