package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrScheme is wrapped by errors about a scheme's name.
var ErrScheme = errors.New("unknown scheme")

// Scheme is a named set-up of a client: the rows of the paper's figures.
type Scheme struct {
	Name   string // never "default"
	Doc    string // one line
	Single bool   // offloads with one read at a time
	TCP    bool   // plain sockets instead of rings
	Poll   bool   // server workers poll and never sleep
	Cached bool   // caches internal nodes and validates them: not in the paper
	// InMemory, with Poll: requests are plain RDMA Writes, and workers look at
	// the ring's memory, not at a completion queue.
	InMemory bool
	// Placed, with Poll: a request is one RDMA Write, an answer another, and both sides
	// look at the messages themselves. Over shm only.
	Placed bool
	// Fetch: clients fetch the answers to their messages where that is faster, and
	// the server posts none (RFP).
	Fetch bool
	// Backoff: the policy is Algorithm 1, and takes its parameters.
	Backoff bool
	// New makes the policy of a client in a group. b is valid; policies
	// other than Algorithm 1 ignore it.
	New func(seed uint64, g *Group, b Backoff) Policy
}

func always(name string, p Path) func(uint64, *Group, Backoff) Policy {
	return func(uint64, *Group, Backoff) Policy { return fixed{name, p} }
}

var schemes = []Scheme{
	{Name: "tcp", Doc: "plain sockets, the paper's base line", TCP: true, New: always("tcp", FastMessaging)},
	{Name: "fast-polling", Doc: "fast messaging, server workers poll a word of memory", Poll: true, InMemory: true,
		New: always("fast-polling", FastMessaging)},
	{Name: "farm", Doc: "fast messaging, both sides poll the messages in their rings (figure 6a; FaRM's); over shm", Poll: true, Placed: true,
		New: always("farm", FastMessaging)},
	{Name: "fast-polling-cq", Doc: "fast messaging, server workers poll completion queues", Poll: true,
		New: always("fast-polling-cq", FastMessaging)},
	{Name: "fast", Doc: "fast messaging, event-driven server", New: always("fast", FastMessaging)},
	{Name: "fetch", Doc: "fast messaging, answers fetched by the client's reads (RFP)", Fetch: true,
		New: always("fetch", FastMessaging)},
	{Name: "offload-single", Doc: "offloading, one read at a time", Single: true, New: always("offload-single", Offload)},
	{Name: "offload", Doc: "offloading, multi-issue", New: always("offload", Offload)},
	{Name: "offload-cached", Doc: "offloading, internal nodes cached and validated", Cached: true,
		New: always("offload-cached", Offload)},
	{Name: "paper-literal", Doc: "Algorithm 1 to the letter", Backoff: true,
		New: func(seed uint64, _ *Group, b Backoff) Policy { return newBackoff(seed, b, true) }},
	{Name: "paper", Doc: "Algorithm 1 as the paper's text means it", Backoff: true,
		New: func(seed uint64, _ *Group, b Backoff) Policy { return newBackoff(seed, b, false) }},
	{Name: "cost", Doc: "the share of offloading with which most searches finish; nodes cached", Cached: true,
		New: func(_ uint64, g *Group, _ Backoff) Policy {
			return g.policy("cost", func() Policy { return newCost() })
		}},
}

// Default is what "default" stands for.
const Default = "cost"

// Schemes lists the names of schemes, "default" first.
func Schemes() []string {
	names := []string{"default"}
	for _, s := range schemes {
		names = append(names, s.Name)
	}
	return names
}

// SchemeByName looks a scheme up, "" or "default" for the default. The
// error wraps ErrScheme.
func SchemeByName(name string) (Scheme, error) {
	if name == "" || name == "default" {
		name = Default
	}
	i := slices.IndexFunc(schemes, func(s Scheme) bool { return s.Name == name })
	if i < 0 {
		return Scheme{}, fmt.Errorf("%w: policy %q, want one of %s", ErrScheme, name, strings.Join(Schemes(), ", "))
	}
	return schemes[i], nil
}

// DescribeScheme is one line about a scheme, "" for an unknown name.
func DescribeScheme(name string) string {
	s, _ := SchemeByName(name)
	return s.Doc
}
