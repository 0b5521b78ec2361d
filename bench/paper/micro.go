package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/bench/store"
)

// Figure 9 is no workload of searches: its points are rows of package micro
// over the bytes of a request. They have a file and a runner of their own,
// and the same settings, rules and report as the others.

// microName is the experiment that has neither panels nor series.
const microName = "micro"

// MicroPoint is a measured point of figure 9: a line of MicroFile.
type MicroPoint struct {
	Key      string    `json:"key"`
	Network  Network   `json:"network"`
	Measured time.Time `json:"measured"`
	Settings Settings  `json:"settings"`
	Row      micro.Row `json:"row"`
}

// MicroFile is where the points of figure 9 are kept, beside PointsFile.
const MicroFile = "micro.jsonl"

// MicroStore is the points of one directory by key, all under the same
// settings.
type MicroStore = store.Lines[MicroPoint]

// OpenMicro reads the points of figure 9 as Open reads the others.
func OpenMicro(dir string, s Settings, fresh bool) (_ *MicroStore, torn bool, err error) {
	return open(dir, MicroFile, s, fresh, func(p MicroPoint) (string, Settings) { return p.Key, p.Settings })
}

// MicroCell is one call of micro.Run: an operation in all sizes.
type MicroCell struct {
	Network   Network
	Op        micro.Op
	Transport string
	Sizes     []int // bytes
}

// Key identifies the point of one size.
func (c MicroCell) Key(size int) string {
	return strings.Join([]string{
		microName, c.Network.Name, c.Transport, string(c.Op), strconv.Itoa(size),
	}, "/")
}

func (c MicroCell) String() string {
	return fmt.Sprintf("figure 9, %s, %s over %s", c.Network, c.Op, c.Transport)
}

// MicroCells lists the cells of figure 9, if it is among the experiments: as
// with Cells, on the host tcp and shared memory, in a network tcp and each of
// transports.
func MicroCells(experiments []Experiment, networks []Network, transports []string, sizes []int) []MicroCell {
	if !slices.ContainsFunc(experiments, func(e Experiment) bool { return e.Name == microName }) {
		return nil
	}
	var cells []MicroCell
	for _, n := range networks {
		over := transports
		if n.Rate == 0 {
			over = []string{"shm"}
		}
		cells = append(cells, MicroCell{n, micro.TCP, tcp.Name, sizes})
		for _, t := range over {
			cells = append(cells, MicroCell{n, micro.Read, t, sizes}, MicroCell{n, micro.Write, t, sizes},
				MicroCell{n, micro.OneWay, t, sizes})
		}
	}
	return cells
}

// microDuration is the measured time of each size: package micro's, or
// Settings.Duration if that is less. Figure 9 has no required number of
// requests.
func microDuration(s Settings) time.Duration {
	if s.Duration == 0 {
		return micro.DefaultDuration
	}
	return min(micro.DefaultDuration, s.Duration)
}

// config fills in what the cell decides.
func (c MicroCell) config(s Settings) (micro.Config, error) {
	all, err := s.config()
	if err != nil {
		return micro.Config{}, err
	}
	cfg := micro.Config{
		Op: c.Op, Transport: c.Transport, Sizes: c.Sizes, Duration: microDuration(s),
		Repeat: s.Repeat, Rate: c.Network.Rate, ServerCPUs: all.ServerCPUs, ClientCPUs: all.ClientCPUs,
	}
	if c.Network.Rate > 0 {
		cfg.Listen = netns.ServerIP + ":0"
		if c.Transport == "ofi" {
			cfg.Fabric = bench.Fabric{Provider: s.FabricProvider, Device: netns.Device}
		}
	}
	return cfg, nil
}

// LimitOfMicro returns the limit of a point of figure 9. With one request
// outstanding, client, network and server may work in sequence, so that none
// of them is exhausted.
func LimitOfMicro(p MicroPoint) Limit {
	l := limit(p.Row.ServerUtil, p.Row.ClientUtil, max(p.Row.NetIn, p.Row.NetOut), p.Network, p.Settings)
	if l.Name == roundTrips {
		l.Name = "one request outstanding"
	}
	return l
}
