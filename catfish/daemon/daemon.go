package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/quietlog"
	"github.com/catfish-index/catfish/internal/whole"
)

// Daemon is a server with its services. The methods are safe for concurrent use.
type Daemon struct {
	o     Options
	srv   *server.Server
	addrs Addrs
	quiet *quietlog.Handler // log's handler: clients cannot fill the log
	log   *slog.Logger      // of calls and requests
	certs *certs.Server     // nil: gRPC and HTTP without TLS
	seen  observed
	group group
	whole *whole.Groups // nil: in no group

	services []*service
	loaded   []func(*server.Store) // called with the store once it is loaded

	ctx      context.Context // ends when a service fails, or at Close
	end      context.CancelCauseFunc
	mu       sync.Mutex     // Start and Close: nothing is started after ctx has ended
	running  sync.WaitGroup // what Start has started
	closing  sync.Once
	closeErr error // what Close returns
}

// Addrs are the addresses that a daemon listens at, with their ports; empty: none.
type Addrs struct{ Server, GRPC, HTTP, Metrics string }

// service is a service at an address of its own.
type service struct {
	name  string
	l     net.Listener
	serve func(net.Listener) error // until it is stopped, which is no error
	stop  func(context.Context)    // nil: it stops with Daemon.ctx
}

// AddrError says that a service cannot listen at its address.
type AddrError struct {
	Service string // gRPC, HTTP or metrics
	Addr    string
	Err     error
}

func (e *AddrError) Error() string {
	if errors.Is(e.Err, syscall.EADDRINUSE) {
		return fmt.Sprintf("%s: address in use: %v", e.Service, e.Err)
	}
	return fmt.Sprintf("%s: cannot listen on %q: %v", e.Service, e.Addr, e.Err)
}

func (e *AddrError) Unwrap() error { return e.Err }

// New opens a server and listens at its addresses. It answers no client before Start,
// but collections may be made and filled. Always Close it.
func New(o Options) (*Daemon, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Server.Logger == nil {
		o.Server.Logger = slog.Default()
	}
	o.Server.Meter = o.Server.Meter || o.Metrics.Addr != ""
	d := &Daemon{o: o, quiet: quietlog.New(o.Server.Logger.Handler(), time.Now)}
	d.log = slog.New(d.quiet)
	d.ctx, d.end = context.WithCancelCause(context.Background())
	if err := d.open(); err != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.Close(ctx)
		return nil, err
	}
	return d, nil
}

func (d *Daemon) open() (err error) {
	if d.o.TLS.Cert != "" {
		if d.certs, err = certs.NewServer(certs.Files(d.o.TLS), d.o.Server.Logger); err != nil {
			return err
		}
	}
	if d.o.Group.on() {
		if err := d.prepareGroup(); err != nil {
			return err
		}
	}
	if d.srv, err = server.NewServer(d.o.Server); err != nil {
		return err
	}
	if d.o.Group.on() {
		d.srv.SetGroup(d.startingHello)
	}
	d.addrs.Server, d.o.Server.MemoryLimit = d.srv.Addr(), d.srv.MemoryLimit()
	for _, open := range []func() error{d.observe, d.openGroups, d.openGRPC, d.openHTTP, d.openMoves} {
		if err := open(); err != nil {
			return err
		}
	}
	return nil
}

// listen adds a service, whose functions the caller sets. at gets its address.
func (d *Daemon) listen(name, addr string, at *string) (*service, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &AddrError{name, addr, err}
	}
	*at = l.Addr().String()
	s := &service{name: name, l: l}
	d.services = append(d.services, s)
	return s, nil
}

// tls returns the configuration of TLS, nil if there is none.
func (d *Daemon) tls() *tls.Config {
	if d.certs == nil {
		return nil
	}
	return d.certs.Config()
}

// Start serves, loads, and returns when all is ready; see the package. Call it once. If ctx
// ends before that, or Options.Load fails, clients are served without what is not loaded,
// until Close.
func (d *Daemon) Start(ctx context.Context) error {
	d.serve()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	err := d.load(ctx)
	if failed := d.failure(); failed != nil {
		return failed // Then loading was interrupted.
	}
	return err
}

// serve starts the services, unless Close was faster.
func (d *Daemon) serve() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return
	}
	d.running.Go(func() { d.end(d.srv.Serve(d.ctx)) })
	for _, s := range d.services {
		d.running.Go(func() {
			if err := s.serve(s.l); err != nil {
				d.end(fmt.Errorf("%s: %w", s.name, err))
			}
		})
	}
	if d.certs != nil {
		d.running.Go(func() { d.certs.Watch(d.ctx) })
	}
	if d.group.certs != nil {
		d.running.Go(func() { d.group.certs.Watch(d.ctx) })
	}
}

func (d *Daemon) load(ctx context.Context) error {
	if d.o.Load != nil {
		if err := d.readPlaces(ctx); err != nil {
			return err
		}
		if err := d.o.Load(ctx, d.srv); err != nil {
			return err
		}
	}
	if err := d.srv.WaitReady(ctx); err != nil {
		return err
	}
	if d.o.Fill != nil && !d.o.Group.on() {
		if err := d.o.Fill(ctx, d.srv); err != nil {
			return err
		}
	}
	for _, name := range d.o.Server.Loading {
		if err := d.srv.SetReady(name); err != nil {
			return err
		}
	}
	st, err := d.srv.Store()
	if err != nil {
		return err
	}
	if d.o.Group.on() {
		if err := d.joinGroup(ctx, st); err != nil {
			return err
		}
		if err := d.fillGroup(ctx); err != nil {
			return err
		}
	}
	for _, serve := range d.loaded {
		serve(st)
	}
	return nil
}

// Wait waits until ctx ends or the daemon is closed, or until a service fails, and
// returns its error.
func (d *Daemon) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-d.ctx.Done():
	}
	return d.failure()
}

// failure is the error of the service that ended the daemon, if one did.
func (d *Daemon) failure() error {
	if err := context.Cause(d.ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Close ends everything; see the package. Calls in flight are cut when ctx ends. The error
// is that of the recording, if there is one (server.Options.Record).
func (d *Daemon) Close(ctx context.Context) error {
	d.closing.Do(func() {
		d.leaveGroup()
		d.mu.Lock()
		d.end(nil)
		d.mu.Unlock()
		var stops sync.WaitGroup
		for _, s := range d.services {
			if s.stop != nil {
				stops.Go(func() { s.stop(ctx) })
			}
		}
		stops.Wait()
		for _, s := range d.services {
			s.l.Close() // Without Start, no service closes it.
		}
		d.running.Wait()
		d.seen.traces.close(d.log)
		d.quiet.Flush()
		if d.srv != nil {
			d.closeErr = d.srv.Close()
		}
	})
	return d.closeErr
}

// Reload reads keys and certificates again. They are also read when their files change.
// After an error the old ones stay.
func (d *Daemon) Reload() (err error) {
	if d.o.Server.Keys != nil {
		err = d.o.Server.Keys.Reload()
	}
	if d.certs != nil {
		err = errors.Join(err, d.certs.Reload())
	}
	if d.group.certs != nil {
		err = errors.Join(err, d.group.certs.Reload())
	}
	return err
}

// Server returns the server, for use in this process. The daemon owns it.
func (d *Daemon) Server() *server.Server { return d.srv }

// Addrs returns the addresses of the services.
func (d *Daemon) Addrs() Addrs { return d.addrs }
