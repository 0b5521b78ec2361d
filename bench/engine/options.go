package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/child"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/policy"
	"github.com/catfish-index/catfish/web"
)

const (
	// MaxClients and MaxSeconds bound a load: 16 clients saturate a server's core
	// many times over, and in two minutes a policy is seen to settle.
	MaxClients, MaxSeconds = 16, 120
	// minSeconds shows each step of the load for a second or more.
	minSeconds = 5
	// scale is the edge of what is searched, as a share of the collection's extent:
	// a view of a town in a country. Wider ones are bound by the bytes of answers.
	scale = "0.02"
)

// Options of a Room. The zero value starts no load.
type Options struct {
	// Spawn starts a process of a load's clients, which speaks bench's protocol;
	// nil: no load is started.
	Spawn child.Spawn
	// CPUs are the cores of these processes; empty: any.
	CPUs affinity.Set
	// Transport that the load's clients take. Default: auto.
	Transport string

	drive    driver        // bench.Drive
	interval time.Duration // between samples
}

func (o Options) withDefaults() Options {
	if o.Transport == "" {
		o.Transport = "auto"
	}
	if o.interval == 0 {
		o.interval = Interval
	}
	if o.drive == nil {
		o.drive = bench.Drive
	}
	return o
}

// Limits are what a load may be.
type Limits struct {
	MaxClients int      `json:"max_clients"`
	MinSeconds int      `json:"min_seconds"`
	MaxSeconds int      `json:"max_seconds"`
	Policies   []string `json:"policies"`
	Default    string   `json:"default_policy"`
}

func (o Options) limits() *Limits {
	if o.Spawn == nil {
		return nil
	}
	return &Limits{MaxClients, minSeconds, MaxSeconds, policies(), "default"}
}

// policies are those that use rings and reads.
func policies() []string {
	return slices.DeleteFunc(slices.Clone(policy.Schemes()), func(s string) bool { return s == "tcp" })
}

// check is nil, or says what is wrong with a load.
func check(l web.Load) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{web.ErrBadLoad}, args...)...)
	}
	switch {
	case l.Collection == "":
		return bad("no collection")
	case l.Clients < 1 || l.Clients > MaxClients:
		return bad("clients is %d, want 1 to %d", l.Clients, MaxClients)
	case l.Seconds < minSeconds || l.Seconds > MaxSeconds:
		return bad("seconds is %d, want %d to %d", l.Seconds, minSeconds, MaxSeconds)
	case l.Policy != "" && !slices.Contains(policies(), l.Policy):
		return bad("policy is %.100q, want one of %s", l.Policy, strings.Join(policies(), ", "))
	}
	return nil
}

// config is what bench is to do for a load.
func (o Options) config(l web.Load, key string) bench.DemoConfig {
	// Policies of clients in one process share what they learn, so there are two
	// processes where the clients can be divided.
	procs := 1 + (l.Clients+1)%2
	return bench.DemoConfig{
		Dataset: "features of " + l.Collection, Duration: time.Duration(l.Seconds) * time.Second, Interval: Interval,
		Transport: o.Transport, Policy: cmp.Or(l.Policy, "default"), Scale: scale,
		Procs: procs, Clients: l.Clients / procs, Seed: 1, ClientCPUs: o.CPUs,
		Features: l.Collection, Key: key, Changing: true, Each: true,
	}
}

// finite is a number for JSON.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func sortBy[T any, K cmp.Ordered](all []T, key func(T) K) {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
