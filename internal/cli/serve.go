package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/rstar"
)

type serveFlags struct {
	sourceFlags
	config                        string
	load                          []string
	listen, grpc, transport, cpus string
	http                          httpFlags
	collections                   []string
	socketMode                    string
	guard                         guardFlags
	metrics, pprof                string
	keep                          keepFlags
	opts                          catfish.ServerOptions
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
--keep the boxes of --collection, too. Then --load fills a collection that is
empty, and leaves alone one that has objects from before. Records, and boxes
without --keep, are in memory alone.

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
  catfish serve --listen 127.0.0.1:0 --transport soft --cpus 0-1 --grpc :9090`,
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
	fs := c.Flags()
	fs.StringVar(&f.config, "config", "", "file with values of these flags (catfish config); those that are typed count more")
	fs.StringVarP(&f.listen, "listen", "l", defaultAddr, "host:port to listen on, port 0 for any, or host for port "+defaultPort)
	fs.StringArrayVar(&f.load, "load", nil,
		"file or generator to load first; repeat it, or list more files after it")
	fs.StringSliceVarP(&f.collections, "collection", "c", []string{catfish.DefaultCollection},
		"collections of boxes to serve; the first one gets what is loaded: see --kind")
	fs.StringSliceVar(&f.opts.Records, "records", nil, "collections of records to serve (catfish kv)")
	fs.IntVar(&f.opts.RecordShards, "record-shards", 0, ShardsUsage("with --records: "))
	fs.StringVar(&f.transport, "transport", "auto",
		"auto (all that this machine has), or a list of shm, soft, ofi, tcp")
	fs.IntVar(&f.opts.Workers, "workers", 0, "worker threads per transport, 0: one per core")
	fs.StringVar(&f.cpus, "cpus", "", "cores to run on, such as 0 or 0-2,5; empty: any")
	fs.BoolVar(&f.opts.Polling, "polling", false,
		"workers poll and never sleep (scheme fast-polling-cq); costs a core each")
	fs.BoolVar(&f.opts.WorkerPerConnection, "worker-per-connection", false,
		fmt.Sprintf("a worker for each connection, as in the paper, %d at most, with a thread of its own\n"+
			"while it polls; sets GOMAXPROCS, unless\n"+
			"the environment does, to %d more than it is: set it to more than the clients that poll",
			catfish.MaxConnectionWorkers, connectionProcs))
	fs.Var(byteSize{&f.opts.SlabBytes}, "slab-bytes", "most memory of each collection, 0: --memory-limit; it costs nothing until it is used")
	fs.IntVar(&f.opts.NodeBytes, "node-bytes", 0, "size of a tree node in bytes, 0: default")
	fs.Var(byteSize{&f.opts.MemoryLimit}, "memory-limit",
		"what the server is to hold in memory, such as 2GiB; clients' shares follow from it, and above it\n"+
			"writes, connections and large answers are refused; 0: three quarters of what the host or control group has")
	fs.IntVar(&f.opts.MaxResults, "max-results", 0,
		fmt.Sprintf("largest answer in objects, 0: %d; a search that finds more fails", catfish.DefaultMaxResults))
	StrategyFlag(c, &f.opts.Strategy)
	fs.StringVar(&f.opts.SocketPath, "socket", "", "unix socket of transport shm; empty: PORT.sock in directory catfish-UID,\n"+
		"in $XDG_RUNTIME_DIR, /run/user/UID, /run or the temp directory: the first\n"+
		"that this user can write to, where no other user can replace it, and that\n"+
		"those can enter whom --socket-mode admits")
	fs.StringVar(&f.socketMode, "socket-mode", "0600", "file mode of that socket: who may connect. 0600: this user; 0660: its group;\n"+
		"0666: all. Directory catfish-UID is opened to them, one of --socket is not")
	fs.StringVar(&f.grpc, "grpc", "", "host:port of the gRPC service, empty: none")
	fs.DurationVar(&f.opts.HeartbeatInterval, "heartbeat", 0,
		"interval of heartbeats, 0: "+catfish.DefaultHeartbeatInterval.String())
	fs.IntVar(&f.opts.ClientCollections, "client-collections", catfish.DefaultClientCollections,
		"collections that the clients of one host, or with shm of one user, may create; -1: none")
	fs.StringVar(&f.metrics, "metrics", "",
		"host:port of Prometheus metrics (/metrics) and probes (/healthz, /readyz), empty: none; who reaches it needs no key")
	registerPprof(c, &f.pprof)
	f.http.register(c)
	f.guard.register(c)
	f.registerKeep(c)
	recordFlags(c, &f.opts.Record)
	CompleteData(c, "load")
	FabricFlags(c, &f.opts.Fabric)
	CompleteList(c, "transport", "auto", "shm", "soft", "ofi", "tcp")
	return c, f
}

// connectionProcs is how much GOMAXPROCS is raised for workers that may all poll. A
// larger value would cost time at every start of an idle thread, and in Go's collector,
// which takes a quarter of it.
const connectionProcs = 256

// options checks the flags.
func (f *serveFlags) options(a *App) (catfish.ServerOptions, error) {
	o := f.opts
	o.Logger = a.logger()
	o.Meter = f.metrics != ""
	var err error
	if o.Listen, err = Endpoint("listen", f.listen, 0); err != nil {
		return o, err
	}
	if f.grpc != "" {
		if err := CheckAddr("grpc", f.grpc, 0); err != nil {
			return o, err
		}
	}
	if f.metrics != "" {
		if err := CheckAddr("metrics", f.metrics, 0); err != nil {
			return o, err
		}
	}
	if f.pprof, err = pprofAddr(f.pprof); err != nil {
		return o, err
	}
	if err := f.http.check(); err != nil {
		return o, err
	}
	if err := f.guard.check(f.grpc, f.http.addr); err != nil {
		return o, err
	}
	if f.transport != "auto" && f.transport != "" {
		o.Transports = strings.Split(f.transport, ",")
		for i, t := range o.Transports {
			if slices.Contains(o.Transports[:i], t) {
				return o, BadUsage("--transport lists %s twice", t)
			}
			switch t {
			case catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI, catfish.TransportTCP:
			default:
				return o, BadUsage("--transport %q: %q is unknown, want auto or a list of shm, soft, ofi, tcp",
					f.transport, t)
			}
		}
	}
	mode, err := strconv.ParseUint(f.socketMode, 8, 32)
	if err != nil || mode > 0o777 || mode == 0 {
		return o, BadUsage("--socket-mode %q, want an octal file mode from 0001 to 0777", f.socketMode)
	}
	o.SocketMode = fs.FileMode(mode)
	if f.opts.Workers < 0 || f.opts.SlabBytes < 0 || f.opts.NodeBytes < 0 {
		return o, BadUsage("--workers %d, --slab-bytes %d and --node-bytes %d want 0 (default) or more",
			f.opts.Workers, f.opts.SlabBytes, f.opts.NodeBytes)
	}
	if f.opts.WorkerPerConnection && f.opts.Workers != 0 {
		return o, BadUsage("--workers %d with --worker-per-connection, want one of them", f.opts.Workers)
	}
	if len(f.collections) == 0 {
		f.collections = []string{catfish.DefaultCollection}
	}
	if err := checkRecord(o.Record); err != nil {
		return o, err
	}
	if err := f.noUse(o.Transports); err != nil {
		return o, err
	}
	if err := f.keepOptions(&o); err != nil {
		return o, err
	}
	for i, name := range o.Records {
		if slices.Contains(o.Records[:i], name) || slices.Contains(f.collections, name) {
			return o, BadUsage("--records lists %s, which is a collection already", name)
		}
	}
	for i, name := range f.collections {
		if slices.Contains(f.collections[:i], name) {
			return o, BadUsage("--collection lists %s twice", name)
		}
		if name != catfish.DefaultCollection {
			o.Collections = append(o.Collections, name)
		}
	}
	if f.opts.ClientCollections == 0 || f.opts.ClientCollections < -1 {
		return o, BadUsage("--client-collections is %d, want 1 or more, or -1 for none", f.opts.ClientCollections)
	}
	switch {
	case len(f.load) > 0 && f.keep.into != "":
		o.Loading = []string{f.keep.into}
	case len(f.load) > 0:
		o.Loading = f.collections[:1]
	}
	return o, nil
}

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
	var sources []*datasets.Source
	if f.keep.into == "" {
		if sources, err = f.openAll(f.load); err != nil {
			return f.notBoxes(err, f.load)
		}
	}
	guards, err := f.guard.open(opts.Logger)
	if err != nil {
		return err
	}
	opts.Keys = guards.keys
	defer onHangup(opts.Logger, guards.reload)()
	// The process has opened nothing that a new image would lose.
	if err := affinity.Reexec(cpus); err != nil {
		return fmt.Errorf("--cpus: %w", err)
	}
	if opts.WorkerPerConnection && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + connectionProcs)
	}
	srv, err := catfish.NewServer(opts)
	if errors.Is(err, rstar.ErrBadOptions) {
		return BadUsage("--slab-bytes %d, --node-bytes %d: %w",
			opts.SlabBytes, opts.NodeBytes, err)
	}
	if err != nil {
		return err
	}
	defer srv.Close()
	// Trees and rings are not in Go's heap, and get the rest of the limit. So Go's
	// collector works harder before the heap takes their part, too.
	debug.SetMemoryLimit(srv.MemoryLimit() / 2)
	// The ready line describes this collection, and --load fills it.
	first := catfish.DefaultCollection
	if len(f.collections) > 0 {
		first = f.collections[0]
	}
	var tree *rstar.Tree
	var objects func() int
	keptBoxes := slices.Contains(opts.Keep, first)
	if f.keep.kind != catfish.KindBoxes {
		a.tellLeftOut(&f.sourceFlags, first, f.load[:len(sources)])
	}
	if !keptBoxes {
		if tree, err = srv.Collection(first); err != nil {
			return err
		}
		objects = tree.Len
		if opts.DataDir != "" && len(sources) > 0 {
			fmt.Fprintf(a.Err, "%s collection %s is in memory alone: --keep keeps it\n", logTime(time.Now()), first)
		}
	}
	interrupted := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx) }()
	// end ends a server that never became ready.
	end := func(err error) error {
		cancel(err)
		return errors.Join(err, <-served)
	}
	seen, err := newObserved(ctx, srv, f.metrics, opts.Logger, cancel)
	if err != nil {
		return end(err)
	}
	defer seen.close()
	pprofAt, stopPprof, err := servePprof(ctx, f.pprof, opts.Logger, cancel)
	if err != nil {
		return end(err)
	}
	defer stopPprof()
	if len(sources) > 0 && !keptBoxes {
		if err := a.fill(ctx, tree, sources); err != nil {
			return end(f.notBoxes(err, f.load))
		}
		if err := srv.SetReady(first); err != nil {
			return end(err)
		}
	}
	if guards.tls != nil {
		go guards.tls.Watch(ctx)
	}
	part := callsPartOf(f.grpc, f.http.addr)
	// gRPC is served while features are loaded, and reports that it is not serving.
	loaded := make(chan struct{})
	grpcAddr, stopGRPC, err := serveGRPC(ctx, f.grpc, part, srv, guards, seen, loaded, cancel)
	if err != nil {
		return end(err)
	}
	defer stopGRPC()
	httpAddr, stopHTTP, err := serveHTTP(f.http, part, srv, guards, seen, loaded, cancel)
	if err != nil {
		return end(err)
	}
	defer stopHTTP()
	if err := a.awaitStore(ctx, srv, opts.DataDir); err != nil {
		return end(err)
	}
	if keptBoxes {
		if objects, err = a.loadKeptBoxes(ctx, srv, first, sources); err != nil {
			return end(err)
		}
	}
	if f.keep.into != "" {
		if len(f.load) > 0 {
			if err := a.loadKept(ctx, srv, f); err != nil {
				return end(err)
			}
		}
		c, err := srv.Features(f.keep.into)
		if err != nil {
			return end(err)
		}
		objects = c.Len
	}
	if len(f.load) == 0 {
		objects = func() int { return allObjects(srv.Stats()) }
	}
	close(loaded)
	line := fmt.Sprintf("ready addr=%s transports=%s objects=%d collections=%s",
		srv.Addr(), strings.Join(srv.Transports(), ","), objects(),
		strings.Join(srv.Collections(), ","))
	if grpcAddr != "" {
		line += " grpc=" + grpcAddr
	}
	if httpAddr != "" {
		line += " http=" + httpAddr
	}
	if seen.addr != "" {
		line += " metrics=" + seen.addr
	}
	if pprofAt != "" {
		line += " pprof=" + pprofAt
	}
	for _, t := range srv.Stats().Transports {
		if t.Transport == catfish.TransportOFI {
			line += fmt.Sprintf(" fabric=%q", t.Detail)
		}
	}
	if err := a.Printf("%s\n", line); err != nil {
		return end(err)
	}
	err = <-served
	if err == nil && interrupted.Err() == nil {
		err = context.Cause(ctx) // The gRPC service failed.
	}
	if f.opts.Record.File == "" {
		return err
	}
	stopGRPC() // Its last calls are recorded, too.
	return errors.Join(err, a.endRecord(srv))
}
