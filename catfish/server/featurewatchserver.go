package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// Watches, at the server
//
// A watch is a long poll. The client asks for the events after a revision, and the
// server answers when there are any, or after a while without events:
//
//	client                                      server
//	  watch id, from 0 -----------------------> a watcher begins
//	  <---------------------------- resume 70
//	  watch id, from 70 ----------------------> it waits (task.go)
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
	// mostWait bounds the wait of a request.
	mostWait = 30 * time.Second
	// watchIdle is how long a watcher waits for its client's next request.
	watchIdle = 30 * time.Second
	// watchSweep is the number of ticks (store.EveryTick) between two calls of expire: a second.
	watchSweep = 100
)

// watching is a watch request that is answered later.
type watching struct {
	task
	c       *collection
	set     *watchSet
	req     wire.WatchRequest
	areas   int
	payload []byte // the areas
}

// watchFeatures returns the task of a watch, or ends one.
func (v *service) watchFeatures(from *peer, c *collection, p, out []byte) result {
	req, areas, rest, err := wire.GetWatchHead(p)
	if err != nil {
		return result{err: err}
	}
	if req.Flags&wire.WatchEnd != 0 {
		from.watches.end(req.Id)
		return result{out: wire.AppendWatchHead(out, req.History, req.From)}
	}
	q := &watching{c: c, set: &from.watches, req: req, areas: areas, payload: append([]byte(nil), rest...)}
	q.task = task{s: v.s, source: v.source(from), keeps: len(q.payload), starts: q}
	return result{task: &q.task}
}

// start takes the watcher at once: the request to end it may be the next.
func (q *watching) start(*store.Writes) {
	ctx, stop := context.WithCancel(q.s.ctx)
	w, err := q.take(stop)
	if err != nil {
		stop()
		q.reply(nil, err)
		return
	}
	q.work = func(*task) ([]byte, error) {
		defer stop()
		out, err := q.answer(ctx, w)
		q.giveBack(w, err == nil)
		return out, q.why(err)
	}
	q.run(ctx)
}

// why returns the error that the client gets.
func (q *watching) why(err error) error {
	switch {
	case err == nil:
		return nil
	case q.s.ctx.Err() != nil:
		return fmt.Errorf("%w: the server is closing", model.ErrNotReady)
	}
	return err
}

// take returns the watcher of the request's id, or one to be made.
func (q *watching) take(stop context.CancelFunc) (*watch, error) {
	set := q.set
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.closed {
		return nil, model.ErrClosed
	}
	w := set.have[q.req.Id]
	switch {
	case w != nil && w.stop != nil:
		return nil, fmt.Errorf("%w: two requests for watch %d at once", model.ErrProtocol, q.req.Id)
	case w != nil && w.f.At != q.req.From:
		set.drop(q.req.Id)
		w = nil
	}
	if w == nil {
		if len(set.have) >= maxWatches {
			return nil, fmt.Errorf("%w: %d watches of one connection", model.ErrBusy, maxWatches)
		}
		if set.have == nil {
			set.have = map[uint64]*watch{}
			q.s.watchSets.list(set, true)
		}
		w = &watch{}
		set.have[q.req.Id] = w
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
		q.set.drop(q.req.Id)
	}
}

// watch makes the watcher, in scheduling slots, since shapes and filters are prepared.
func (q *watching) watch(w *watch) (err error) {
	if err := q.pause(); err != nil {
		return err
	}
	areas, err := wire.GetWatchAreas(q.areas, q.payload)
	if err != nil {
		return err
	}
	w.account = q.s.watchBudget.Open(q.source, func(error) { q.set.end(q.req.Id) })
	// A polygon counts about 1 more for each KB.
	if err := w.account.Take(int64(limits.WatcherUnits + len(areas) + len(q.payload)>>10)); err != nil {
		return err
	}
	of, err := q.c.Features.Watch(q.s.ctx, store.WatchOptions{From: q.req.From, History: q.req.History})
	if err != nil {
		return err
	}
	w.f = store.Follower{Watcher: of, Slots: q.s.turns, Source: q.source, At: of.Revision()}
	for _, a := range areas {
		if err := q.pause(); err != nil {
			return err
		}
		if err := of.Add(a.Name, a.Query); err != nil {
			return err
		}
	}
	return nil
}

// answer waits for events, and takes as many as there are. An error that ends the
// watcher is the answer to the next request, if there are events before it.
func (q *watching) answer(ctx context.Context, w *watch) ([]byte, error) {
	if w.f.Watcher == nil {
		if err := q.watch(w); err != nil {
			return nil, err
		}
		if q.req.From == 0 { // The client needs the revision at which the watch begins.
			return wire.AppendWatchHead(nil, w.f.History(), w.f.At), nil
		}
	}
	q.End() // The follower takes slots of its own.
	b := &watchAnswer{out: wire.AppendWatchHead(nil, w.f.History(), 0), old: q.req.Flags&wire.WatchOld != 0, t: &q.task}
	err := w.f.Gather(ctx, min(time.Duration(q.req.WaitMs)*time.Millisecond, mostWait), b)
	if some, _ := b.Filled(); err != nil && !some {
		return nil, err
	}
	binary.LittleEndian.PutUint64(b.out[8:], w.f.At)
	return b.out, nil
}

// watchAnswer is filled by a store.Follower.
type watchAnswer struct {
	out []byte
	old bool
	t   *task
}

func (a *watchAnswer) Filled() (some, full bool) {
	return len(a.out) > wire.WatchAnswerBytes, len(a.out) >= wire.WatchBytes
}

// Take appends an event, or its failure, which ends the answer. The answer counts
// against the connection's account as it grows; if the account has no room, there is no
// answer.
func (a *watchAnswer) Take(e *store.Event, failed error) error {
	a.out = wire.AppendEvent(a.out, e, a.old, failed)
	if busy := a.t.answers(cap(a.out)); busy != nil {
		a.out = nil
		return busy
	}
	return failed
}
