package bench

import (
	"context"
	"io"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/rstar"
)

// Server is the system under test inside a server child.
type Server interface {
	// Addr is the address that clients dial.
	Addr() string
	// NodeBytes and Len describe the tree once it is loaded.
	NodeBytes() int
	Len() int
	// Bounds is a rectangle that contains the loaded data.
	Bounds() rstar.Rect
	Transports() []string
	Close() error
}

// The roles of children.
const (
	ServerRole child.Role = "server"
	ClientRole child.Role = "client"
)

// StartServer loads the job's data and serves it until Close. It reports its
// progress to note.
type StartServer func(ctx context.Context, job ServerJob, note func(string)) (Server, error)

// ServerMain runs a server child.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer, start StartServer) error {
	began := time.Now()
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, job ServerJob, note func(string)) (s harness.Served[command], err error) {
		if job.MaxProcs > 0 {
			runtime.GOMAXPROCS(job.MaxProcs) // of this process, which serves nothing else
		}
		srv, err := start(ctx, job, note)
		if err != nil {
			return s, err
		}
		return harness.Served[command]{
			Ready: ServerReady{
				Addr: srv.Addr(), Objects: srv.Len(), Bounds: srv.Bounds(), NodeBytes: srv.NodeBytes(), Transports: srv.Transports(),
			},
			Answer: func(context.Context, command) (any, error) { return harness.UsageSince(began) },
			Close:  func() { srv.Close() },
		}, nil
	})
}

// Serve starts a server child and waits until it serves. The caller stops
// it, unless there is an error.
func Serve(ctx context.Context, spawn child.Spawn, cpus affinity.Set, job ServerJob, note func(string)) (*child.Process, ServerReady, error) {
	return harness.Start[ServerReady](ctx, spawn, ServerRole, cpus, job, note)
}

// usageOf asks a server child for its usage.
func usageOf(ctx context.Context, c *child.Process) (harness.Usage, error) {
	return harness.Ask[harness.Usage](ctx, c, command{Usage: true})
}
