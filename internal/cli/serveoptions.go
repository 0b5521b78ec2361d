package cli

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/affinity"
)

// options checks the flags.
func (f *serveFlags) options(a *App) (daemon.Options, error) {
	all := f.opts
	all.Traces = true
	err := f.serverOptions(a, &all.Server)
	if err == nil {
		err = f.coordinator.set(&all.Group)
	}
	if err == nil {
		err = f.openKeys(&all)
	}
	if err == nil {
		err = asFlags(all.Validate())
	}
	return all, err
}

func (f *serveFlags) serverOptions(a *App, o *catfish.ServerOptions) (err error) {
	o.Logger = a.logger()
	if o.Listen, err = Endpoint("listen", f.listen, 0); err != nil {
		return err
	}
	if f.pprof, err = pprofAddr(f.pprof); err != nil {
		return err
	}
	if err := f.checkHTTP(); err != nil {
		return err
	}
	if f.transport != "auto" && f.transport != "" {
		o.Transports = strings.Split(f.transport, ",")
		for i, t := range o.Transports {
			if slices.Contains(o.Transports[:i], t) {
				return BadUsage("--transport lists %s twice", t)
			}
			switch t {
			case catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI, catfish.TransportTCP:
			default:
				return BadUsage("--transport %q: %q is unknown, want auto or a list of shm, soft, ofi, tcp",
					f.transport, t)
			}
		}
	}
	mode, err := strconv.ParseUint(f.socketMode, 8, 32)
	if err != nil || mode > 0o777 || mode == 0 {
		return BadUsage("--socket-mode %q, want an octal file mode from 0001 to 0777", f.socketMode)
	}
	o.SocketMode = fs.FileMode(mode)
	if o.Workers < 0 || o.SlabBytes < 0 || o.NodeBytes < 0 {
		return BadUsage("--workers %d, --slab-bytes %d and --node-bytes %d want 0 (default) or more",
			o.Workers, o.SlabBytes, o.NodeBytes)
	}
	if o.WorkerPerConnection && o.Workers != 0 {
		return BadUsage("--workers %d with --worker-per-connection, want one of them", o.Workers)
	}
	if err := f.setWorkerCPUs(o); err != nil {
		return err
	}
	if len(f.collections) == 0 {
		f.collections = []string{catfish.DefaultCollection}
	}
	if err := checkRecord(o.Record); err != nil {
		return err
	}
	if err := f.noUse(o.Transports); err != nil {
		return err
	}
	if err := f.keepOptions(o); err != nil {
		return err
	}
	if len(o.Records) == 0 {
		if err := NoUse(f.flags, "without --records", "record-max-bytes"); err != nil {
			return err
		}
	}
	for i, name := range o.Records {
		if slices.Contains(o.Records[:i], name) || slices.Contains(f.collections, name) {
			return BadUsage("--records lists %s, which is a collection already", name)
		}
	}
	for i, name := range f.collections {
		if slices.Contains(f.collections[:i], name) {
			return BadUsage("--collection lists %s twice", name)
		}
		if name != catfish.DefaultCollection {
			o.Collections = append(o.Collections, name)
		}
	}
	if o.ClientCollections == 0 || o.ClientCollections < -1 {
		return BadUsage("--client-collections is %d, want 1 or more, or -1 for none", o.ClientCollections)
	}
	switch {
	case len(f.load) > 0 && f.keep.into != "":
		o.Loading = []string{f.keep.into}
	case len(f.load) > 0:
		o.Loading = f.collections[:1]
	}
	return nil
}

// setWorkerCPUs reads --worker-cpus. The server refuses cores that it may not use.
func (f *serveFlags) setWorkerCPUs(o *catfish.ServerOptions) error {
	cpus, err := affinity.Parse(f.workerCPUs)
	if err != nil {
		return BadUsage("--worker-cpus: %w", err)
	}
	if len(cpus) > 0 && (o.WorkerPerConnection || o.Workers != 0) {
		return BadUsage("--worker-cpus %s with --workers or --worker-per-connection, want one of them: it has a worker for each core", cpus)
	}
	o.WorkerCPUs = cpus
	return nil
}

// flagOf has the flags of options of package daemon.
var flagOf = strings.NewReplacer(
	"GRPC.Addr", "--grpc", "HTTP.Addr", "--http", "HTTP.URL", "--http-url", "HTTP.Origin", "--http-cors",
	"HTTP.Basemap", "--http-basemap", "HTTP.TileBytes", "--http-tiles", "Metrics.Addr", "--metrics",
	"Server.MemoryLimit", "--memory-limit", "Group.TLS.CA", "--coordinator-ca", "Group.TLS.Cert", "--coordinator-cert",
	"Group.TLS.Key", "--coordinator-key", "Group.KeyFile", "--member-key-file", "Group.MemberCA", "--member-ca", "Server.Keys", "--keys", "WorkerCPUs", "--worker-cpus",
	"TLS.Cert", "--tls-cert", "Group.Name", "--group", "Group.Node", "--node", "Group.Coordinators", "--coordinators",
	"Group.MinInSync", "--min-in-sync", "Group.LaneTransport", "--lane-transport", "Group.LaneRing", "--lane-ring",
	"Server.DataDir", "--data-dir", "TLS.Key", "--tls-key", "TLS.ClientCA", "--tls-client-ca",
)

// asFlags names flags where an error names options of package daemon.
func asFlags(err error) error {
	if !errors.Is(err, catfish.ErrOption) {
		return err
	}
	return BadUsage("%s", flagOf.Replace(strings.TrimPrefix(err.Error(), catfish.ErrOption.Error()+": ")))
}
