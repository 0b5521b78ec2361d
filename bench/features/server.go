package features

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// ServerMain runs a server child. It returns when in ends or ctx is done.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer) error {
	began := time.Now()
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, job ServerJob, note func(string)) (harness.Served[command], error) {
		start := startCatfish
		if job.Tile38 != "" {
			start = startTile38
		}
		s, ready, err := start(ctx, job, note)
		if err != nil {
			return harness.Served[command]{}, err
		}
		return harness.Served[command]{Ready: ready, Close: s.close, Answer: func(ctx context.Context, c command) (any, error) {
			switch {
			case c.Die:
				// As by kill -9: it flushes nothing and notifies no client.
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			case c.Weigh:
				return s.weighed(ctx)
			case c.Load != nil:
				return s.local(ctx, *c.Load, began)
			}
			return s.usage(began)
		}}, nil
	})
}

// server is the measured system, in a server child.
type server interface {
	usage(began time.Time) (harness.Usage, error)
	// local runs a work in this process.
	local(ctx context.Context, job LoadJob, began time.Time) (*Sample, error)
	// weighed returns the current memory.
	weighed(ctx context.Context) (*MemoryState, error)
	close()
}

// catfishServer is Catfish itself.
type catfishServer struct {
	*catfish.Server
	features *store.Collection
	grpc     *grpcServer
	ended    chan error
	memory   MemoryState
	heap     int64 // Go's, of memory.Before
}

func startCatfish(ctx context.Context, job ServerJob, note func(string)) (_ server, _ *ServerReady, err error) {
	opts := catfish.ServerOptions{
		Features: map[string]catfish.FeaturesOptions{collection: {}}, Transports: []string{catfish.TransportSHM},
		DataDir: job.Dir, Logger: slog.New(slog.DiscardHandler),
	}
	if job.Dir != "" && !job.Sync {
		opts.Sync = disk.SyncOff
	}
	srv, err := catfish.NewServer(opts)
	if err != nil {
		return nil, nil, err
	}
	s := &catfishServer{Server: srv, ended: make(chan error, 1)}
	go func() { s.ended <- srv.Serve(ctx) }()
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := srv.WaitReady(ctx); err != nil {
		return nil, nil, err
	}
	if s.features, err = srv.Features(collection); err != nil {
		return nil, nil, err
	}
	if s.grpc, err = serveGRPC(srv); err != nil {
		return nil, nil, err
	}
	ready := &ServerReady{Addr: srv.Addr(), GRPC: s.grpc.l.Addr().String(), Echo: s.grpc.beside.Addr().String()}
	if job.Load {
		err = s.load(ctx, job, ready, note)
	} else {
		err = s.empty()
	}
	if err != nil {
		return nil, nil, err
	}
	ready.Features = s.features.Len()
	return s, ready, nil
}

// load stores the features, and chooses queries.
func (s *catfishServer) load(ctx context.Context, job ServerJob, ready *ServerReady, note func(string)) error {
	d, err := Open(job.DataJob)
	if err != nil {
		return err
	}
	if err := s.empty(); err != nil {
		return err
	}
	start := time.Now()
	if err := fillStore(ctx, d, s.features, note); err != nil {
		return err
	}
	ready.Took = time.Since(start)
	if n := s.features.Len(); n != d.Len() {
		return fmt.Errorf("%w: %d features were loaded, and %d are there", ErrWrong, d.Len(), n)
	}
	if err := s.weigh(ctx); err != nil {
		return err
	}
	ready.Memory = s.memory
	for _, work := range Works { // in order, so that notes are in order
		path := job.Queries[work]
		if path == "" {
			continue
		}
		note("choosing queries of " + work)
		qs, err := choose(ctx, work, d, s.features, job.Seed, job.Borders)
		if err == nil {
			err = writeQueries(path, qs)
		}
		if err == nil && work == SearchOne {
			err = s.grpc.teach(ctx, qs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *catfishServer) weighed(ctx context.Context) (*MemoryState, error) {
	return &s.memory, s.weigh(ctx)
}

func (s *catfishServer) usage(began time.Time) (harness.Usage, error) {
	return harness.UsageSince(began)
}

func (s *catfishServer) close() {
	if s.grpc != nil {
		s.grpc.stop()
	}
	err := s.Close()
	if err = errors.Join(err, <-s.ended); err != nil {
		fmt.Fprintln(os.Stderr, err) // The parent shows it if this child fails.
	}
}
