package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/features"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
)

type benchFeaturesFlags struct {
	cfg                           features.Config
	server, client, json, profile string
	quick                         bool
}

// defaultSource is the file from which features of a workload are made, in a
// clone of the repository.
const defaultSource = "datasets/testdata/andorra.osm.pbf"

func newBenchFeatures(a *app) *cobra.Command {
	var f benchFeaturesFlags
	c := &cobra.Command{
		Use:   "features",
		Short: "Measure places: searches, writes, memory, restarts",
		Long: `Measure collections of features: places with tags. They are made of an
OpenStreetMap extract, whose copies lie side by side until there are enough. Without
--borders what is larger than a twentieth of it is left out: most places are in
several of these, and no search could find one feature. Server
and clients are processes of their own, pinned to the given cores; ways of the same
work take turns in rounds.

  load        storing all: in the server's process, over a ring, and, with work
              upsert, move or restart, durably
  memory      what they take, beside the bytes of ids and encoded features: stored in
              the server's process, where the tree is built at the end, and over a
              ring, where it grows
  search-1    boxes that hold one feature (with --borders, up to 8): by messages over a ring, offloaded with
              nodes kept, by the default policy, over plain sockets, and by gRPC,
              beside an echo of the same messages by plain grpc-go
  search-100  boxes that hold 90 to 110
  nearest     the 10 nearest, by a filter that passes one feature in ten
  upsert      durable: over a ring, in process, and, beside it, writing the same bytes
              to a file with an fsync for as many as are under way
  move        points to other places, with --sync off
  restart     after a kill: from the start of the process until it serves, all cores
  country     in which polygon of --countries is a point, by one goroutine in process
  geofences   objects that move over watched circles, in process; each event is checked

With --tile38 its server, a program of that name, gets the same features, and stands
beside Catfish in load, memory, search-1, search-100 and nearest.

Answers are checked: each search by Catfish must find as many features as the box
holds. Wrong ones are counted, and make the command fail; so do answers of Tile38 that
differ by more than 2 % in all. Server and client CPU are of one core.

The table goes to standard output, or to standard error with --json -.`,
		Example: `  catfish bench features --server-cpus 0 --client-cpus 1 --tile38 tile38-server
  catfish bench features --work search-1,nearest --features 100000 --json rows.jsonl
  catfish bench features --quick
  catfish bench features data --features 2000000 --out features.geojsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config(cmd)
			if err != nil {
				return err
			}
			return a.benchFeatures(cmd.Context(), cfg, f.json, f.profile)
		},
	}
	fs, o := c.Flags(), &f.cfg
	fs.StringSliceVar(&o.Works, "work", features.Works, "works to do")
	fs.StringSliceVar(&o.Ways, "way", nil, "ways to do searches, writes and works in process; empty: all")
	featuresDataFlags(c, o)
	fs.StringVar(&o.Countries, "countries", "datasets/testdata/countries.geojson", "file of polygons for work country")
	fs.StringVar(&o.Dir, "dir", "", "directory in which data directories are made, and removed again; empty: that for temporary files")
	fs.StringVar(&o.Tile38, "tile38", "", "program tile38-server, to compare with; empty: none")
	fs.IntVar(&o.Clients, "clients", 8, "connections")
	fs.IntVar(&o.InFlight, "in-flight", 16, "searches under way per connection")
	fs.IntVar(&o.Writes, "writes", 256, "writes under way, of all connections together")
	fs.IntVar(&o.Pipeline, "pipeline", 16, "searches that a connection to Tile38 sends together")
	fs.IntVar(&o.Areas, "areas", 100_000, "watched areas, of work geofences")
	fs.IntVar(&o.Objects, "objects", 10_000, "objects that move over them")
	fs.DurationVar(&o.Duration, "duration", 5*time.Second, "measured time per run")
	fs.DurationVar(&o.Warmup, "warmup", time.Second, "time before it that is not measured")
	fs.IntVar(&o.Repeat, "repeat", 3, "rounds; the rows hold medians and spreads")
	fs.BoolVar(&f.quick, "quick", false, "a look whether all works, in seconds: 3000 features, one round of 50ms, unless other flags say otherwise")
	coreFlags(c, &f.server, &f.client)
	fs.StringVar(&f.json, "json", "", "write one JSON object per row to this file, - for standard output")
	fs.StringVar(&f.profile, "profile", "", "directory for a CPU profile of each process, for go tool pprof")
	cli.CompleteList(c, "work", features.Works...)
	cli.CompleteList(c, "way", features.AllWays...)
	c.AddCommand(newBenchFeaturesData(a))
	return c
}

func featuresDataFlags(c *cobra.Command, o *features.Config) {
	fs := c.Flags()
	fs.IntVar(&o.Features, "features", 2_000_000, "how many features are made")
	fs.StringVar(&o.Source, "source", defaultSource, "file that they are made of")
	fs.BoolVar(&o.Borders, "borders", false, "keep what is larger than a twentieth of the source: borders, parks, rivers")
	fs.Uint64Var(&o.Seed, "seed", 1, "of what is asked and written")
}

// config checks what depends on the command line; package features checks the rest.
func (f *benchFeaturesFlags) config(cmd *cobra.Command) (features.Config, error) {
	cfg := f.cfg
	cfg.Commit = cli.Commit()
	if f.quick {
		small := func(name string, field *int, value int) {
			if !cmd.Flags().Changed(name) {
				*field = value
			}
		}
		small("features", &cfg.Features, 3000)
		small("repeat", &cfg.Repeat, 1)
		small("clients", &cfg.Clients, 2)
		small("in-flight", &cfg.InFlight, 4)
		small("writes", &cfg.Writes, 16)
		small("areas", &cfg.Areas, 1000)
		small("objects", &cfg.Objects, 100)
		if !cmd.Flags().Changed("duration") {
			cfg.Duration = 50 * time.Millisecond
		}
		if !cmd.Flags().Changed("warmup") {
			cfg.Warmup = 20 * time.Millisecond
		}
	}
	if err := cli.WantMore(cmd.Flags(), "work", "features", "clients", "in-flight", "writes", "pipeline", "areas", "objects", "duration", "repeat"); err != nil {
		return cfg, err
	}
	for _, path := range []string{cfg.Source, cfg.Countries} {
		if _, err := os.Stat(path); err != nil {
			return cfg, fmt.Errorf("%w (--source and --countries name other files than those of the repository)", err)
		}
	}
	var err error
	if cfg.Tile38 != "" {
		if cfg.Tile38, err = exec.LookPath(cfg.Tile38); err != nil {
			return cfg, cli.BadUsage("--tile38: %w", err)
		}
	}
	cfg.ServerCPUs, cfg.ClientCPUs, err = splitCores(f.server, f.client)
	return cfg, err
}

// benchFeatures runs and prints, as bench does.
func (a *app) benchFeatures(ctx context.Context, cfg features.Config, file, profile string) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	return measureRows(a, file, profile, func(spawn child.Spawn, note func(string), done func(features.Row)) error {
		_, err := features.Run(ctx, cfg, spawn, note, done)
		return err
	}, features.WriteTable)
}

func newBenchFeaturesData(a *app) *cobra.Command {
	var cfg features.Config
	var out string
	c := &cobra.Command{
		Use:   "data",
		Short: "Write the features that are measured, one a line",
		Long: `Write the features that are measured, as GeoJSON, one a line. The same --source and
--features give the same file. Each feature has a property ` + features.Tenth + ` besides its own, from
0 to 9, of which each is that of one feature in ten.`,
		Example: "  catfish bench features data --features 100000 --out features.geojsonl",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) (err error) {
			d, err := features.Open(features.DataJob{Source: cfg.Source, Features: cfg.Features, Borders: cfg.Borders})
			if err != nil {
				return err
			}
			if out == "-" {
				_, err = d.Write(a.Out)
				return err
			}
			f, err := os.Create(out)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			n, err := d.Write(f)
			if err == nil {
				err = a.Printf("wrote %d features to %s\n", n, out)
			}
			return err
		},
	}
	featuresDataFlags(c, &cfg)
	c.Flags().StringVar(&out, "out", "-", "file, - for standard output")
	return c
}
