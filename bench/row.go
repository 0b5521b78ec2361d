package bench

import (
	"runtime"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// Row is what bench run prints for one scheme: a JSON object per scheme.
// With repeats every figure is the median of the runs and Spread holds
// the smallest and the largest. "Per search" figures divide by all calls
// when the mix also writes, since traffic is not counted by kind.
type Row struct {
	Scheme    string `json:"scheme"`
	Transport string `json:"transport"`
	Device    string `json:"device"` // what carries it: provider, card, port, GID
	Dataset   string `json:"dataset"`
	Objects   int    `json:"objects"`
	Scale     string `json:"scale"`
	Queries   string `json:"queries,omitempty"` // file, instead of scale
	Mix       string `json:"mix"`
	// WorkerPerConnection: the server had a worker for each connection, not core.
	WorkerPerConnection bool `json:"worker_per_connection,omitempty"`
	// Inserts is set for mixes that write; rows older than this field had
	// DataInserts.
	Inserts  Inserts `json:"inserts,omitempty"`
	Clients  int     `json:"clients"`
	InFlight int     `json:"in_flight"`
	Batch    int     `json:"batch"` // searches per call
	Procs    int     `json:"client_procs"`

	ServerCPUs string `json:"server_cpus"` // empty: not pinned
	ClientCPUs string `json:"client_cpus"`

	// Strategy of the tree, missing: revised; Inserted: objects one by one,
	// not loaded at once. Backoff is set for the schemes of Algorithm 1.
	Strategy rstar.Strategy `json:"strategy,omitempty"`
	Inserted bool           `json:"inserted,omitempty"`
	Backoff  policy.Backoff `json:"backoff,omitzero"`

	Figures

	NodeBytes int     `json:"node_bytes"`
	Simulated bool    `json:"simulated"` // always false here
	Seed      uint64  `json:"seed"`
	WarmupS   float64 `json:"warmup_s"`
	DurationS float64 `json:"duration_s"`
	Requests  int     `json:"requests,omitempty"` // per client; 0: by time
	// Cut counts the requests of all clients and runs that DurationS left no
	// time for.
	Cut    int64  `json:"cut_requests,omitempty"`
	Repeat int    `json:"repeat"`
	Commit string `json:"commit"`

	// Runs are the throughputs of the single runs in the order of the rounds:
	// runs of one round saw the machine in the same state.
	Runs []float64 `json:"runs_ops_per_s"`

	// ByOp has the latencies of each kind of operation in the mix, over all
	// runs.
	ByOp map[string]OpFigures `json:"by_op"`
	// Spread maps a figure's name to its smallest and largest value.
	Spread map[string][2]float64 `json:"spread,omitempty"`

	Detail *Detail `json:"detail,omitempty"` // where Config asks for it
}

// Figures are the measured numbers of a row.
type Figures struct {
	OpsPerS  float64 `json:"ops_per_s"`
	MeanUs   float64 `json:"mean_us"` // latencies: of all operations
	P50Us    float64 `json:"p50_us"`
	P99Us    float64 `json:"p99_us"`
	P999Us   float64 `json:"p999_us"`
	CPUUtil  float64 `json:"server_cpu_util"` // of the server's cores, 0 to 1
	Offload  float64 `json:"offload_share"`   // of the searches, 0 to 1
	Trips    float64 `json:"round_trips_per_search"`
	Reads    float64 `json:"reads_per_search"`
	Bytes    float64 `json:"bytes_per_search"`
	Restarts float64 `json:"restarts_per_search"`
	Torn     float64 `json:"torn_reads"`              // total of a run
	Cached   float64 `json:"cached_nodes_per_search"` // used instead of a read
	Repairs  float64 `json:"repairs_per_search"`      // of these, had changed
	Results  float64 `json:"results_per_search"`
	// Of scheme fetch: the reads of answers, and of these the reads that found
	// nothing; how often in a run a client switched to written answers.
	AnswerReads   float64 `json:"answer_reads_per_search"`
	AnswersMissed float64 `json:"answers_missed_per_search"`
	AnswerChanges float64 `json:"answer_changes"`
	// Of the clients' cores; and through the interfaces of the server's
	// network namespace, without loopback.
	ClientUtil float64 `json:"client_cpu_util"`
	NetIn      float64 `json:"net_in_bytes_per_s"`
	NetOut     float64 `json:"net_out_bytes_per_s"`
}

// NewFigures computes the figures that follow from latencies of all calls and
// counters. The others are left at 0.
func NewFigures(all *latency.Distribution, c Counters) Figures {
	asked := float64(c.Fast + c.Offloaded)
	l := OpFiguresOf(all)
	return Figures{
		MeanUs: l.MeanUs, P50Us: l.P50Us, P99Us: l.P99Us, P999Us: l.P999Us,
		Offload:  stats.Ratio(float64(c.Offloaded), asked),
		Trips:    stats.Ratio(float64(c.RoundTrips), asked),
		Reads:    stats.Ratio(float64(c.Reads), asked),
		Restarts: stats.Ratio(float64(c.Restarts), asked),
		Cached:   stats.Ratio(float64(c.Cached), asked),
		Repairs:  stats.Ratio(float64(c.Repairs), asked),
		Torn:     float64(c.TornReads),

		AnswerReads:   stats.Ratio(float64(c.AnswerReads), asked),
		AnswersMissed: stats.Ratio(float64(c.AnswersMissed), asked),
		AnswerChanges: float64(c.AnswerChanges),
	}
}

// OpFigures are the latencies of one kind of operation.
type OpFigures struct {
	Count  int64   `json:"count"`
	MeanUs float64 `json:"mean_us"`
	P50Us  float64 `json:"p50_us"`
	P99Us  float64 `json:"p99_us"`
	P999Us float64 `json:"p999_us"`
}

// OpFiguresOf summarises a distribution.
func OpFiguresOf(l *latency.Distribution) OpFigures {
	return OpFigures{
		Count: l.Count(), MeanUs: stats.Micros(l.Mean()), P50Us: stats.Micros(l.Quantile(0.5)),
		P99Us: stats.Micros(l.Quantile(0.99)), P999Us: stats.Micros(l.Quantile(0.999)),
	}
}

// newRow turns the runs of one scheme, at least one, into its row.
func newRow(cfg Config, scheme string, runs []*outcome) Row {
	info := runs[0].clients[0].Info
	row := Row{
		Scheme: scheme, Transport: info.Transport, Device: info.Device, Dataset: cfg.Dataset,
		Objects: runs[0].server.Objects, Scale: cfg.Scale, Queries: cfg.Queries,
		Mix: cfg.Mix.String(), Clients: cfg.Clients, InFlight: cfg.InFlight, Batch: cfg.Batch,
		Procs:      cfg.Procs,
		ServerCPUs: cfg.ServerCPUs.String(), ClientCPUs: cfg.ClientCPUs.String(),
		Strategy: cfg.Strategy, Inserted: cfg.Inserted, Backoff: BackoffOf(scheme, cfg.Backoff),
		NodeBytes: runs[0].server.NodeBytes, Seed: cfg.Seed,
		WarmupS: cfg.Warmup.Seconds(), DurationS: cfg.Duration.Seconds(),
		Requests: cfg.Requests, Repeat: cfg.Repeat, Commit: cfg.Commit,
		ByOp: map[string]OpFigures{},
	}
	row.WorkerPerConnection = cfg.WorkerPerConnection
	if !cfg.Mix.ReadOnly() {
		row.Inserts = cfg.Inserts
	}
	figures := make([][]stats.Figure, len(runs))
	byOp := newTally()
	for i, o := range runs {
		f := o.figures(cfg)
		figures[i] = stats.Figures(&f)
		row.Runs = append(row.Runs, f.OpsPerS)
		row.Cut += int64(cfg.Requests) * int64(cfg.Clients)
		for _, s := range o.samples {
			row.Cut -= s.Ops()
			for op, l := range s.Latency {
				byOp.latency[op].Merge(l)
			}
		}
	}
	for op, l := range byOp.latency {
		if l.Count() > 0 {
			row.ByOp[opNames[op]] = OpFiguresOf(l)
		}
	}
	if cfg.Requests == 0 {
		row.Cut = 0 // A run by time has no count to miss.
	}
	if cfg.Detail {
		row.Detail = newDetail(byOp, runs)
	}
	row.Spread = stats.Summarize(stats.Figures(&row.Figures), figures)
	return row
}

// figures adds up the client processes of one run.
func (o *outcome) figures(cfg Config) Figures {
	var opsPerS float64
	all := latency.New()
	searches, reads, results := int64(0), int64(0), uint64(0)
	var c Counters
	var busy float64 // cores
	for _, s := range o.samples {
		for _, l := range s.Latency {
			all.Merge(l)
		}
		if s.Elapsed > 0 {
			opsPerS += float64(s.Ops()) / s.Elapsed.Seconds()
			busy += s.CPU.Seconds() / s.Elapsed.Seconds()
		}
		searches += s.Latency[Search].Count()
		reads += s.Latency[Search].Count() + s.Latency[Nearest].Count()
		results += s.Results
		c = c.Add(s.Counters)
	}
	f := NewFigures(all, c)
	f.OpsPerS, f.CPUUtil, f.NetIn, f.NetOut = opsPerS, o.Util, o.NetIn, o.NetOut
	// The counters' own searches: a busy core may put milliseconds
	// between reading the latencies and the counters.
	asked := float64(c.Fast + c.Offloaded)
	calls := float64(all.Count())
	if reads > 0 && asked > 0 {
		calls *= asked / float64(reads)
	}
	f.Bytes = stats.Ratio(float64(c.Bytes), calls)
	f.Results = stats.Ratio(float64(results), float64(searches))
	cores := len(cfg.ClientCPUs)
	if cores == 0 {
		cores = runtime.NumCPU()
	}
	f.ClientUtil = min(1, busy/float64(cores)) // Clock ticks, as above.
	return f
}

// Within compares two rows' throughputs round by round (harness.Within).
func (r *Row) Within(other *Row) (times, stderr float64, ok bool) {
	return harness.Within(r.Runs, other.Runs)
}
