package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/netns"
)

const maxRate = netns.MaxRate

// Cell is one call of bench.Run: series of an experiment side by side, so
// that what is compared saw the same machine.
type Cell struct {
	Experiment *Experiment
	Panel      Panel
	Network    Network
	Transport  string // of all series but tcp
	Clients    int
	Series     []Series
}

// Key identifies the point of one series among all that can be run with
// the same settings.
func (c Cell) Key(series string) string {
	return strings.Join([]string{
		c.Experiment.Name, c.Panel.Name, c.Network.Name, c.transport(series),
		strconv.Itoa(c.Clients), series,
	}, "/")
}

// transport returns a series' transport: tcp is always tcp.
func (c Cell) transport(series string) string {
	if series == tcp.Name {
		return tcp.Name
	}
	return c.Transport
}

// seriesOf returns the series that a scheme was run for.
func (c Cell) seriesOf(scheme string) string {
	for _, s := range c.Series {
		if s.scheme() == scheme {
			return s.Name
		}
	}
	return scheme
}

// Cells lists the cells of the experiments, network by network. The host has
// shared memory; a network has each of transports. Without clients each
// experiment uses its own numbers.
func Cells(experiments []Experiment, networks []Network, transports []string, clients []int) []Cell {
	var cells []Cell
	for _, n := range networks {
		over := transports
		if n.Rate == 0 {
			over = []string{"shm"}
		}
		for i := range experiments {
			e := &experiments[i]
			numbers := clients
			if len(numbers) == 0 {
				numbers = e.Clients
			}
			for _, p := range e.Panels {
				for _, x := range numbers {
					for j, transport := range over {
						series := slices.DeleteFunc(slices.Clone(e.Series), func(s Series) bool {
							return j > 0 && s.Name == tcp.Name || // which ran with the first transport
								s == farm && transport != "shm"
						})
						if len(series) > 0 {
							cells = append(cells, Cell{e, p, n, transport, x, series})
						}
					}
				}
			}
		}
	}
	return cells
}

// config fills in what the cell decides. Cells with a network need their
// processes started within it.
func (c Cell) config(s Settings) (bench.Config, error) {
	cfg, err := s.config()
	if err != nil {
		return cfg, err
	}
	for _, line := range c.Series {
		cfg.Schemes = append(cfg.Schemes, line.scheme())
	}
	cfg.Dataset, cfg.Scale, cfg.Mix = c.Panel.Dataset, c.Panel.Scale, c.Panel.Mix
	if c.Panel.Dataset == rea02 {
		cfg.Dataset = s.Data
	}
	cfg.Clients, cfg.Transport = c.Clients, c.Transport
	cfg.WorkerPerConnection, cfg.HeartbeatInRing = c.Experiment.PerConnection, s.AsPaper
	// One process for each of the clients' cores, like the paper's for each
	// machine.
	cfg.Procs = min(max(1, len(cfg.ClientCPUs)), c.Clients)
	if c.Network.Rate > 0 {
		cfg.Listen = netns.ServerIP + ":0"
		if c.Transport == "ofi" {
			cfg.Fabric = bench.Fabric{Provider: s.FabricProvider, Device: netns.Device}
		}
	}
	return cfg, nil
}

func (c Cell) String() string {
	return fmt.Sprintf("figure %s, %s, %s over %s, %s",
		strings.Join(c.Experiment.Figures, " and "), c.Panel.Name, c.Network, c.Transport, clients(c.Clients))
}
