//go:build linux

// Command kvpeers measures Redis and memcached with a workload of YCSB.
//
//	go run ./cmd/kvpeers                             mix A, a million keys, 3 rounds
//	go run ./cmd/kvpeers -mix C -batch 64            GetMany of 64 keys
//	go run ./cmd/kvpeers -mix B -json - -in-flight 16 -transport unix
//
// The flags are those of `catfish bench kv`, -scheme being the peers.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/kvpeers"
	"github.com/catfish-index/catfish/datasets/ycsb"
	"github.com/catfish-index/catfish/internal/affinity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kvpeers:", err)
		os.Exit(1)
	}
}

// options are what people type.
type options struct {
	kvpeers.Config
	json string
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := new(options)
	w := &o.Workload
	fs := flag.NewFlagSet("kvpeers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "Measures Redis and memcached with a workload of YCSB.")
		fs.PrintDefaults()
	}
	mix := fs.String("mix", "A", "A, B, C, D or F, or shares such as read=90,update=10")
	dist := fs.String("dist", "", "uniform, zipf or latest; empty: latest for D, zipf for others")
	scheme := fs.String("scheme", strings.Join(kvpeers.Names(), ","), "peers to measure")
	server := fs.String("server-cpus", "", "cores of each server, such as 0; empty: all")
	client := fs.String("client-cpus", "", "cores of the clients; empty: all")
	fs.Float64Var(&w.Theta, "theta", ycsb.Theta, "skew of zipf and latest")
	fs.Uint64Var(&w.Keys, "keys", 1_000_000, "keys that are loaded")
	fs.IntVar(&w.ValueBytes, "value-bytes", 32, "bytes of a value")
	fs.Uint64Var(&w.Seed, "seed", 1, "of keys and operations")
	fs.IntVar(&o.Clients, "clients", 1, "connections")
	fs.IntVar(&o.InFlight, "in-flight", 16, "operations of each client")
	fs.IntVar(&o.Batch, "batch", 1, "keys of a GetMany; more than 1 wants mix C, and sets in-flight to 1")
	fs.StringVar(&o.Transport, "transport", kvpeers.Unix, "unix or tcp (loopback)")
	fs.DurationVar(&o.Duration, "duration", 3*time.Second, "measured time of a run")
	fs.DurationVar(&o.Warmup, "warmup", 500*time.Millisecond, "time before it that is not measured")
	fs.IntVar(&o.Repeat, "repeat", 3, "runs of each peer, of which figures are medians")
	fs.StringVar(&o.Commit, "commit", "", "what to say in column commit")
	fs.StringVar(&o.json, "json", "", "write one JSON object per peer to this file, - for standard output")
	err := fs.Parse(args)
	if err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%w: what is %q?", kvpeers.ErrConfig, fs.Arg(0))
	}
	if o.Batch > 1 {
		o.InFlight = 1
	}
	o.Peers = strings.Split(*scheme, ",")
	var errs [4]error
	w.Mix, errs[0] = ycsb.ParseMix(*mix)
	switch {
	case *dist != "":
		w.Dist, errs[1] = ycsb.ParseDist(*dist)
	case w.Mix == ycsb.MixD:
		w.Dist = ycsb.Latest
	default:
		w.Dist = ycsb.Zipfian
	}
	o.ServerCPUs, errs[2] = cpus(*server)
	o.ClientCPUs, errs[3] = cpus(*client)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return o, o.Validate()
}

func cpus(list string) (affinity.Set, error) {
	if list == "" {
		return nil, nil
	}
	return affinity.Parse(list)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	// From here on this process is on its cores, which its servers leave again.
	if err := affinity.Reexec(o.ClientCPUs); err != nil {
		return err
	}
	debug.SetGCPercent(400) // little is live, and Redis's client allocates
	rows, err := kvpeers.Run(ctx, o.Config, func(s string) { fmt.Fprintln(stderr, s) })
	if err != nil {
		return err
	}
	if o.json == "" {
		table(stdout, rows)
		return nil
	}
	out := stdout
	if o.json != "-" {
		f, err := os.Create(o.json)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	b := bufio.NewWriter(out)
	for _, r := range rows {
		if err := r.WriteJSON(b); err != nil {
			return err
		}
	}
	return b.Flush()
}

func table(w io.Writer, rows []kvpeers.Row) {
	fmt.Fprintf(w, "%-11s %-8s %-5s %10s %9s %9s %9s %6s %6s\n",
		"peer", "version", "over", "ops/s", "p50 us", "p99 us", "p99.9 us", "server", "client")
	for _, r := range rows {
		fmt.Fprintf(w, "%-11s %-8s %-5s %10.0f %9.1f %9.1f %9.1f %5.0f%% %5.0f%%\n",
			r.Scheme, r.Version, r.Transport, r.OpsPerS, r.P50Us, r.P99Us, r.P999Us, 100*r.CPUUtil, 100*r.ClientUtil)
	}
}
