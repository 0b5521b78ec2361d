package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/mongo"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
)

func newBenchMongo(a *app) *cobra.Command {
	var cfg mongo.Config
	var server, client, json, profile string
	var formula bool
	c := &cobra.Command{
		Use:   "mongo",
		Short: "Measure documents over sockets and rings, as RDMA_Mongo does",
		Long: `Measure inserts, queries, updates and deletes of documents over plain sockets and
over rings, in the shape of RDMA_Mongo's figures 10 and 11: one thread with more and
more documents, then 100 to 400 threads with 1,000 operations each. The documents are
features of an OpenStreetMap extract, in the memory of a server; a thread is a goroutine
with a connection of its own. Over soft, rings lie over TCP: this is no RDMA card.

Transports take turns in rounds. Each answer is checked, and after each work the number
of documents.

--formula measures nothing: it prints RDMA_Mongo's Formula 1, by which a buffer is sized by
what a machine has free, as it is printed, beside the sizes of a group's rings.

The table goes to standard output, or to standard error with --json -.`,
		Example: `  catfish bench mongo --server-cpus 0 --client-cpus 1
  catfish bench mongo --records 1000 --threads 100 --rounds 1 --transport tcp,shm
  catfish bench mongo --formula`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if formula {
				if err := cli.NoUse(cmd.Flags(), "with --formula", "source", "transport", "figure", "records", "threads", "each", "rounds",
					"seed", "server-cpus", "client-cpus", "profile"); err != nil {
					return err
				}
				return a.mongoFormula(json)
			}
			cfg.Commit = cli.Commit()
			if cfg.ServerCPUs, cfg.ClientCPUs, err = splitCores(server, client); err != nil {
				return err
			}
			if err := cfg.Validate(); err != nil {
				return err
			}
			if _, err := os.Stat(cfg.Source); err != nil {
				return fmt.Errorf("%w (--source names another file than that of the repository)", err)
			}
			return a.benchMongo(cmd.Context(), cfg, json, profile)
		},
	}
	fs := c.Flags()
	fs.StringVar(&cfg.Source, "source", defaultSource, "file that documents are made of")
	fs.StringSliceVar(&cfg.Transports, "transport", mongo.Transports, "what to compare, the reference first")
	fs.IntSliceVar(&cfg.Figures, "figure", []int{10, 11}, "figures to measure")
	fs.IntSliceVar(&cfg.Records, "records", []int{10, 100, 1000, 10_000, 100_000}, "documents of one thread (figure 10)")
	fs.IntSliceVar(&cfg.Threads, "threads", []int{100, 200, 300, 400}, "threads (figure 11)")
	fs.IntVar(&cfg.Each, "each", 1000, "operations of each of these threads")
	fs.IntVar(&cfg.Rounds, "rounds", 3, "how often all is measured")
	fs.Uint64Var(&cfg.Seed, "seed", 1, "of the documents")
	fs.BoolVar(&formula, "formula", false, "print Formula 1 as printed and as used, and measure nothing")
	coreFlags(c, &server, &client)
	fs.StringVar(&json, "json", "", "write one JSON object per row to this file, - for standard output")
	fs.StringVar(&profile, "profile", "", "directory for a CPU profile of each process, for go tool pprof")
	cli.CompleteList(c, "transport", mongo.Transports...)
	return c
}

func (a *app) benchMongo(ctx context.Context, cfg mongo.Config, file, profile string) error {
	return measureRows(a, file, profile, func(spawn child.Spawn, note func(string), done func(mongo.Row)) error {
		return mongo.Run(ctx, cfg, spawn, note, done)
	}, mongo.WriteTable)
}

func (a *app) mongoFormula(file string) error {
	o, err := harness.OpenOutput(a.Out, a.Err, file)
	if err != nil {
		return err
	}
	sizes := mongo.Sizes()
	for _, s := range sizes {
		err = errors.Join(err, o.Row(s))
	}
	return errors.Join(err, mongo.WriteSizes(o.Table, sizes), o.Close())
}
