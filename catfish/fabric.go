package catfish

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rdma/ofi"
	"github.com/catfish-index/catfish/rdma/soft"
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

// The private data of a read channel distinguishes it from a ring connection,
// and says for which server it is.
//
//	0 magic u32 | 4 version u16 | 6 zero u16 | 8 boot id u64
const (
	readChannelMagic = 0x4e4c4643 // "CFLN"
	readChannelBytes = 16
	// maxServedChannels bounds the read channels per transport.
	maxServedChannels = 1 << 16
)

func readChannelPrivate(boot uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, readChannelMagic)
	b = binary.LittleEndian.AppendUint16(b, protocolVersion)
	b = binary.LittleEndian.AppendUint16(b, 0)
	return binary.LittleEndian.AppendUint64(b, boot)
}

// streamOf is the kind of stream with which a transport's queue pair begins.
var streamOf = map[string]uint16{TransportSoft: streamSoft, TransportOFI: streamOFI}

// hello describes ofi's device to clients, nil for the other transports.
func (f *fabric) hello() *fabricHello {
	d, ok := f.dev.(interface{ Fabric() ofi.Fabric })
	if !ok {
		return nil
	}
	at := d.Fabric()
	return &fabricHello{Provider: at.Provider, Device: at.Device, Name: at.Name, Addr: at.Addr}
}

// openFabrics opens shm first, since the others can register its memory, but
// shm cannot register theirs.
func (s *Server) openFabrics() error {
	for _, name := range []string{TransportSHM, TransportOFI, TransportSoft} {
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
	case name != TransportSHM:
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
	if f.dev, err = openDevice(name, deviceOptions{
		fabric: s.opts.Fabric, shm: s.shm.options(&s.opts), listen: listen, spin: spin, log: s.log,
		soft: soft.Options{
			QueuePairs: s.streams.conns, Unsent: s.streams.unsent, ReadWindow: servedReads, QueuedBytes: servedQueue,
		},
	}); err != nil {
		return err
	}
	if s.opts.wrap != nil {
		f.dev = s.opts.wrap(f.dev)
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
		if !isReadChannel(req.PrivateData()) {
			accept = f.workerFor(req.PrivateData())
		}
		// Accepting waits for the client. Other clients must not wait for this one.
		wg.Go(func() {
			if err := accept(ctx, req); err != nil && ctx.Err() == nil {
				f.s.log.Warn("connection refused", "transport", f.name, "peer", req.Peer(), "err", err)
			}
		})
	}
}

func isReadChannel(p []byte) bool {
	return len(p) >= 4 && binary.LittleEndian.Uint32(p) == readChannelMagic
}

func (f *fabric) acceptReadChannel(_ context.Context, req rdma.ConnRequest) error {
	g, p, why := f.s.access.cutTicket(req.PrivateData())
	switch {
	case why != nil:
	case len(p) != readChannelBytes:
		why = fmt.Errorf("%w: read channel hello of %d bytes, want %d", ErrProtocol, len(p), readChannelBytes)
	case binary.LittleEndian.Uint16(p[4:]) != protocolVersion:
		why = fmt.Errorf("%w: client speaks protocol %d, server %d", ErrVersionMismatch, binary.LittleEndian.Uint16(p[4:]), protocolVersion)
	case binary.LittleEndian.Uint64(p[8:]) == f.s.bootID:
		why = f.s.CheckMemory()
	default:
		why = fmt.Errorf("%w: read channel is for boot id %#x, this server is %#x", ErrNoServer, binary.LittleEndian.Uint64(p[8:]), f.s.bootID)
	}
	f.mu.Lock()
	if n := len(f.readChannels); why == nil && n >= maxServedChannels {
		why = fmt.Errorf("%w: %d read channels open, want at most %d", ErrOption, n, maxServedChannels)
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
