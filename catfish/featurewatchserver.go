package catfish

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// Watches, at the server
//
// A watch is a long poll. The client asks for the events after a revision, and the
// server answers when there are any, or after a while without events:
//
//	client                                      server
//	  watch id, from 0 -----------------------> a watcher begins
//	  <---------------------------- resume 70
//	  watch id, from 70 ----------------------> it waits (later.go)
//	  <------------- events 71 .. 74, resume 74
//	  watch id, from 74 ----------------------> ...
//	  watch id, end --------------------------> the watcher ends
//
// So the client's pace is the flow control, and a revision is all that a client
// needs to continue over another connection, or with a server that has restarted. The
// server keeps the watcher between two requests only to save time: to compile a
// filter, to prepare an area (50 us for a box, 0.2 ms for a polygon of 200 positions,
// where a request takes 25 us over shm), to look at changes that concern others. A request
// with an unknown id, or with a revision other than the watcher's (an answer was lost),
// gets a new watcher, which repeats the events.
//
// # Ownership of a watcher
//
// The goroutine that answers a request owns the watcher, from take to giveBack. Between
// requests no goroutine does, and any holder of watchSet.mu may end it: at the end of the
// connection, for the client, or after watchIdle. To end a watcher that a request owns,
// stop its waiting; giveBack does the rest.

const (
	// maxWatches bounds the watchers of a connection: if all of them wait, most of
	// maxLater are left to other requests.
	maxWatches = maxLater / 4
	// watchUnits is what a watcher counts besides its areas, so that both WatchLimits
	// of a store (10,000 watchers, 1,000,000 areas) are reached together.
	watchUnits = 100
	// watchedAreas is the default of WatchLimits.Areas.
	watchedAreas = 1_000_000
	// mostWait bounds the wait of a request.
	mostWait = 30 * time.Second
	// watchIdle is how long a watcher waits for its client's next request.
	watchIdle = 30 * time.Second
	// watchSweep is the number of ticks (store.EveryTick) between two calls of expire: a second.
	watchSweep = 100
	// watchBytes is when an answer is full: some hundred events, and 1 ms of the
	// smallest connection that is served well.
	watchBytes = 256 << 10
	// watchTurn is how many events are taken in a scheduling slot.
	watchTurn = 64
)

// watching is a watch request that is answered later.
type watching struct {
	s       *Server
	c       *collection
	set     *watchSet
	source  string
	req     watchRequest
	areas   int
	payload []byte // the areas
}

// watchFeatures leaves a watch in v.pending, or ends one.
func (v *service) watchFeatures(c *collection, p, out []byte) ([]byte, error) {
	if v.watches == nil {
		return out, fmt.Errorf("%w: a watch without a connection", ErrProtocol)
	}
	req, areas, rest, err := getWatchHead(p)
	if err != nil {
		return out, err
	}
	if req.flags&watchEnd != 0 {
		v.watches.end(req.id)
		return appendWatchHead(out, req.history, req.from), nil
	}
	v.pending = &watching{
		s: v.s, c: c, set: v.watches, source: v.source(), req: req, areas: areas,
		payload: append([]byte(nil), rest...),
	}
	return out, nil
}

func (q *watching) keeps() int { return len(q.payload) }
func (q *watching) refused()   {}

// begin takes the watcher at once: the request to end it may be the next.
func (q *watching) begin(a lateAnswer) {
	ctx, stop := context.WithCancel(q.s.ctx)
	w, err := q.take(stop)
	if err != nil {
		stop()
		a.fail(err, 0)
		return
	}
	q.s.serving.Go(func() {
		defer stop()
		d := &doing{Job: q.s.turns.Job(ctx, q.source), s: q.s, to: a}
		out, err := q.run(ctx, w, d)
		d.End()
		d.to.Give(d.kept + d.answer)
		if err == nil {
			err = limits.CheckMemory(q.s, int64(len(out)))
		}
		if err != nil {
			a.fail(err, 0)
			return
		}
		a.reply(out)
	})
}

func (q *watching) run(ctx context.Context, w *watch, d *doing) ([]byte, error) {
	if w.w == nil {
		if err := q.watch(w, d); err != nil {
			q.giveBack(w, false)
			return nil, q.why(err)
		}
		if q.req.from == 0 { // The client needs the revision at which the watch begins.
			out := appendWatchHead(nil, w.w.History(), w.pos)
			q.giveBack(w, true)
			return out, nil
		}
	}
	out, err := q.answer(ctx, w, d)
	q.giveBack(w, err == nil)
	return out, q.why(err)
}

// why returns the error that the client gets.
func (q *watching) why(err error) error {
	switch {
	case err == nil:
		return nil
	case q.s.ctx.Err() != nil:
		return fmt.Errorf("%w: the server is closing", ErrNotReady)
	}
	return err
}

// take returns the watcher of the request's id, or one to be made.
func (q *watching) take(stop context.CancelFunc) (*watch, error) {
	set := q.set
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.closed {
		return nil, ErrClosed
	}
	w := set.have[q.req.id]
	switch {
	case w != nil && w.stop != nil:
		return nil, fmt.Errorf("%w: two requests for watch %d at once", ErrProtocol, q.req.id)
	case w != nil && w.pos != q.req.from:
		set.drop(q.req.id)
		w = nil
	}
	if w == nil {
		if len(set.have) >= maxWatches {
			return nil, fmt.Errorf("%w: %d watches of one connection", ErrBusy, maxWatches)
		}
		if set.have == nil {
			set.have = map[uint64]*watch{}
			q.s.watchSets.list(set, true)
		}
		w = &watch{}
		set.have[q.req.id] = w
	}
	w.stop = stop
	return w, nil
}

// giveBack ends the request's ownership of the watcher, and ends the watcher unless
// keep is set.
func (q *watching) giveBack(w *watch, keep bool) {
	q.set.mu.Lock()
	defer q.set.mu.Unlock()
	w.stop, w.last = nil, q.s.now()
	switch {
	case w.ended:
		w.close()
	case !keep:
		q.set.drop(q.req.id)
	}
}

// watch makes the watcher, in scheduling slots, since shapes and filters are prepared.
func (q *watching) watch(w *watch, d *doing) (err error) {
	if err := d.pause(); err != nil {
		return err
	}
	areas, err := getWatchAreas(q.areas, q.payload)
	if err != nil {
		return err
	}
	w.account = q.s.watchBudget.Open(q.source, func(error) { q.set.end(q.req.id) })
	// A polygon counts about 1 more for each KB.
	if err := w.account.Take(int64(watchUnits + len(areas) + len(q.payload)>>10)); err != nil {
		return err
	}
	w.w, err = q.c.features.Watch(q.s.ctx, store.WatchOptions{From: q.req.from, History: q.req.history})
	if err != nil {
		return err
	}
	for _, a := range areas {
		if err := d.pause(); err != nil {
			return err
		}
		if err := w.w.Add(a.name, a.query); err != nil {
			return err
		}
	}
	w.pos = w.w.Revision()
	return nil
}

// answer waits for events, and takes as many as there are.
func (q *watching) answer(ctx context.Context, w *watch, d *doing) ([]byte, error) {
	wait, done := context.WithTimeout(ctx, min(time.Duration(q.req.waitMs)*time.Millisecond, mostWait))
	defer done()
	out := appendWatchHead(nil, w.w.History(), 0)
	for more := true; more; {
		if err := d.pause(); err != nil { // Its error says why ctx has ended.
			return nil, err
		}
		var idle bool
		var err error
		out, idle, err = q.some(w, out, d)
		has := len(out) > watchAnswerBytes
		switch {
		case err != nil && !has:
			return nil, err
		case idle && !has && wait.Err() == nil:
			d.End()
			w.w.Wait(wait)
		default: // An error that ends the watcher is the answer to the next request.
			more = err == nil && !idle && len(out) < watchBytes
		}
	}
	binary.LittleEndian.PutUint64(out[8:], w.pos)
	return out, nil
}

// some takes some of the events. idle: there are none left. out counts against
// the connection's account as it grows; if the account has no room, there is no
// answer.
func (q *watching) some(w *watch, out []byte, d *doing) (_ []byte, idle bool, err error) {
	steps := &feature.Steps{Pause: d.pause}
	for n := 0; n < watchTurn && len(out) < watchBytes; n++ {
		e, ok, err := w.w.TryIn(steps)
		switch {
		case ok:
			if w.pos = e.Resume; e.Kind != query.Progress || err != nil {
				out = appendEvent(out, &e, q.req.flags&watchOld != 0, err)
				if busy := d.answers(cap(out)); busy != nil {
					return nil, false, busy
				}
			}
			if err != nil {
				return out, false, err
			}
		case err != nil:
			return out, false, err
		default:
			w.pos = w.w.Revision()
			return out, true, nil
		}
	}
	return out, false, nil
}

const watchAnswerBytes = 16 // before the events

func appendWatchHead(b []byte, history, resume uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, history), resume)
}
