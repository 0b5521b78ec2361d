package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/rstar"
)

type serveFlags struct {
	sourceFlags
	config                  string
	load                    []string
	listen, transport, cpus string
	workerCPUs              string
	collections             []string
	socketMode              string
	keys                    string
	engineLoad              bool
	pprof                   string
	keep                    keepFlags
	coordinator             coordinatorAccess
	opts                    daemon.Options
}

func newServe(a *App) *cobra.Command {
	c, _ := serveCommand(a)
	return c
}

// serveCommand is the command with its flags.
func serveCommand(a *App) (*cobra.Command, *serveFlags) {
	f := new(serveFlags)
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve an index",
		Long: `Serve an index until Ctrl-C or SIGTERM. Once it serves, it prints one line:

  ready addr=HOST:PORT transports=LIST objects=N collections=LIST

objects are those of the collection that --load fills; without --load the
boxes and features of all. With --data-dir features
are kept: they are there again after a restart, before the ready line; with
--keep the boxes of --collection, too, and with --keep-records the records of
--records. Then --load fills a collection that is empty, and leaves alone one
that has objects from before. Other boxes and records are in memory alone, but
for records of a member of a group (--coordinators), which keeps them all.

While it loads, clients can connect; the collection that is loaded is "not
ready" to them, which is an error that is safe to repeat.

SIGHUP does not end it, as the end of a terminal would; it reads keys and
certificates again, or logs that there is nothing to reload.`,
		Example: `  catfish serve --load california
  catfish serve --listen 0.0.0.0:7119 --load roads.csv --load rivers.geojson
  catfish serve --config catfish.yaml
  catfish serve --data-dir data --features cafes
  catfish serve --data-dir data --collection cafes --load cafes.geojson
  catfish serve --collection countries --load countries.geojson --http :8080
  catfish serve --data-dir data --keep --collection roads --load roads.csv
  catfish serve --data-dir data --records sessions --keep-records
  catfish serve --listen 127.0.0.1:0 --transport soft --cpus 0-1 --grpc :9090
  catfish serve --load roads.csv --worker-cpus 2-7 --polling`,
		Args: Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, more []string) error {
			if f.config != "" {
				if _, err := readConfig(cmd.Flags(), f.config); err != nil {
					return err
				}
			}
			if len(more) > 0 && len(f.load) == 0 {
				return BadUsage("unexpected argument %q, files follow --load", more[0])
			}
			f.load = append(f.load, more...)
			return a.serve(cmd.Context(), f)
		},
	}
	f.sourceFlags.register(c)
	fs, o := c.Flags(), &f.opts.Server
	fs.StringVar(&f.config, "config", "", "file with values of these flags (catfish config); those that are typed count more")
	fs.StringVarP(&f.listen, "listen", "l", defaultAddr, "host:port to listen on, port 0 for any, or host for port "+defaultPort)
	fs.StringArrayVar(&f.load, "load", nil,
		"file or generator to load first; repeat it, or list more files after it")
	fs.StringSliceVarP(&f.collections, "collection", "c", []string{catfish.DefaultCollection},
		"collections of boxes to serve; the first one gets what is loaded: see --kind")
	fs.StringSliceVar(&o.Records, "records", nil, "collections of records to serve (catfish kv)")
	fs.IntVar(&o.RecordShards, "record-shards", 0, ShardsUsage("with --records: "))
	fs.Var(byteSize{&o.RecordMaxBytes}, "record-max-bytes", MaxBytesUsage("with --records: each is ")+", or as it is\n"+
		"in --data-dir; one that is kept there and exceeds it shrinks")
	fs.StringVar(&f.transport, "transport", "auto",
		"auto (all that this machine has), or a list of shm, soft, ofi, tcp")
	fs.IntVar(&o.Workers, "workers", 0, "worker threads per transport, 0: one per core")
	fs.StringVar(&f.cpus, "cpus", "", "cores to run on, such as 0 or 0-2,5; empty: any")
	fs.StringVar(&f.workerCPUs, "worker-cpus", "", "cores of --cpus, such as 1-3: a worker of each transport for each, with a thread of its own that\n"+
		"only this core runs; instead of --workers; for workers that are busy or poll; empty: workers run anywhere")
	fs.BoolVar(&o.Polling, "polling", false,
		"workers poll and never sleep (scheme fast-polling-cq); costs a core each")
	fs.BoolVar(&o.WorkerPerConnection, "worker-per-connection", false,
		fmt.Sprintf("a worker for each connection, as in the paper, %d at most, with a thread of its own\n"+
			"while it polls; sets GOMAXPROCS, unless\n"+
			"the environment does, to %d more than it is: set it to more than the clients that poll",
			catfish.MaxConnectionWorkers, connectionProcs))
	fs.BoolVar(&o.HeartbeatInRing, "heartbeat-in-ring", false,
		"heartbeats are messages in the rings of answers, to all at once, as in the paper, and not Writes beside them, in groups")
	fs.Var(byteSize{&o.SlabBytes}, "slab-bytes", "most memory of each collection, 0: --memory-limit; it costs nothing until it is used")
	fs.IntVar(&o.NodeBytes, "node-bytes", 0, "size of a tree node in bytes, 0: default")
	fs.Var(byteSize{&o.MemoryLimit}, "memory-limit",
		"what the server is to hold in memory, such as 2GiB; clients' shares follow from it, and above it\n"+
			"writes, connections and large answers are refused; 0: three quarters of what the host or control group has")
	fs.IntVar(&o.MaxResults, "max-results", 0,
		fmt.Sprintf("largest answer in objects, 0: %d; a search that finds more fails", catfish.DefaultMaxResults))
	StrategyFlag(c, &o.Strategy)
	fs.StringVar(&o.SocketPath, "socket", "", "unix socket of transport shm; empty: PORT.sock in directory catfish-UID,\n"+
		"in $XDG_RUNTIME_DIR, /run/user/UID, /run or the temp directory: the first\n"+
		"that this user can write to, where no other user can replace it, and that\n"+
		"those can enter whom --socket-mode admits")
	fs.StringVar(&f.socketMode, "socket-mode", "0600", "file mode of that socket: who may connect. 0600: this user; 0660: its group;\n"+
		"0666: all. Directory catfish-UID is opened to them, one of --socket is not")
	fs.StringVar(&f.opts.GRPC.Addr, "grpc", "", "host:port of the gRPC service, empty: none")
	fs.DurationVar(&o.HeartbeatInterval, "heartbeat", 0,
		"interval of heartbeats, 0: "+catfish.DefaultHeartbeatInterval.String())
	fs.IntVar(&o.ClientCollections, "client-collections", catfish.DefaultClientCollections,
		"collections that the clients of one host, or with shm of one user, may create; -1: none")
	fs.StringVar(&f.opts.Metrics.Addr, "metrics", "",
		"host:port of Prometheus metrics (/metrics) and probes (/healthz, /readyz), empty: none; who reaches it needs no key")
	registerPprof(c, &f.pprof)
	f.registerHTTP(c)
	f.registerGuards(c)
	f.registerKeep(c)
	f.registerGroup(c)
	recordFlags(c, &o.Record)
	CompleteData(c, "load")
	FabricFlags(c, &o.Fabric)
	CompleteList(c, "transport", "auto", "shm", "soft", "ofi", "tcp")
	return c, f
}

// connectionProcs is how much GOMAXPROCS is raised for workers that may all poll. A
// larger value would cost time at every start of an idle thread, and in Go's collector,
// which takes a quarter of it.
const connectionProcs = 256

// serveGrace is how long calls and requests in flight may take after Ctrl-C.
const serveGrace = 2 * time.Second

func (a *App) serve(ctx context.Context, f *serveFlags) error {
	a.stamp = true
	opts, err := f.options(a)
	if err != nil {
		return err
	}
	cpus, err := affinity.Parse(f.cpus)
	if err != nil {
		return fmt.Errorf("--cpus: %w", err)
	}
	load, err := newLoading(a, f, &opts)
	if err != nil {
		return err
	}
	hup := catchHangup()
	defer signal.Stop(hup)
	// The process has opened nothing that a new image would lose.
	if err := affinity.Reexec(cpus); err != nil {
		return fmt.Errorf("--cpus: %w", err)
	}
	if opts.Server.WorkerPerConnection && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + connectionProcs)
	}
	if err := f.addEngine(&opts); err != nil {
		return err
	}
	opts.Load, opts.Fill = load.load, load.fill
	d, err := daemon.New(opts)
	if errors.Is(err, rstar.ErrBadOptions) {
		return BadUsage("--slab-bytes %d, --node-bytes %d: %w", opts.Server.SlabBytes, opts.Server.NodeBytes, err)
	}
	if err != nil {
		return asFlags(err)
	}
	defer onHangup(hup, opts.Server.Logger, opts.Server.Keys == nil && opts.TLS.Cert == "", d.Reload)()
	end := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), serveGrace)
		defer cancel()
		return d.Close(ctx)
	}
	defer func() { _ = end() }() // Its error, of a recording, is returned below.
	// Trees and rings are not in Go's heap, and get the rest of the limit. So Go's
	// collector works harder before the heap takes their part, too.
	debug.SetMemoryLimit(d.Server().MemoryLimit() / 2)
	interrupted := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pprofAt, stopPprof, err := servePprof(ctx, f.pprof, opts.Server.Logger, cancel)
	if err != nil {
		return err
	}
	defer stopPprof()
	if err := d.Start(ctx); err != nil {
		return err
	}
	if err := a.Printf("%s\n", readyLine(d, load.objects(), pprofAt)); err != nil {
		return err
	}
	err = d.Wait(ctx)
	if err == nil && interrupted.Err() == nil {
		err = context.Cause(ctx) // The service of profiles failed.
	}
	err = errors.Join(err, end())
	if r := d.Server().Recording(); r != nil {
		fmt.Fprintf(a.Err, "%s recorded %s\n", logTime(time.Now()), recordText(*r))
	}
	return a.again(interrupted, err)
}

// readyLine says what is served, and where, for scripts.
func readyLine(d *daemon.Daemon, objects int, pprofAt string) string {
	srv, at := d.Server(), d.Addrs()
	line := fmt.Sprintf("ready addr=%s transports=%s objects=%d collections=%s",
		at.Server, strings.Join(srv.Transports(), ","), objects, strings.Join(srv.Collections(), ","))
	for _, s := range [][2]string{{"grpc", at.GRPC}, {"http", at.HTTP}, {"metrics", at.Metrics}, {"pprof", pprofAt}} {
		if s[1] != "" {
			line += " " + s[0] + "=" + s[1]
		}
	}
	for _, t := range srv.Stats().Transports {
		if t.Transport == catfish.TransportOFI {
			line += fmt.Sprintf(" fabric=%q", t.Detail)
		}
	}
	return line
}
