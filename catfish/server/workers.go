package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
)

// MaxConnectionWorkers bounds the connections of a transport, if each has its
// own worker (Options.WorkerPerConnection).
const MaxConnectionWorkers = 1024

// workers has the workers of one transport. Either their number is fixed, they are
// made before Serve, and each connection goes to the next of them; or each
// connection has its own worker, which ends with it:
//
//	accept --> begin: a place among MaxConnectionWorkers, a worker that runs
//	       --> Worker.Accept --> ... --> handler.Closed: the worker's loop ends
//	       --> end: its counters are added to the ended ones, its buffers freed
type workers struct {
	s    *Server
	next int // index of the next fixed worker, round robin; only accept uses it

	// turn is held by pause and resume, so that neither takes effect in the
	// middle of the other. It is taken before mu; workers do not take it.
	turn sync.Mutex

	mu     sync.Mutex
	live   []*worker
	places int // of workers of one connection, including those that begin
	most   int // limit of places
	ended  fastmsg.WorkerStats
	count  int // number of workers that ended
	paused bool
	warned bool // the log says that there are as many workers as GOMAXPROCS
}

// worker is a fastmsg.Worker with its sender of heartbeats.
type worker struct {
	*fastmsg.Worker
	heartbeats *heartbeat.Sender
}

func (w *worker) close() {
	w.Close()
	w.heartbeats.Close()
}

// checkWorkerCPUs refuses cores that this process may not use.
func (o *Options) checkWorkerCPUs() error {
	n := len(o.WorkerCPUs)
	if n == 0 {
		return nil
	}
	if n != o.Workers || o.WorkerPerConnection {
		return fmt.Errorf("%w: WorkerCPUs has %d cores for %d workers, a worker per connection: %v, want a core for each worker of a fixed number",
			model.ErrOption, n, o.Workers, o.WorkerPerConnection)
	}
	for i, cpu := range o.WorkerCPUs {
		if slices.Contains(o.WorkerCPUs[:i], cpu) {
			return fmt.Errorf("%w: WorkerCPUs lists core %d twice", model.ErrOption, cpu)
		}
	}
	avail, err := affinity.Available()
	if err == nil {
		err = affinity.Set(o.WorkerCPUs).Within(avail)
	}
	if err == nil && runtime.GOOS != "linux" {
		err = fmt.Errorf("%w (%s)", affinity.ErrUnsupported, runtime.GOOS)
	}
	if err != nil {
		return fmt.Errorf("%w: WorkerCPUs: %w", model.ErrOption, err)
	}
	return nil
}

// runWorker runs one of the fixed workers of a transport, on its core if it has one.
func (s *Server) runWorker(number int, w *worker) func(context.Context) error {
	if len(s.opts.WorkerCPUs) == 0 {
		return w.Run
	}
	return func(ctx context.Context) error {
		return affinity.On(s.opts.WorkerCPUs[number], func() error { return w.Run(ctx) })
	}
}

// all returns the present workers.
func (ws *workers) all() []*worker {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Clone(ws.live)
}

func (ws *workers) add(w *worker) {
	ws.mu.Lock()
	ws.live = append(ws.live, w)
	if ws.paused {
		w.Pause() // It does not run yet, so this does not wait.
	}
	live, procs := len(ws.live), runtime.GOMAXPROCS(0)
	warn := ws.s.opts.WorkerPerConnection && live >= procs && !ws.warned
	ws.warned = ws.warned || warn
	ws.mu.Unlock()
	if warn { // It is not known yet which workers will poll.
		ws.s.log.Warn("as many workers of one connection as GOMAXPROCS: if they poll, they keep each other, and "+
			"everything else in this process, from running; set GOMAXPROCS higher", "workers", live, "GOMAXPROCS", procs)
	}
}

// workerFor returns the accept function of the worker that a connection's hello names,
// or else of the next worker.
func (f *fabric) workerFor(private []byte) func(context.Context, rdma.ConnRequest) error {
	if f.s.opts.WorkerPerConnection {
		return f.acceptByOwn
	}
	ws := &f.workers // their number is fixed
	n, named := wire.WorkerNamed(fastmsg.HelloIn(private))
	if named = named && n < len(ws.live); !named { // Any worker refuses a wrong number (answerHello).
		n = ws.next
		ws.next = (ws.next + 1) % len(ws.live)
	}
	w := ws.live[n]
	return func(_ context.Context, req rdma.ConnRequest) error { return w.Accept(req) }
}

// acceptByOwn gives a connection to a new worker. It returns when that worker has
// ended.
func (f *fabric) acceptByOwn(ctx context.Context, req rdma.ConnRequest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := f.beginWorker(cancel)
	if err != nil {
		if rerr := req.Reject(err.Error()); rerr != nil {
			err = errors.Join(err, rerr)
		}
		return err
	}
	var ran sync.WaitGroup
	ran.Go(func() {
		// Canceled: the connection has ended, or the server. ctx.Err does not show it,
		// since a worker that fails ends its connection, and that cancels ctx.
		if err := w.Run(ctx); !errors.Is(err, context.Canceled) {
			f.s.log.Warn("worker failed", "transport", f.name, "peer", req.Peer(), "err", err)
		}
	})
	if err = w.Accept(req); err != nil {
		cancel()
	}
	ran.Wait()
	f.endWorker(w)
	return err
}

// beginWorker makes the worker of one connection, which calls over when the
// connection has ended.
func (f *fabric) beginWorker(over func()) (*worker, error) {
	ws := &f.workers
	ws.mu.Lock()
	if ws.places == ws.most {
		ws.mu.Unlock()
		return nil, fmt.Errorf("%w: %d connections, each with a worker of its own, want at most %d",
			model.ErrOption, ws.most+1, ws.most)
	}
	ws.places++
	ws.mu.Unlock()
	w, err := f.s.newWorker(f, 0, over)
	if err != nil {
		ws.mu.Lock()
		ws.places--
		ws.mu.Unlock()
		return nil, err
	}
	ws.add(w)
	return w, nil
}

// endWorker frees the worker of one connection, which no longer runs.
func (f *fabric) endWorker(w *worker) {
	w.close()
	ws := &f.workers
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.live = slices.DeleteFunc(ws.live, func(l *worker) bool { return l == w })
	ws.places--
	ws.count++
	ws.ended.Add(w.Stats())
}

// stats returns the stats of each worker, the sum for workers that ended, and
// their count. The total never decreases, except Busy, which is an estimate while
// a worker works.
func (ws *workers) stats() (live []fastmsg.WorkerStats, ended fastmsg.WorkerStats, count int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	live = make([]fastmsg.WorkerStats, len(ws.live))
	for i, w := range ws.live {
		live[i] = w.Stats()
	}
	return live, ws.ended, ws.count
}

// work adds the work of all workers, including those that ended.
func (ws *workers) work(sum *heartbeat.Work) {
	ws.mu.Lock()
	total := ws.ended
	for _, w := range ws.live {
		total.Add(w.Stats())
	}
	ws.mu.Unlock()
	sum.Busy += total.Busy
	sum.Spun += total.Spun
	sum.Requests += total.Requests
	sum.BytesOut += total.BytesOut
	sum.Waiting += total.Waiting
}

// pause pauses all workers, and future ones. It does not hold the lock while
// it waits for a worker, which may be waiting for the lock to report its work.
func (ws *workers) pause() {
	ws.turn.Lock()
	defer ws.turn.Unlock()
	ws.mu.Lock()
	ws.paused = true
	live := slices.Clone(ws.live)
	ws.mu.Unlock()
	for _, w := range live {
		w.Pause()
	}
}

func (ws *workers) resume() {
	ws.turn.Lock()
	defer ws.turn.Unlock()
	ws.mu.Lock()
	ws.paused = false
	live := slices.Clone(ws.live)
	ws.mu.Unlock()
	for _, w := range live {
		w.Resume()
	}
}

// close frees all workers, none of which still runs.
func (ws *workers) close() {
	for _, w := range ws.all() {
		w.close()
	}
}
