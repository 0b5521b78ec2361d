//go:build linux

// Command kvpeers measures Redis and memcached with a workload of YCSB, and
// Catfish in the same rounds, if it is given its program.
//
//	go run ./cmd/kvpeers                             mix A, a million keys, 3 rounds
//	go run ./cmd/kvpeers -mix C -batch 64            GetMany of 64 keys
//	go run ./cmd/kvpeers -catfish ../../bin/catfish -transport shm -mix B -in-flight 64 -peer-in-flight 16
//	go run ./cmd/kvpeers -catfish ../../bin/catfish -scheme tcp,fast,redis-unix -mix update=100 -sync always -dir /data
//
// The flags are those of `catfish bench kv`; -scheme takes peers with their
// transport, too, such as redis-unix.
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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/bench/peers/kvpeers"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) == 4 && os.Args[1] == childArg {
		err = work(ctx, child.Role(os.Args[2]), os.Args[3], os.Stdin, os.Stdout)
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kvpeers:", err)
		os.Exit(1)
	}
}

// childArg makes this program a child of its own: childArg ROLE CPUS.
const childArg = "child"

// work runs a child.
func work(ctx context.Context, role child.Role, cpus string, in io.Reader, out io.Writer) error {
	set, err := affinity.Parse(cpus)
	if err == nil {
		err = affinity.Reexec(set)
	}
	if err != nil {
		return err
	}
	switch role {
	case kv.ServerRole:
		return kv.ServerMain(ctx, in, out, kvpeers.StartServer)
	case kv.ClientRole:
		return kv.ClientMain(ctx, in, out, kvpeers.Dial)
	}
	return fmt.Errorf("%w: child %q", errUsage, role)
}

// spawner starts children: this program's own for peers, those of the program
// catfish for all other schemes.
func (o *options) spawner(self string) func(scheme string) child.Spawn {
	return func(scheme string) child.Spawn {
		return func(role child.Role, cpus affinity.Set) *exec.Cmd {
			if slices.Contains(kvpeers.Schemes(""), scheme) {
				return exec.Command(self, childArg, string(role), cpus.String())
			}
			return exec.Command(o.catfish, "bench", "child", string(role), "--cpus", cpus.String())
		}
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	return harness.Report(stdout, stderr, o.json, func(done func(kv.Row)) error {
		_, err := kv.Run(ctx, []kv.Config{o.Config}, o.spawner(self), o.known(), func(s string) { fmt.Fprintln(stderr, s) }, done)
		return err
	}, show)
}

// show prints the rows, and each row's throughput as a multiple of each peer's.
func show(w io.Writer, rows []kv.Row) error {
	if err := kv.WriteTable(w, rows); err != nil {
		return err
	}
	var found []string
	for _, r := range rows {
		if slices.Contains(kvpeers.Schemes(""), r.Scheme) {
			found = append(found, r.Scheme)
		}
	}
	if len(found) == 0 || len(rows) < 2 {
		return nil
	}
	fmt.Fprintln(w)
	return kv.WriteRatios(w, rows, found)
}

var errUsage = errors.New("bad usage")

// options are the command line's flags.
type options struct {
	kv.Config
	catfish, json string
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("kvpeers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "Measures Redis, memcached and Catfish with a workload of YCSB.")
		fs.PrintDefaults()
	}
	mix := fs.String("mix", "A", "A, B, C, D or F, or percents: read=90,update=10")
	dist := fs.String("dist", "", "uniform, zipf or latest; empty: latest with mix D, zipf with others")
	keys := fs.Uint64("keys", 1_000_000, "keys that are loaded before")
	valueBytes := fs.Int("value-bytes", 32, "bytes of a value")
	seed := fs.Uint64("seed", 1, "of keys and operations")
	scheme := fs.String("scheme", "", "schemes to run, in this order; empty: with -catfish, those of catfish bench kv, then "+
		strings.Join(kvpeers.Schemes(""), ","))
	fs.StringVar(&o.catfish, "catfish", "", "program catfish of this version, for its schemes; empty: peers only")
	fs.IntVar(&o.Clients, "clients", 1, "connections")
	fs.IntVar(&o.InFlight, "in-flight", 16, "operations under way per connection")
	peer := fs.Int("peer-in-flight", 0, "the same of peers, 0: as many")
	fs.IntVar(&o.Batch, "batch", 1, "keys of a GetMany; more than 1 sets in-flight to 1")
	fs.IntVar(&o.Procs, "client-procs", 1, "processes that the connections are dealt to")
	fs.DurationVar(&o.Duration, "duration", 5*time.Second, "measured time per run")
	fs.DurationVar(&o.Warmup, "warmup", time.Second, "time before it that is not measured")
	fs.IntVar(&o.Repeat, "repeat", 3, "runs per scheme; the rows hold medians and spreads")
	fs.StringVar(&o.Sync, "sync", "", "keep records on disk: a write is durable always (before it is answered), or off (when the system has written it); not memcached")
	fs.StringVar(&o.Dir, "dir", "", "with -sync: where directories are made and removed; empty: the directory for temporary files")
	fs.StringVar(&o.Transport, "transport", "auto", "of Catfish: auto, shm, soft or ofi")
	server := fs.String("server-cpus", "", "cores of the server; empty: the first if there are two")
	client := fs.String("client-cpus", "", "cores of the clients; empty: all but the first")
	fs.StringVar(&o.Commit, "commit", "", "what to say in column commit")
	fs.StringVar(&o.json, "json", "", "write one JSON object per scheme to this file, - for standard output")
	err := fs.Parse(args)
	if err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%w: what is %q?", errUsage, fs.Arg(0))
	}
	if o.Workload, err = kv.Workload(*mix, *dist); err != nil {
		return nil, err
	}
	o.Workload.Keys, o.Workload.ValueBytes, o.Workload.Seed = *keys, *valueBytes, *seed
	o.schemes(*scheme, *peer)
	if o.ServerCPUs, err = cores("server-cpus", *server); err == nil {
		o.ClientCPUs, err = cores("client-cpus", *client)
	}
	if err == nil {
		o.ServerCPUs, o.ClientCPUs, err = affinity.Split(o.ServerCPUs, o.ClientCPUs)
	}
	if err != nil {
		return nil, err
	}
	return o, o.Validate(o.known())
}

// schemes parses a list, and returns the in-flight operations of each scheme.
func (o *options) schemes(list string, peer int) {
	switch {
	case list != "":
		o.Schemes = strings.Split(list, ",")
	case o.catfish != "":
		o.Schemes = slices.Concat(kv.DefaultSchemes, kvpeers.Schemes(o.Sync))
	default:
		o.Schemes = kvpeers.Schemes(o.Sync)
	}
	if o.Batch > 1 {
		o.InFlight, peer = 1, 0
	}
	if peer != 0 {
		o.InFlightOf = map[string]int{}
		for _, s := range kvpeers.Schemes(o.Sync) {
			o.InFlightOf[s] = peer
		}
	}
}

func cores(name, list string) (affinity.Set, error) {
	set, err := affinity.Parse(list)
	if err != nil {
		return nil, fmt.Errorf("-%s: %w", name, err)
	}
	return set, nil
}

// known returns the schemes that can run: Catfish's need its program.
func (o *options) known() []string {
	if o.catfish == "" {
		return kvpeers.Schemes(o.Sync)
	}
	return append(kvpeers.Schemes(o.Sync), catfish.Schemes()[1:]...)
}
