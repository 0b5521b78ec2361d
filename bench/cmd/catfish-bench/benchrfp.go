package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/rfp"
	"github.com/catfish-index/catfish/internal/cli"
)

type rfpFlags struct {
	sim       simFlags // cluster and --set
	tables    []string
	json, out string
	seed      uint64

	calibrate bool
	results   []int
	work      []float64 // ns
}

func newBenchRFP(a *app) *cobra.Command {
	f := rfpFlags{sim: simFlags{cluster: rfp.Cluster, chosen: func(string) bool { return false }}}
	c := &cobra.Command{
		Use:   "rfp",
		Short: "Simulate RFP's figures, and answers that clients fetch",
		Long: `Simulate the figures of RFP (Remote Fetching Paradigm, Su et al.): a server
whose answers clients read out of its memory, beside one that writes them, on
a simulated cluster of ConnectX-3 cards. Each printed number stands beside the
simulated one; further tables simulate Catfish's own fetched answers. Every
figure is simulated. It takes seconds.

--set changes numbers of the cluster, which 'catfish bench sim --print-cluster
connectx3' prints. --out writes the page docs/papers/rfp-simulated.md; --json a
row for each number.

--calibrate chooses RFP's fetch size F and retries R for calls with the bytes of
--results and the times of --work (each with each), by the procedure of its
successor (EuroSys 2017, section 3.2) on the simulated card, and says why. They are
--fetch-bytes and --fetch-retries of 'catfish bench kv'.`,
		Example: `  catfish bench rfp
  catfish bench rfp --table peaks,latencies --json rows.jsonl
  catfish bench rfp --table card --set server.nic.post_wait_ns=0
  catfish bench rfp --calibrate --results 34,130,512 --work 250,3000`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.calibrate {
				if err := cli.NoUse(cmd.Flags(), "with --calibrate", "table", "out"); err != nil {
					return err
				}
				return a.calibrate(cmd.Context(), &f)
			}
			if err := cli.NoUse(cmd.Flags(), "without --calibrate", "results", "work"); err != nil {
				return err
			}
			return a.benchRFP(cmd.Context(), &f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.tables, "table", nil, "tables to simulate; empty: all")
	fs.StringArrayVar(&f.sim.set, "set", nil, "change a number of the cluster, as in server.nic.out_mops=4; repeatable")
	fs.StringVar(&f.json, "json", "", "write one JSON object per number to this file, - for standard output")
	fs.StringVar(&f.out, "out", "", "write the tables to this file instead of standard output")
	fs.BoolVar(&f.calibrate, "calibrate", false, "choose the fetch size and the retries of calls, simulated")
	fs.IntSliceVar(&f.results, "results", []int{34}, "with --calibrate: bytes of results, without header")
	fs.Float64SliceVar(&f.work, "work", []float64{250}, "with --calibrate: times that the server works for a call, in ns")
	fs.Uint64Var(&f.seed, "seed", 1, "of keys and chance")
	cli.CompleteList(c, "table", rfp.Parts()...)
	return c
}

// calibrate prints the choice, and a row for each pair that was compared.
func (a *app) calibrate(ctx context.Context, f *rfpFlags) (err error) {
	cl, err := f.sim.open()
	if err != nil {
		return err
	}
	o, err := harness.OpenOutput(a.Out, a.Err, f.json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	var samples []rfp.Sample
	for _, bytes := range f.results {
		for _, ns := range f.work {
			samples = append(samples, rfp.Sample{Bytes: bytes, WorkNs: ns})
		}
	}
	c, err := rfp.Calibrate(ctx, cl, f.seed, samples)
	if err != nil {
		return err
	}
	return errors.Join(c.WriteJSON(o.Rows), c.Write(o.Table))
}

// benchRFP opens the files of --json and --out first: a typing error there costs nothing. What
// the file of --out has remains until the page is complete.
func (a *app) benchRFP(ctx context.Context, f *rfpFlags) (err error) {
	cl, err := f.sim.open()
	if err != nil {
		return err
	}
	o, err := harness.OpenOutput(a.Out, a.Err, f.json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if f.out != "" {
		file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	page, err := rfp.Predict(ctx, cl, f.seed, f.tables, a.note)
	if len(page.Tables) == 0 {
		return err
	}
	err = errors.Join(err, page.WriteJSON(o.Rows))
	if f.out == "" {
		return errors.Join(err, page.Write(o.Table))
	}
	if err != nil {
		return err
	}
	file, err := os.Create(f.out)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(page.Write(file), file.Close())
}
