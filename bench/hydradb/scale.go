package hydradb

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Figure 12: throughput by the number of shards, each a thread with a core: scale-out, with a
// shard on each of 1 to 7 machines of which 6 have the 60 clients, too; and scale-up, with 1
// to 8 shards on one machine without clients. GETs read items by pointers (section 4.2.2).
const (
	scaleClients  = 60
	scaleMachines = 6
	// The paper has 60 million keys and as many calls. Here there are fewer, and half as many
	// calls as keys come before the simulated time, as in the middle of the paper's run: so a
	// uniform key was read as often.
	scaleKeys    = 1_000_000
	scaleEarlier = scaleKeys / 2
)

// panels of the figure.
var panels = []struct {
	name   string
	shards int // at most
}{{"scale-out", 7}, {"scale-up", 8}}

// mixes are the paper's six, (a) to (f), and what it prints of each, by panel.
var mixes = []struct {
	name    string
	get     int
	dist    ycsb.Dist
	printed [2]string
}{
	{"(a) Zipf, 50 % GET", 50, ycsb.Zipfian, [2]string{"6", "5"}},
	{"(b) Zipf, 90 % GET", 90, ycsb.Zipfian, [2]string{"5", "3"}},
	{"(c) Zipf, 100 % GET", 100, ycsb.Zipfian, [2]string{"5", "<= 3"}},
	{"(d) uniform, 50 % GET", 50, ycsb.Uniform, [2]string{"linear", "5"}},
	{"(e) uniform, 90 % GET", 90, ycsb.Uniform, [2]string{"linear", "5"}},
	{"(f) uniform, 100 % GET", 100, ycsb.Uniform, [2]string{"less than linear", "<= 3"}},
}

// ScaleRow is a mix in a panel. Lists are in the order of Shards.
type ScaleRow struct {
	Simulated bool      `json:"simulated"` // always
	Panel     string    `json:"panel"`
	Mix       string    `json:"mix"`
	Placement string    `json:"placement"`
	Printed   string    `json:"printed_knee"` // of the paper: where it is no longer linear
	Knee      int       `json:"knee"`         // see kneeOf; 0: none
	Shards    []int     `json:"shards"`
	Mops      []float64 `json:"mops"`
	Times     []float64 `json:"times"` // by one shard
	Hits      []float64 `json:"pointer_hits"`
	Busiest   []float64 `json:"busiest"` // calls of the busiest shard by those of the idlest
	Busy      []float64 `json:"busy"`    // mean share of time that shards serve
}

// Placement places keys on shards: slots, or a ring with some points for each shard.
type Placement struct{ RingPoints int }

func (p Placement) name() string {
	if p.RingPoints > 0 {
		return fmt.Sprintf("ring of %d points", p.RingPoints)
	}
	return "slots"
}

// of returns the placement on some shards.
func (p Placement) of(shards int) (placement.Placer, error) {
	var groups []placement.Group
	for i := range shards {
		groups = append(groups, placement.Group{Name: "shard" + strconv.Itoa(i), Weight: 1})
	}
	if p.RingPoints > 0 {
		return placement.NewRing(groups, p.RingPoints)
	}
	return placement.New(groups)
}

// PredictScale simulates figure 12. Equal arguments give equal rows.
func PredictScale(ctx context.Context, cl *sim.Cluster, place Placement, seed uint64) ([]ScaleRow, error) {
	six := *cl
	six.Client.Machines = min(scaleMachines, cl.Client.Machines)
	rows := make([]ScaleRow, 0, len(panels)*len(mixes))
	pointers := make([]*sim.KVPointers, len(mixes))
	for i, panel := range panels {
		for j, mix := range mixes {
			cfg := sim.KVConfig{
				Cluster: &six, Costs: costs, Threads: 1, Clients: scaleClients, GetPercent: mix.get, Keys: scaleKeys,
				Dist: mix.dist, Sizes: sim.KVSizes{Bytes: 32}, Scheme: sim.KVScheme{Name: "HydraDB", Written: true},
				Duration: 3 * time.Millisecond, Warmup: time.Millisecond, Seed: seed,
			}
			var err error
			if pointers[j] == nil {
				if pointers[j], err = sim.NewKVPointers(ctx, cfg, scaleEarlier); err != nil {
					return nil, err
				}
			}
			cfg.Scheme.Pointers = pointers[j]
			r := ScaleRow{Simulated: true, Panel: panel.name, Mix: mix.name, Placement: place.name(), Printed: mix.printed[i]}
			for n := 1; n <= panel.shards; n++ {
				if cfg.Place, err = place.of(n); err != nil {
					return nil, err
				}
				if panel.name == "scale-out" {
					cfg.Servers, cfg.Collocated = n, true
				} else {
					cfg.Threads = n
				}
				one, err := sim.RunKV(ctx, cfg)
				if err != nil {
					return nil, err
				}
				r.add(n, one)
			}
			r.Knee = kneeOf(r.Times)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func (r *ScaleRow) add(shards int, one *sim.KVResult) {
	r.Shards = append(r.Shards, shards)
	r.Mops = append(r.Mops, one.Mops)
	r.Times = append(r.Times, one.Mops/append(r.Mops, one.Mops)[0])
	r.Hits = append(r.Hits, one.Hits)
	r.Busiest = append(r.Busiest, one.Busiest)
	r.Busy = append(r.Busy, one.Busy)
}

// kneeOf is the first number of shards from which on one more brings less than half of what
// the first one has; 0: there is none.
func kneeOf(times []float64) int {
	for n := 1; n < len(times); n++ {
		if times[n]-times[n-1] < 0.5 {
			return n
		}
	}
	return 0
}

// WriteScale writes the table in Markdown: throughput in times that of one shard.
func WriteScale(w io.Writer, rows []ScaleRow) error {
	var b strings.Builder
	b.WriteString("| simulated, in times of one shard | knee: printed | simulated | one shard, Mops |")
	most := panels[len(panels)-1].shards
	for n := 2; n <= most; n++ {
		fmt.Fprintf(&b, " %d |", n)
	}
	fmt.Fprintf(&b, "\n|---|---|---|---|%s\n", strings.Repeat("---|", most-1))
	for _, r := range rows {
		knee := "none"
		if r.Knee > 0 {
			knee = strconv.Itoa(r.Knee)
		}
		fmt.Fprintf(&b, "| %s, %s | %s | %s | %.2f |", r.Panel, r.Mix, r.Printed, knee, r.Mops[0])
		for n := 1; n < most; n++ {
			if n < len(r.Times) {
				fmt.Fprintf(&b, " %.2f |", r.Times[n])
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteScaleJSON writes each row as a line.
func WriteScaleJSON(w io.Writer, rows []ScaleRow) error { return writeRows(w, rows) }
