package paper

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/internal/affinity"
)

// saturated is the share of a resource from which on it counts as a point's
// limit. Below 1, since a core's last percents go to interrupts that no
// process is charged for, and since a network interface counts the headers of
// large segments once, of which the bucket saw some forty (4 %).
const saturated = 0.9

// roundTrips is the limit of a closed loop that exhausts no resource.
const roundTrips = "round trips"

// Limit is the resource that limited a point's speed.
type Limit struct {
	Server, Client, Network float64 // used shares, 0 to 1; Network -1: none
	Name                    string
}

// LimitOf judges by the use of the server's cores, the clients' cores and the
// network. A closed loop that exhausts none of them waits for its own round
// trips.
func LimitOf(p Point) Limit {
	return limit(p.Row.CPUUtil, p.Row.ClientUtil, max(p.Row.NetIn, p.Row.NetOut), p.Network, p.Settings)
}

// limit takes shares of cores, and the bytes per second of a network's busier
// direction.
func limit(server, client, bytesPerS float64, n Network, s Settings) Limit {
	l := Limit{Server: server, Client: client, Network: -1}
	if n.Rate > 0 {
		l.Network = 8 * bytesPerS / float64(n.Rate)
	}
	shared := SharedCores(s)
	switch {
	case l.Network >= saturated:
		l.Name = "network"
	case l.Server >= saturated:
		l.Name = "server CPU"
	case l.Client >= saturated:
		l.Name = "client CPU"
	case shared && l.Server+l.Client >= saturated:
		l.Name = "cores that both sides share"
	case shared:
		// A shared core may still be full.
		l.Name = "round trips or shared cores"
	default:
		l.Name = roundTrips
	}
	return l
}

// SharedCores reports whether server and clients may run on the same core:
// then neither can be saturated while the other works, and hardly any figure
// of the paper shows.
func SharedCores(s Settings) bool {
	server, err1 := affinity.Parse(s.ServerCPUs)
	client, err2 := affinity.Parse(s.ClientCPUs)
	if err1 != nil || err2 != nil || len(server) == 0 || len(client) == 0 {
		return true // Not pinned.
	}
	return slices.ContainsFunc(server, func(c int) bool { return slices.Contains(client, c) })
}

func (l Limit) String() string {
	s := fmt.Sprintf("%s (server CPU %.0f %%, client CPU %.0f %%", l.Name, 100*l.Server, 100*l.Client)
	if l.Network >= 0 {
		s += fmt.Sprintf(", network %.0f %%", 100*l.Network)
	}
	return s + ")"
}

// BytesPerS is the traffic between server and clients: in the busier direction
// of the network if there is one, since each direction has the full rate; else
// in both directions, as the clients counted it.
func BytesPerS(p Point) float64 {
	if p.Network.Rate > 0 {
		return max(p.Row.NetIn, p.Row.NetOut)
	}
	return p.Row.Bytes * p.Row.OpsPerS
}
