package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Scale-out of Catfish over several groups of one server each: the same clients, enough to keep
// eight groups busy, and the same data, divided by package placement. What a search asks and
// reads of each group is real; times are simulated.

// scaleOutGroups are the numbers of groups.
var scaleOutGroups = []int{1, 2, 3, 4, 8}

// scaleOuts are the rows' work. Wanted is the throughput of three groups in times of one.
var scaleOuts = []struct {
	what    string
	spec    Spec // Dataset is empty: gets by id
	schemes []string
	wanted  float64
}{
	{"small searches of boxes, uniform, 1e-5", Spec{Dataset: "uniform", Scale: "1e-5"}, []string{"fast", "offload"}, 2.9},
	{"searches of 0.01 degrees, rea02-like", Spec{Dataset: "rea02-like", Scale: "0.01deg"}, []string{"fast", "offload"}, 0},
	{"searches of 0.01 degrees, California's roads", Spec{Dataset: "california", Scale: "0.01deg"}, []string{"fast"}, 0},
	{"searches of features, 100 results", Spec{Dataset: "rea02-like", Scale: "QR2", Placing: Features}, []string{"fast", "offload"}, 2.5},
	{"gets by id", Spec{Placing: Features}, []string{"fast", "pointers"}, 2.9},
}

// ScaleOutObjects of generated data sets, unless the caller names a number.
const ScaleOutObjects = 200_000

// More client machines than the cluster has, and clients on each of these.
const (
	scaleOutMachines = 8 // times the cluster's
	scaleOutClients  = 32
	// Gets by pointers take a client 1 us and a server's card 0.03.
	scaleOutGetters = 128
)

// maxScaleOutClients are all connections.
const maxScaleOutClients = maxKVThreads

// ScaleOutRow is one number of groups.
type ScaleOutRow struct {
	Simulated bool    `json:"simulated"` // always
	Cluster   string  `json:"cluster"`
	What      string  `json:"what"`
	Scheme    string  `json:"scheme"`
	Groups    int     `json:"groups"`
	Clients   int     `json:"clients"`
	Objects   int     `json:"objects"`
	Asked     float64 `json:"groups_asked"` // by a search, or get
	Most      float64 `json:"most"`         // objects of the fullest group, in means
	OpsPerS   float64 `json:"ops_per_s"`
	Times     float64 `json:"times"` // of one group
	MeanUs    float64 `json:"mean_us"`
	Wanted    float64 `json:"wanted_times,omitempty"` // with three groups
}

// ScaleOut simulates the rows whose work contains the text. Equal arguments give equal rows.
func ScaleOut(ctx context.Context, cl *Cluster, cache *Cache, objects int, text string, seed uint64, note func(string)) (rows []ScaleOutRow, err error) {
	wide := *cl
	wide.Client.Machines = min(scaleOutMachines*cl.Client.Machines, maxScaleOutClients/scaleOutGetters)
	for _, work := range scaleOuts {
		if !strings.Contains(work.what, text) {
			continue
		}
		for _, scheme := range work.schemes {
			first := 0.0
			for _, groups := range scaleOutGroups {
				note(fmt.Sprintf("simulating %s, %s, in %d groups", work.what, scheme, groups))
				r := ScaleOutRow{Simulated: true, Cluster: cl.Name, What: work.what, Scheme: scheme, Groups: groups, Wanted: work.wanted}
				if work.spec.Dataset == "" {
					err = r.get(ctx, &wide, seed)
				} else {
					spec := wide.Spec(work.spec.Dataset, objects, work.spec.Scale, seed)
					spec.Groups, spec.Placing = groups, work.spec.Placing
					err = r.search(ctx, &wide, spec, cache, note)
				}
				if err != nil {
					return rows, err
				}
				if first == 0 {
					first = r.OpsPerS
				}
				r.Times = r.OpsPerS / first
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

// search simulates searches.
func (r *ScaleOutRow) search(ctx context.Context, cl *Cluster, spec Spec, cache *Cache, note func(string)) error {
	w, err := cache.Get(spec, note)
	if err != nil {
		return err
	}
	cfg := Config{Cluster: cl, Scheme: r.Scheme, Clients: scaleOutClients * cl.Client.Machines, Duration: 20 * time.Millisecond,
		Warmup: 20 * time.Millisecond, Seed: spec.Seed}
	if r.Scheme != "fast" { // Many more of them.
		cfg.Duration, cfg.Warmup = 4*time.Millisecond, 8*time.Millisecond
	}
	one, err := Run(ctx, cfg, w)
	if err != nil {
		return err
	}
	r.Clients, r.Objects, r.Asked, r.Most, r.OpsPerS, r.MeanUs = cfg.Clients, w.Objects, w.Asked, w.Most(), one.OpsPerS, one.MeanUs
	return nil
}

// get simulates gets by id, of keys that slots place: by messages, whose cost is that of a
// search without a tree, or of items to which each machine has a pointer.
func (r *ScaleOutRow) get(ctx context.Context, cl *Cluster, seed uint64) error {
	var groups []placement.Group
	for i := range r.Groups {
		groups = append(groups, placement.Group{Name: "g" + strconv.Itoa(i), Weight: 1})
	}
	m, err := placement.New(groups)
	if err != nil {
		return err
	}
	cfg := KVConfig{
		Cluster: cl, Costs: KVCosts{GetNs: cl.Server.RequestNs}, Threads: cl.Server.Cores, Servers: r.Groups, Place: m,
		Clients: scaleOutClients * cl.Client.Machines, GetPercent: 100, Keys: 10_000, Dist: ycsb.Uniform, Sizes: KVSizes{Bytes: 200},
		Scheme:   KVScheme{Name: r.Scheme, Written: true, ByClient: true, Events: true},
		Duration: 20 * time.Millisecond, Warmup: 20 * time.Millisecond, Seed: seed,
	}
	if r.Scheme == "pointers" {
		cfg.Clients, cfg.Duration, cfg.Warmup = scaleOutGetters*cl.Client.Machines, time.Millisecond, time.Millisecond
		calls := 10 * cl.Client.Machines * int(cfg.Keys)
		if cfg.Scheme.Pointers, err = NewKVPointers(ctx, cfg, calls); err != nil {
			return err
		}
	}
	one, err := RunKV(ctx, cfg)
	if err != nil {
		return err
	}
	most := make([]int, r.Groups)
	y := cfg.ycsb()
	for i := range cfg.Keys {
		k := y.Key(i)
		most[m.Of(k[:])]++
	}
	r.Clients, r.Objects, r.Asked = cfg.Clients, int(cfg.Keys), 1
	r.Most = float64(slices.Max(most)) * float64(r.Groups) / float64(cfg.Keys)
	r.OpsPerS, r.MeanUs = one.Mops*1e6, one.MeanUs
	return nil
}

// WriteScaleOut writes the table in Markdown, a line for each work and scheme.
func WriteScaleOut(w io.Writer, rows []ScaleOutRow) error {
	var b strings.Builder
	b.WriteString("| simulated | scheme | one group, Kops/s |")
	for _, n := range scaleOutGroups[1:] {
		fmt.Fprintf(&b, " %d groups |", n)
	}
	b.WriteString(" wanted with 3 |")
	for _, n := range scaleOutGroups[1:] {
		fmt.Fprintf(&b, " asked of %d |", n)
	}
	fmt.Fprintf(&b, "\n|---|---|---|---|%s\n", strings.Repeat("---|", 2*(len(scaleOutGroups)-1)))
	for line := range slices.Chunk(rows, len(scaleOutGroups)) {
		fmt.Fprintf(&b, "| %s | %s | %.0f |", line[0].What, line[0].Scheme, line[0].OpsPerS/1e3)
		for _, r := range line[1:] {
			fmt.Fprintf(&b, " %.2f |", r.Times)
		}
		wanted := "-"
		if line[0].Wanted > 0 {
			wanted = fmt.Sprint(line[0].Wanted)
		}
		fmt.Fprintf(&b, " %s |", wanted)
		for _, r := range line[1:] {
			fmt.Fprintf(&b, " %.3f |", r.Asked)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteScaleOutJSON writes each row as a line.
func WriteScaleOutJSON(w io.Writer, rows []ScaleOutRow) error {
	for _, r := range rows {
		if err := json.NewEncoder(w).Encode(r); err != nil {
			return fmt.Errorf("sim: writing a row: %w", err)
		}
	}
	return nil
}
