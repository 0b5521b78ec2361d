package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

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

// ServerMain runs a server child: in and out are its standard input and
// output. It returns when in ends or ctx is done.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer, start StartServer) error {
	began := time.Now()
	p := child.NewPipe(in, out)
	var job ServerJob
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	if job.MaxProcs > 0 {
		runtime.GOMAXPROCS(job.MaxProcs) // of this process, which serves nothing else
	}
	srv, err := start(ctx, job, p.Note)
	if err != nil {
		return p.Fail(err)
	}
	defer srv.Close()
	if err := p.Write(fromChild{Server: &ServerReady{
		Addr: srv.Addr(), Objects: srv.Len(), Bounds: srv.Bounds(),
		NodeBytes: srv.NodeBytes(), Transports: srv.Transports(),
	}}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var cmd toChild
		if err := p.Read(&cmd); err != nil {
			return p.Fail(err)
		}
		if !cmd.Usage {
			continue
		}
		u, err := UsageSince(began)
		if err != nil {
			return p.Fail(err)
		}
		if err := p.Write(fromChild{Usage: &u}); err != nil {
			return err
		}
	}
	return nil
}

// Serve starts a server child and waits until it serves. The caller stops
// it, unless there is an error.
func Serve(ctx context.Context, spawn child.Spawn, cpus affinity.Set, job ServerJob,
	note func(string)) (*child.Process, ServerReady, error) {
	srv, err := child.Start(spawn, ServerRole, cpus, job, note)
	if err != nil {
		return nil, ServerReady{}, err
	}
	m, err := next(ctx, srv)
	if err == nil && m.Server == nil {
		err = fmt.Errorf("%w (server) did not say that it is ready", child.ErrFailed)
	}
	if err != nil {
		srv.Stop()
		return nil, ServerReady{}, err
	}
	return srv, *m.Server, nil
}

// usageOf asks a server child for its processor time.
func usageOf(ctx context.Context, c *child.Process) (Usage, error) {
	if err := c.Send(toChild{Usage: true}); err != nil {
		return Usage{}, err
	}
	m, err := next(ctx, c)
	if err != nil {
		return Usage{}, err
	}
	if m.Usage == nil {
		return Usage{}, fmt.Errorf("%w (server) did not tell its usage", child.ErrFailed)
	}
	return *m.Usage, nil
}
