package paper

import (
	"cmp"
	"slices"
)

// Value is what one series did at one number of clients.
type Value struct {
	Kops    float64 // 1000 calls a second
	MeanUs  float64
	CPU     float64 // of the server's cores, 0 to 1
	Net     float64 // of the network's rate, 0 to 1; less than 0: there is none
	Offload float64 // share of the searches, 0 to 1
}

// View is where numbers and claims are looked up: the points of one network
// and transport, or a simulated cluster.
type View interface {
	// At is false for what was not measured.
	At(experiment, panel, series string, clients int) (Value, bool)
	// Clients lists the numbers of clients of an experiment, ascending.
	Clients(experiment string) []int
}

// column is a network and a transport through which points were measured:
// a column of the report's tables, and a View of these points.
type column struct {
	network   Network
	transport string
	points    map[spot]Value
	clients   map[string][]int
}

type spot struct {
	experiment, panel, series string
	clients                   int
}

// columns are those that any point is of, the host first. tcp, which has no
// transport, is part of each of its network.
func columns(points []Point) []*column {
	type key struct{ network, transport string }
	found := map[key]*column{}
	for _, p := range points {
		k := key{p.Network.Name, p.Row.Transport}
		if p.Series != tcp.Name && found[k] == nil {
			found[k] = &column{
				network: p.Network, transport: p.Row.Transport,
				points: map[spot]Value{}, clients: map[string][]int{},
			}
		}
	}
	for _, p := range points {
		if p.Series != tcp.Name {
			continue
		}
		alone := true
		for k := range found {
			alone = alone && k.network != p.Network.Name
		}
		if alone {
			found[key{p.Network.Name, tcp.Name}] = &column{
				network: p.Network, transport: tcp.Name,
				points: map[spot]Value{}, clients: map[string][]int{},
			}
		}
	}
	var all []*column
	for k, c := range found {
		for _, p := range points {
			if p.Network.Name == k.network && (p.Series == tcp.Name || p.Row.Transport == k.transport) {
				c.add(p)
			}
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *column) int {
		return cmp.Or(cmp.Compare(a.network.Rate, b.network.Rate), cmp.Compare(a.transport, b.transport))
	})
	return all
}

func (c *column) add(p Point) {
	c.points[spot{p.Experiment, p.Panel, p.Series, p.Row.Clients}] = Value{
		Kops: p.Row.OpsPerS / 1e3, MeanUs: p.Row.MeanUs, CPU: p.Row.CPUUtil,
		Net: LimitOf(p).Network, Offload: p.Row.Offload,
	}
	n := c.clients[p.Experiment]
	if at, found := slices.BinarySearch(n, p.Row.Clients); !found {
		c.clients[p.Experiment] = slices.Insert(n, at, p.Row.Clients)
	}
}

// At is the point's.
func (c *column) At(experiment, panel, series string, clients int) (Value, bool) {
	v, ok := c.points[spot{experiment, panel, series, clients}]
	return v, ok
}

// Clients are those of any point.
func (c *column) Clients(experiment string) []int { return c.clients[experiment] }

func (c *column) String() string { return c.network.Name + " over " + c.transport }
