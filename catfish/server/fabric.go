package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/wire"
)

// A fabric is one transport of a server: a device, its listener, its
// workers, and the read channels of its clients.
type fabric struct {
	s       *Server
	name    string
	dev     rdma.Device
	ln      rdma.Listener
	workers workers

	// Read channels are queue pairs that clients use for RDMA Reads only. They
	// belong to no worker; their completion queue reports only their end.
	readCQ       rdma.CompletionQueue
	mu           sync.Mutex
	readChannels map[rdma.QueuePair]bool
	// keyed holds the functions that cancel the end of read channels with their keys.
	keyed map[rdma.QueuePair]func() bool
}

// streamOf is the kind of stream with which a transport's queue pair begins.
var streamOf = map[string]uint16{model.TransportSoft: wire.StreamSoft, model.TransportOFI: wire.StreamOFI}

// hello describes ofi's device to clients, nil for the other transports.
func (f *fabric) hello() *wire.FabricHello {
	d, ok := f.dev.(interface{ Fabric() ofi.Fabric })
	if !ok {
		return nil
	}
	at := d.Fabric()
	return &wire.FabricHello{Provider: at.Provider, Device: at.Device, Name: at.Name, Addr: at.Addr}
}

// openFabrics opens shm first, since the others can register its memory, but
// shm cannot register theirs.
func (s *Server) openFabrics() error {
	for _, name := range []string{model.TransportSHM, model.TransportOFI, model.TransportSoft} {
		if !s.opts.has(name) {
			continue
		}
		if err := s.openFabric(name); err != nil {
			return fmt.Errorf("catfish: transport %s: %w", name, err)
		}
	}
	return nil
}

func (s *Server) openFabric(name string) (err error) {
	f := &fabric{s: s, name: name, workers: workers{s: s, most: MaxConnectionWorkers}, readChannels: make(map[rdma.QueuePair]bool)}
	addr := s.opts.SocketPath
	var listen func(string) (net.Listener, error)
	switch {
	case name != model.TransportSHM:
		addr = s.ln.Addr().String()
		ln := newChanListener(s.ln.Addr())
		s.mux.streams[streamOf[name]] = ln
		listen = func(string) (net.Listener, error) { return ln, nil }
	case addr == "":
		if addr, err = defaultSocket(s.ln.Addr(), s.opts.SocketMode); err != nil {
			return err
		}
	}
	spin := time.Duration(0)
	if s.opts.WorkerPerConnection {
		// Other goroutines need the core, and the paper's threads block at once.
		spin = -1
	}
	if f.dev, err = wire.OpenDevice(name, wire.DeviceOptions{
		Fabric: s.opts.Fabric, Shm: s.shm.options(&s.opts), Listen: listen, Spin: spin, Log: s.log,
		Soft: soft.Options{
			QueuePairs: s.streams.conns, Unsent: s.streams.unsent, ReadWindow: servedReads, QueuedBytes: servedQueue,
		},
	}); err != nil {
		return err
	}
	if s.opts.hooks.Wrap != nil {
		f.dev = s.opts.hooks.Wrap(f.dev)
	}
	s.fabrics = append(s.fabrics, f)
	s.log.Info("transport opened", "transport", name, "device", f.dev.Info().Detail)
	if f.readCQ, err = f.dev.CreateCQ(1); err != nil {
		return err
	}
	for i := range s.opts.Workers {
		w, err := s.newWorker(f, i+1, nil)
		if err != nil {
			return err
		}
		f.workers.add(w)
	}
	f.ln, err = f.dev.Listen(addr)
	return err
}

// accept takes connections until the listener closes.
func (f *fabric) accept(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		req, err := f.ln.Accept(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, rdma.ErrClosed):
			return nil
		case err != nil:
			f.s.log.Warn("accept failed", "transport", f.name, "err", err)
			continue
		}
		accept := f.acceptReadChannel
		switch p := req.PrivateData(); {
		case lane.IsHello(p):
			accept = f.acceptRing
		case !wire.IsReadChannel(p):
			accept = f.workerFor(p)
		}
		// Accepting waits for the client. Other clients must not wait for this one.
		wg.Go(func() {
			if err := accept(ctx, req); err != nil && ctx.Err() == nil {
				f.s.log.Warn("connection refused", "transport", f.name, "peer", req.Peer(), "err", err)
			}
		})
	}
}

func (f *fabric) acceptReadChannel(_ context.Context, req rdma.ConnRequest) error {
	g, p, why := f.s.access.cutTicket(req.PrivateData())
	switch {
	case why != nil:
	case len(p) != wire.ReadChannelBytes:
		why = fmt.Errorf("%w: read channel hello of %d bytes, want %d", model.ErrProtocol, len(p), wire.ReadChannelBytes)
	case binary.LittleEndian.Uint16(p[4:]) != wire.ProtocolVersion:
		why = fmt.Errorf("%w: client speaks protocol %d, server %d", model.ErrVersionMismatch, binary.LittleEndian.Uint16(p[4:]), wire.ProtocolVersion)
	case binary.LittleEndian.Uint64(p[8:]) == f.s.bootID:
		why = f.s.CheckMemory()
	default:
		why = fmt.Errorf("%w: read channel is for boot id %#x, this server is %#x", model.ErrNoServer, binary.LittleEndian.Uint64(p[8:]), f.s.bootID)
	}
	f.mu.Lock()
	if n := len(f.readChannels); why == nil && n >= wire.MaxServedChannels {
		why = fmt.Errorf("%w: %d read channels open, want at most %d", model.ErrOption, n, wire.MaxServedChannels)
	}
	f.mu.Unlock()
	if why != nil {
		return errors.Join(why, req.Reject(why.Error()))
	}
	qp, err := req.Accept(rdma.QPConfig{SendCQ: f.readCQ, RecvCQ: f.readCQ, SendDepth: 1, RecvDepth: 1}, nil)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.readChannels[qp] = true
	if g != nil {
		if f.keyed == nil {
			f.keyed = map[rdma.QueuePair]func() bool{}
		}
		f.keyed[qp] = g.principal.OnEnd(func() { f.endReadChannel(qp) })
	}
	f.mu.Unlock()
	if qp.Err() != nil { // it may have ended before it was in the table
		f.endReadChannel(qp)
	}
	return nil
}

func (f *fabric) endReadChannel(qp rdma.QueuePair) {
	f.mu.Lock()
	known := f.readChannels[qp]
	delete(f.readChannels, qp)
	stop := f.keyed[qp]
	delete(f.keyed, qp)
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
	if known {
		qp.Close()
	}
}

// reapReadChannels closes read channels whose clients have left.
func (f *fabric) reapReadChannels(ctx context.Context) error {
	var done [64]rdma.Completion
	for {
		if err := f.readCQ.Wait(ctx, -1); err != nil {
			if ctx.Err() != nil || errors.Is(err, rdma.ErrClosed) {
				return nil
			}
			return err
		}
		for n := f.readCQ.Poll(done[:]); n > 0; n = f.readCQ.Poll(done[:]) {
			for _, c := range done[:n] {
				// The end of the channel, or a write that breaks the protocol.
				f.endReadChannel(c.QP)
			}
			clear(done[:n]) // a queue pair keeps buffers
		}
	}
}

func (f *fabric) close() {
	if f.ln != nil {
		f.ln.Close()
	}
	f.workers.close()
	f.mu.Lock()
	for _, stop := range f.keyed {
		stop()
	}
	f.mu.Unlock()
	f.dev.Close()
}
