package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// Settings are common to all points of a report: points measured under
// different ones must not stand in one figure.
type Settings struct {
	Objects  int `json:"objects"`  // of generated data
	Requests int `json:"requests"` // per client
	// Duration cuts the measured interval of each run, 0: never.
	Duration time.Duration `json:"duration_ns,omitempty"`
	InFlight int           `json:"in_flight"` // per client
	Repeat   int           `json:"repeat"`
	Seed     uint64        `json:"seed"`
	Data     string        `json:"data"`    // of figure 14
	Queries  string        `json:"queries"` // of figure 14: a file, or QR2

	ServerCPUs string `json:"server_cpus"`
	ClientCPUs string `json:"client_cpus"`
	NodeBytes  int    `json:"node_bytes"` // 0: the tree's default

	Inserts bench.Inserts `json:"inserts,omitempty"` // of figures 12 and 13; the paper's

	Strategy rstar.Strategy `json:"strategy,omitempty"` // of the tree; Revised
	Inserted bool           `json:"inserted,omitempty"` // objects one by one, not loaded at once
	Backoff  policy.Backoff `json:"backoff,omitzero"`   // of paper and paper-literal; the paper's

	// AsPaper: the preset of AsPaper.
	AsPaper bool `json:"as_paper,omitempty"`

	// Fabric of transport ofi in namespaces.
	FabricProvider string `json:"fabric_provider,omitempty"`

	Commit  string        `json:"commit"`
	Machine bench.Machine `json:"machine"`
}

// The paper's parameters (section V-A). N, T, the heartbeat and the rings
// are the defaults of packages policy, catfish and fastmsg; a test compares
// them.
const (
	Objects    = 2_000_000
	Requests   = 10_000 // per client
	BackoffN   = 8
	ThresholdT = 0.95
	RingBytes  = 256 << 10
)

// Differences lists the fields in which s and o differ, with both values.
func (s Settings) Differences(o Settings) []string {
	var diff []string
	s.Backoff, o.Backoff = s.Backoff.WithDefaults(), o.Backoff.WithDefaults()
	a, b := reflect.ValueOf(s), reflect.ValueOf(o)
	for i := range a.NumField() {
		if a.Field(i).Interface() == b.Field(i).Interface() {
			continue
		}
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		diff = append(diff, fmt.Sprintf("%s %s, here %s", name, show(a.Field(i)), show(b.Field(i))))
	}
	return diff
}

func show(v reflect.Value) string {
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	return string(b)
}

// config is the part that the cells of one machine share.
func (s Settings) config() (bench.Config, error) {
	c := bench.Config{
		Objects: s.Objects, Requests: s.Requests, Duration: s.Duration, InFlight: s.InFlight,
		Repeat: s.Repeat, Seed: s.Seed, NodeBytes: s.NodeBytes, Inserts: s.Inserts,
		Strategy: s.Strategy, Inserted: s.Inserted, Backoff: s.Backoff,
		Commit: s.Commit, Detail: true,
	}
	var err error
	if c.ServerCPUs, err = affinity.Parse(s.ServerCPUs); err != nil {
		return c, err
	}
	c.ClientCPUs, err = affinity.Parse(s.ClientCPUs)
	return c, err
}

// Network is the network between the processes of a cell.
type Network struct {
	Name string `json:"name"`
	Rate int64  `json:"rate"` // bits per second each way; 0: the host itself
}

func (n Network) String() string {
	switch {
	case n.Rate == 0:
		return "one host"
	case n.Rate%1e9 == 0:
		return fmt.Sprintf("%d Gbit/s", n.Rate/1e9)
	}
	return fmt.Sprintf("%d Mbit/s", n.Rate/1e6)
}

// Host is one host without a network: shared memory, and loopback for tcp.
var Host = Network{Name: "host"}

// ErrNetwork is wrapped for the name of a network that cannot be read.
var ErrNetwork = errors.New("bad network")

// ParseNetwork reads "host", or a rate in bits per second such as "1g",
// "10g" or "100m". Errors wrap ErrNetwork.
func ParseNetwork(s string) (Network, error) {
	if s == Host.Name {
		return Host, nil
	}
	units := map[byte]int64{'m': 1e6, 'g': 1e9}
	if len(s) > 1 {
		n, err := strconv.ParseInt(s[:len(s)-1], 10, 64)
		if unit := units[s[len(s)-1]]; err == nil && unit > 0 && n > 0 && n <= maxRate/unit {
			return Network{Name: s, Rate: n * unit}, nil
		}
	}
	return Network{}, fmt.Errorf("%w: %q, want host, or a rate from 1m to %dg",
		ErrNetwork, s, maxRate/1_000_000_000)
}

// Validate checks everything that would fail in a run later. Errors wrap
// harness.ErrConfig.
func Validate(s Settings, experiments []Experiment, networks []Network, clients []int, known []string) error {
	for i, n := range clients {
		if slices.Contains(clients[:i], n) {
			return fmt.Errorf("%w: clients lists %d twice", harness.ErrConfig, n)
		}
	}
	if _, err := bench.OpenDataset(s.Data, s.Objects, s.Seed); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	for _, c := range Cells(experiments, networks, []string{"soft"}, clients) {
		cfg, err := c.config(s)
		if err == nil {
			err = cfg.Validate(known)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range MicroCells(experiments, networks, []string{"soft"}, micro.Sizes()) {
		cfg, err := c.config(s)
		if err == nil {
			err = cfg.Validate()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
