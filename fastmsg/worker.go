package fastmsg

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/netpoll"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Worker is the server's side: one goroutine (Run) that owns a
// completion queue and a set of connections. It works in turns (turn.go).
// When there is no work, it sleeps until an event, or the next tick.
type Worker struct {
	dev rdma.Device
	h   Handler
	// batcher is h, if it is a BatchHandler.
	batcher BatchHandler
	turns   TurnHandler // h, if it is one
	cfg     WorkerConfig
	cq      rdma.CompletionQueue
	info    rdma.Info

	gate gate

	mu       sync.Mutex
	inbox    []*Conn // accepted, not opened yet
	posted   []posted
	answered []*later // answered.go
	asleep   bool     // the next answer wakes the worker
	over     bool     // answers are dropped
	closed   bool     // the worker is shutting down
	ran      bool

	stats published

	// Only the loop uses these.
	conns    []*Conn
	schedule schedule
	steps    []*Conn // that have a step to make, round robin
	lastStep time.Duration
	poller   netpoll.Poller
	slow     slow
	late     answers
	opening  []*Conn
	comps    []rdma.Completion
	scratch  []byte // payload of the request being served
	batch    batch
	unread   uint64 // bytes in all request rings
	count    counts
	nextTick time.Time
	ticking  bool // the last tick asked for another
	yielded  time.Time
	now      time.Time // when the present share of a turn began
	pollers  int       // number of connections that asked for polling
	words    []watched // of the connections that announce in memory
	wordsOf  []*Conn
	locked   bool      // to its thread
	polledAt time.Time // end of the last empty poll, if nothing came since; OwnThread
	cleanup  sync.Once
}

const (
	// batchEvents is how many events a poll takes at most: enough that a
	// thousand clients need few polls.
	batchEvents = 256
	// yieldEvery bounds how long a busy worker keeps other goroutines
	// (Accept, emulated NICs) from its core. It is well below Go's own
	// preemption at 10 ms, and well above the cost of a switch, about 1 us.
	yieldEvery = 200 * time.Microsecond
	// stallRetry is the time after which a refused Post is tried again, if
	// no event of that connection comes earlier.
	stallRetry = time.Millisecond
	// pollPause is the shortest time that a timer takes. What matters is that
	// there is a pause, not how long it is.
	pollPause = time.Microsecond
	// lostCore is more time than an empty poll takes: the operating system
	// gave the core to another thread.
	lostCore = 10 * time.Microsecond
)

// NewWorker returns a worker with a completion queue of the device.
func NewWorker(dev rdma.Device, h Handler, cfg WorkerConfig) (*Worker, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	cq, err := dev.CreateCQ(recvDepth(cfg.RingBytes, false))
	if err != nil {
		return nil, fmt.Errorf("fastmsg: worker: %w", err)
	}
	batcher, _ := h.(BatchHandler)
	turns, _ := h.(TurnHandler)
	return &Worker{
		dev: dev, h: h, batcher: batcher, turns: turns, cfg: cfg, cq: cq, info: dev.Info(),
		comps:   make([]rdma.Completion, batchEvents),
		scratch: make([]byte, 0, maxMessage(cfg.RingBytes)),
		ticking: true,
	}, nil
}

// Run serves until ctx is done, then closes all connections and returns the
// error of ctx. It drops answers that are given later (Conn.Later), without
// waiting for them. It may be called once. A worker that never runs is freed
// by Close.
func (w *Worker) Run(ctx context.Context) error {
	w.mu.Lock()
	bad := w.ran || w.closed
	w.ran = true
	w.mu.Unlock()
	if bad {
		return fmt.Errorf("%w: worker has run already", ErrClosed)
	}
	w.gate.enter()
	err := w.loop(ctx)
	w.lockThread(false)
	w.shutdown(err)
	w.gate.leave()
	return err
}

// Close frees a worker that was not Run. After Run, which its context ends,
// Close does nothing.
func (w *Worker) Close() error {
	w.mu.Lock()
	ran := w.ran
	w.ran = true
	w.mu.Unlock()
	if !ran {
		w.shutdown(ErrClosed)
	}
	return nil
}

// Pause makes the worker handle nothing until Resume, and returns when it has
// stopped. One-sided access by clients is not affected.
func (w *Worker) Pause() { w.gate.close(w.cq.Wake) }

// Resume ends a Pause.
func (w *Worker) Resume() { w.gate.open() }

func (w *Worker) loop(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.gate.pass(ctx); err != nil {
			return err
		}
		w.takeOver()
		if w.turn() {
			w.polledAt = time.Time{}
			continue
		}
		polls := w.cfg.Polling || w.pollers > 0
		w.lockThread(polls)
		if polls {
			if err := w.pollAgain(ctx); err != nil {
				return err
			}
			continue
		}
		if err := w.sleep(ctx); err != nil {
			return err
		}
	}
}

// keepPolling counts c among those that asked for polling, until it closes.
func (w *Worker) keepPolling(c *Conn) {
	if !c.place.polling && !c.closed {
		c.place.polling = true
		w.pollers++
	}
}

// lockThread gives a worker with OwnThread its thread while it polls. While it
// sleeps between events, a thread of its own would only cost: Go has to pass
// its P to the thread and back, two more thread switches for each event. So it
// would for each pause of pollAgain where the card is emulated. With 64 threads that do
// so on a core soft's goroutines ran so seldom that no run of 64 clients ended; without,
// they make 58,000 searches in a second (and 32 make 50,000, with threads up to 219,000).
func (w *Worker) lockThread(polls bool) {
	if !w.cfg.OwnThread || w.info.Emulated || polls == w.locked {
		return
	}
	if w.locked = polls; polls {
		runtime.LockOSThread()
	} else {
		runtime.UnlockOSThread()
	}
}

// pollAgain is what polling mode does between two polls that find nothing.
// Where writes and events are the work of goroutines of this process (the NIC
// of package soft), a loop that only yields would starve them: Go polls sockets
// when nothing is runnable, or else every 10 ms. So pollAgain waits for a
// moment there.
func (w *Worker) pollAgain(ctx context.Context) error {
	from := w.cfg.Now()
	switch {
	case w.info.Emulated && len(w.words) > 0: // Wait does not watch memory
		time.Sleep(pollPause)
	case w.info.Emulated:
		if err := w.cq.Wait(ctx, pollPause); err != nil && !errors.Is(err, rdma.ErrTimeout) {
			return err
		}
	case w.cfg.OwnThread: // the operating system shares out the cores
	default:
		runtime.Gosched()
	}
	w.schedule.retryStalled()
	to := w.cfg.Now()
	w.tick(to)
	switch {
	case w.info.Emulated: // it does not spin here, or Wait counts it
	case w.cfg.OwnThread:
		// All since the last empty poll, unless another thread had the core.
		if d := to.Sub(w.polledAt); d < lostCore {
			w.countPolled(d)
		}
		w.polledAt = to
	default:
		w.countPolled(to.Sub(from))
	}
	return nil
}

// tick calls Tick if it is due. A tick that was missed is left out.
func (w *Worker) tick(now time.Time) {
	if w.cfg.Tick == nil || !w.ticking || len(w.conns) == 0 || now.Before(w.nextTick) {
		return
	}
	w.nextTick = w.nextTick.Add(w.cfg.TickEvery)
	if w.nextTick.Before(now) {
		w.nextTick = now.Add(w.cfg.TickEvery)
	}
	w.publish()
	w.ticking = w.cfg.Tick(now, w.conns)
}

// sleep waits for an event or the next tick.
func (w *Worker) sleep(ctx context.Context) error {
	timeout := time.Duration(-1)
	if w.cfg.Tick != nil && w.ticking && len(w.conns) > 0 {
		timeout = max(0, w.nextTick.Sub(w.cfg.Now()))
	}
	if len(w.schedule.stalled) > 0 && (timeout < 0 || timeout > stallRetry) {
		timeout = stallRetry
	}
	timeout = w.untilSlow(timeout)
	if !w.maySleep() {
		return nil
	}
	w.countSleep()
	err := w.cq.Wait(ctx, timeout)
	if err != nil && !errors.Is(err, rdma.ErrTimeout) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("fastmsg: worker: %w", err)
	}
	w.schedule.retryStalled()
	w.tick(w.cfg.Now())
	return nil
}

// close ends one connection.
func (w *Worker) close(c *Conn, err error) {
	if c.closed {
		return
	}
	w.unread -= c.place.unread
	if c.place.watched > 0 {
		w.unwatch(c)
	}
	c.release()
	if c.place.polling {
		w.pollers--
	}
	last := len(w.conns) - 1
	w.conns[c.place.index] = w.conns[last]
	w.conns[c.place.index].place.index = c.place.index
	w.conns[last] = nil
	w.conns = w.conns[:last]
	w.stats.connections.Store(int64(last))
	w.h.Closed(c, err)
}

// shutdown runs once, in Run's goroutine or in Close.
func (w *Worker) shutdown(err error) {
	w.cleanup.Do(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.takeOver()
		for len(w.conns) > 0 {
			w.close(w.conns[len(w.conns)-1], fmt.Errorf("%w: worker ended: %w", ErrClosed, err))
		}
		w.dropAnswers()
		w.publishWaiting()
		w.cq.Close()
		w.poller.Close()
	})
}
