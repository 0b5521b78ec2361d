//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) == 4 && os.Args[1] == handlerArg {
		err = serveHandler(ctx, os.Args[2], os.Args[3])
	} else {
		err = command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "httppeers:", err)
		os.Exit(1)
	}
}

var (
	errUsage   = errors.New("bad usage")
	errMissing = errors.New("not installed")
)

// config has the flags.
type config struct {
	works, peers         []string
	features             int
	tiles                string
	seed                 uint64
	rounds, connections  int
	duration, warmup     time.Duration
	catfish, tile38      string
	postgres             string
	serverCPUs, loadCPUs string
	commit, json         string
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := new(config)
	fs := flag.NewFlagSet("httppeers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "Measures items and tiles over HTTP: Catfish beside PostGIS and Tile38. Needs wrk and PostGIS.")
		fs.PrintDefaults()
	}
	works := fs.String("work", strings.Join(allWorks, ","), "works to do")
	peers := fs.String("peer", "", "who is measured, of catfish, postgis, tile38; empty: all, tile38 with --tile38")
	fs.IntVar(&c.features, "features", 1_000_000, "points that are made for items")
	fs.StringVar(&c.tiles, "tiles", "../../datasets/testdata/andorra.osm.pbf", "file of places for tiles")
	fs.Uint64Var(&c.seed, "seed", 1, "of points, boxes and tiles")
	fs.IntVar(&c.rounds, "rounds", 5, "rounds; the rows hold medians and spreads")
	fs.IntVar(&c.connections, "connections", 32, "connections that wrk has, with one request each")
	fs.DurationVar(&c.duration, "duration", 5*time.Second, "measured time of each peer in each round, in whole seconds")
	fs.DurationVar(&c.warmup, "warmup", 2*time.Second, "load before it that is not measured, in whole seconds")
	fs.StringVar(&c.catfish, "catfish", "../../bin/catfish", "program catfish")
	fs.StringVar(&c.tile38, "tile38", "", "program tile38-server; empty: without Tile38")
	fs.StringVar(&c.postgres, "postgres-bin", "", "directory of PostgreSQL's programs; empty: Debian's newest")
	server := fs.String("server-cpus", "", "cores of the servers with their handlers; empty: the first if there are two")
	load := fs.String("load-cpus", "", "cores of wrk; empty: all but the first")
	fs.StringVar(&c.commit, "commit", "", "what to say in column commit")
	fs.StringVar(&c.json, "json", "", "write one JSON object per row to this file, - for standard output")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%w: what is %q?", errUsage, fs.Arg(0))
	}
	c.works, c.peers = strings.Split(*works, ","), []string{"catfish", "postgis"}
	if c.tile38 != "" {
		c.peers = append(c.peers, "tile38")
	}
	if *peers != "" {
		c.peers = strings.Split(*peers, ",")
	}
	if err := c.cores(*server, *load); err != nil {
		return nil, err
	}
	return c, c.validate()
}

// cores divides the machine's cores.
func (c *config) cores(server, load string) error {
	s, err := affinity.Parse(server)
	if err != nil {
		return fmt.Errorf("%w: --server-cpus: %w", errUsage, err)
	}
	l, err := affinity.Parse(load)
	if err != nil {
		return fmt.Errorf("%w: --load-cpus: %w", errUsage, err)
	}
	if s, l, err = affinity.Split(s, l); err != nil {
		return err
	}
	c.serverCPUs, c.loadCPUs = s.String(), l.String()
	return nil
}

// Limits, so that mistakes are found before the data is made.
const (
	maxFeatures    = 50_000_000
	maxConnections = 1000
	minFeatures    = 10_000 // with fewer a box of 100 is a country
)

func (c *config) validate() error {
	for _, w := range c.works {
		if !slices.Contains(allWorks, w) {
			return fmt.Errorf("%w: --work %q, want some of %s", errUsage, w, strings.Join(allWorks, ","))
		}
	}
	for _, p := range c.peers {
		if starters[p] == nil {
			return fmt.Errorf("%w: --peer %q, want some of catfish,postgis,tile38", errUsage, p)
		}
		if p == "tile38" && c.tile38 == "" {
			return fmt.Errorf("%w: --peer tile38 wants --tile38 PROGRAM", errUsage)
		}
	}
	for _, n := range []struct {
		flag               string
		value, least, most int
	}{
		{"features", c.features, minFeatures, maxFeatures}, {"connections", c.connections, 1, maxConnections},
		{"rounds", c.rounds, 1, 1000},
	} {
		if n.value < n.least || n.value > n.most {
			return fmt.Errorf("%w: --%s is %d, want %d to %d", errUsage, n.flag, n.value, n.least, n.most)
		}
	}
	if c.duration < time.Second || c.duration%time.Second != 0 {
		return fmt.Errorf("%w: --duration is %v, want whole seconds, which is what wrk takes", errUsage, c.duration)
	}
	if c.warmup < 0 || c.warmup%time.Second != 0 {
		return fmt.Errorf("%w: --warmup is %v, want whole seconds, or 0", errUsage, c.warmup)
	}
	if c.serverCPUs == "" && runtime.NumCPU() > 1 {
		return fmt.Errorf("%w: no cores for the servers", errUsage)
	}
	return nil
}

// command measures and prints the table.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	for _, program := range []string{"wrk", "taskset"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: %s (apt-get install wrk util-linux)", errMissing, program)
		}
	}
	// Processes have directories of their own, so paths must be absolute.
	for _, program := range []*string{&c.catfish, &c.tile38} {
		if *program == "" {
			continue
		}
		path, err := exec.LookPath(*program)
		if err == nil {
			*program, err = filepath.Abs(path)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errMissing, err)
		}
	}
	dir, err := os.MkdirTemp("", "httppeers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// PostgreSQL's user passes through it to its own directory.
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	return harness.Report(stdout, stderr, c.json, func(done func(row)) error {
		return run(ctx, c, dir, func(s string) { fmt.Fprintln(stderr, s) }, done)
	}, writeTable)
}
