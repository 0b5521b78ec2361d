package paper

import (
	"cmp"
	"slices"
)

// Value has one series' figures at one number of clients.
type Value struct {
	Kops    float64 // 1000 calls a second
	MeanUs  float64 // of the searches alone
	CPU     float64 // of the server's cores, 0 to 1
	Net     float64 // of the network's rate, 0 to 1; less than 0: no network
	Offload float64 // share of the searches, 0 to 1
}

// View is where numbers and claims are looked up: the points of one network
// and transport, or a simulated cluster.
type View interface {
	// At returns false for missing values.
	At(experiment, panel, series string, clients int) (Value, bool)
	// Clients lists the numbers of clients of an experiment, ascending.
	Clients(experiment string) []int
	// Stands is the number of clients that stands for the paper's.
	Stands(experiment string, clients int) int
}

// column is a network and a transport through which points were measured:
// a column of the report's tables, and a View of these points.
type column struct {
	name      string
	network   Network
	transport string
	points    map[spot]Value
	clients   map[string][]int
}

type spot struct {
	experiment, panel, series string
	clients                   int
}

// columns are those of all points, the host first. tcp, which has no
// transport, is part of each column of its network.
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
	if c := asThePaper(points, all); c != nil {
		all = slices.Insert(all, 0, c)
	}
	return all
}

// asThePaper has the paper's comparison: RDMA by a fabric of its own, here the
// host's memory, and TCP through Ethernets of 1 and 40 Gbit/s. It is nil
// unless both were measured.
func asThePaper(points []Point, all []*column) *column {
	if len(all) == 0 || all[0].network.Rate != 0 || all[0].transport == tcp.Name {
		return nil
	}
	c := &column{
		name: "RDMA over shm, TCP through 1g", network: Host, transport: all[0].transport,
		points: map[spot]Value{}, clients: map[string][]int{},
	}
	ethernet := false
	for _, p := range points {
		switch {
		case p.Series != tcp.Name && p.Network.Rate == 0:
			c.add(p)
		case p.Series == tcp.Name && p.Network.Name == "1g":
			c.add(p)
			ethernet = true
		case p.Series == tcp.Name && p.Network.Name == "40g":
			p.Series = tcp40.Name
			c.add(p)
		}
	}
	if !ethernet {
		return nil
	}
	return c
}

// ethernet1G is the network of the paper's figure 2.
const ethernet1G = 1_000_000_000

// searchUs is the mean latency of a point's searches, of which the text of section V-B
// speaks, with inserts apart. A row has both.
func searchUs(p Point) float64 {
	if of := p.Row.ByOp["search"]; of.Count > 0 {
		return of.MeanUs
	}
	return p.Row.MeanUs
}

func (c *column) add(p Point) {
	v := Value{
		Kops: p.Row.OpsPerS / 1e3, MeanUs: searchUs(p),
		CPU: p.Row.CPUUtil, Net: LimitOf(p).Network, Offload: p.Row.Offload,
	}
	if p.Experiment == "motivation" && p.Network.Rate != ethernet1G {
		v.Net = -1 // Its network figures are for this network.
	}
	c.points[spot{p.Experiment, p.Panel, p.Series, p.Row.Clients}] = v
	n := c.clients[p.Experiment]
	if at, found := slices.BinarySearch(n, p.Row.Clients); !found {
		c.clients[p.Experiment] = slices.Insert(n, at, p.Row.Clients)
	}
}

// At returns the point's value.
func (c *column) At(experiment, panel, series string, clients int) (Value, bool) {
	v, ok := c.points[spot{experiment, panel, series, clients}]
	return v, ok
}

// Clients are those of any point.
func (c *column) Clients(experiment string) []int { return c.clients[experiment] }

// Stands is the number itself, but where a thread of the server serves each
// client: there, threads on a core are compared.
func (c *column) Stands(experiment string, clients int) int {
	e := experimentNamed(experiment)
	if at := slices.Index(e.Paper, clients); e.PerConnection && at >= 0 {
		return e.Clients[at]
	}
	return clients
}

func (c *column) String() string {
	if c.name != "" {
		return c.name
	}
	return c.network.Name + " over " + c.transport
}
