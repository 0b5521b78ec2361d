package sim

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/policy"
)

// Row is what bench sim prints for one simulation: the keys of a row of bench
// run, with "simulated": true, and figures that only a simulator has.
type Row struct {
	bench.Row
	Cluster    string   `json:"cluster"`
	ServerLink float64  `json:"server_link_share"` // of the link out, 0 to 1
	ClientCPU  float64  `json:"client_cpu_util"`   // of all clients' cores
	Writer     float64  `json:"writer_share"`      // of time that the writer was held
	FellBack   uint64   `json:"fell_back"`         // searches that gave up offloading
	Lines      float64  `json:"lines"`             // of cached nodes, read by a search
	Repairs    float64  `json:"repairs"`           // of cached nodes, by search
	Groups     int      `json:"groups,omitempty"`  // that have a part of the objects each
	Placing    Placing  `json:"placed_as,omitempty"`
	Asked      float64  `json:"groups_asked,omitempty"` // by a search
	Events     uint64   `json:"events"`
	TookS      float64  `json:"took_s"` // of real time
	JoinAtS    float64  `json:"join_at_s,omitempty"`
	First      int      `json:"first_clients,omitempty"`
	Answers    bool     `json:"answers,omitempty"` // clients compare answer times
	Series     []Sample `json:"series,omitempty"`
}

// NewRow joins a result with its configuration.
func NewRow(cfg Config, w *Workload, r *Result, commit string) Row {
	cfg = cfg.withDefaults()
	cl := cfg.Cluster
	mix := bench.Mix{bench.Search: cfg.Mix[0], bench.Insert: cfg.Mix[1]}
	transport := "rdma (simulated)"
	if cfg.Scheme == "tcp" {
		transport = "tcp (simulated)"
		if cfg.TCPGbits > 0 {
			transport = fmt.Sprintf("tcp, %g Gbit/s (simulated)", cfg.TCPGbits)
		}
	}
	var inserts bench.Inserts
	if !mix.ReadOnly() {
		inserts = w.Spec.inserts()
	}
	row := Row{
		Row: bench.Row{
			Scheme: cfg.Scheme, Transport: transport,
			Device: "simulated: " + cl.Device, Dataset: w.Spec.Dataset,
			Objects: w.Objects, Scale: w.Spec.Scale, Mix: mix.String(), Inserts: inserts,
			Clients: cfg.Clients, InFlight: cfg.InFlight,
			Procs:      min(cl.Client.Machines, cfg.Clients),
			ServerCPUs: fmt.Sprintf("%d (simulated)", cl.Server.Cores),
			ClientCPUs: fmt.Sprintf("%d x %d (simulated)", cl.Client.Machines, cl.Client.Cores),
			Figures:    r.Figures, NodeBytes: cl.Tree.NodeBytes, Simulated: true,
			Seed: cfg.Seed, WarmupS: cfg.Warmup.Seconds(), DurationS: cfg.Duration.Seconds(),
			Strategy: w.Spec.Strategy, Inserted: w.Spec.Inserted == 1, Backoff: bench.BackoffOf(cfg.Scheme, cfg.Backoff),
			Repeat: 1, Commit: commit, Runs: []float64{r.OpsPerS}, ByOp: r.ByOp,
		},
		Cluster: cl.Name, ServerLink: r.LinkOut, ClientCPU: r.Clients, Writer: r.Writer,
		FellBack: r.FellBack, Lines: r.Lines, Repairs: r.Repairs,
		JoinAtS: cfg.JoinAt.Seconds(), First: cfg.First, Series: r.Series, Events: r.Events, TookS: r.Took.Seconds(),
	}
	if sch, err := policy.SchemeByName(cfg.Scheme); err == nil {
		row.Answers = cfg.byAnswers(sch)
	}
	if w.Spec.Groups > 1 {
		row.Groups, row.Placing, row.Asked = w.Spec.Groups, w.Spec.Placing, w.Asked
	}
	return row
}

// WriteRows writes rows of one workload as a table.
func WriteRows(w io.Writer, cl *Cluster, load *Workload, rows []Row) error {
	fmt.Fprintf(w, "simulated: cluster %s, %s\n", cl.Name, cl.About)
	fmt.Fprintf(w, "simulated: %d objects of %s, %s; searches of scale %s read %.2f nodes and find %.2f objects\n",
		load.Objects, load.Spec.Dataset, load.Spec.treeText(), load.Spec.Scale, load.Reads, load.Results)
	if g := load.Spec.Groups; g > 1 {
		fmt.Fprintf(w, "simulated: %d groups of one server each, placed as %s; a search asks %.3f, the fullest has %.3f times the mean\n",
			g, load.Spec.Placing, load.Asked, load.Most())
	}
	said := map[string]bool{} // Rows differ in clients, too.
	for _, r := range rows {
		if r.Answers && !said[r.Scheme] {
			said[r.Scheme] = true
			fmt.Fprintf(w, "simulated: %s: by announced answer times instead\n", r.Scheme)
		}
		if !r.Backoff.IsPaper() && !said[r.Scheme] {
			said[r.Scheme] = true
			fmt.Fprintf(w, "simulated: %s: %v\n", r.Scheme, r.Backoff)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "clients\tscheme\tops/s (simulated)\tmean us\tp50\tp99\tserver CPU\tlink out\toffloaded\treads\trestarts\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%s\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f %%\t%.1f %%\t%.1f %%\t%.2f\t%.4f\t\n",
			r.Clients, r.Scheme, r.OpsPerS, r.MeanUs, r.P50Us, r.P99Us,
			100*r.CPUUtil, 100*r.ServerLink, 100*r.Offload, r.Reads, r.Restarts)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("sim: writing the table: %w", err)
	}
	return nil
}
