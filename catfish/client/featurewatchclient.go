package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Watches, at the client: sequential requests, each for the events after the last
// answer (featurewatchserver.go of package server has the drawing). The caller gets the
// events before the next request, so at most the events of one answer wait for the caller.

const (
	// watchWait is how long a request waits at the server for an event. It bounds
	// how old a Progress may be, and is shorter than watchIdle, so that the watcher
	// still exists for the next request.
	watchWait = 20 * time.Second
	// watchPatience is how much later the answer may come. Then the answer counts as
	// lost, and the client makes another request.
	watchPatience = 10 * time.Second
	// endPatience bounds the request that ends the watch. Without it the server would
	// end the watcher after watchIdle.
	endPatience = time.Second
)

// watcher is a watch over a connection.
type watcher struct {
	r       *remoteFeatures
	areas   []wire.WatchedArea
	old     bool     // WatchQuery.Old
	s       *session // of the last request
	o       *openSlab
	id      uint64 // in that session
	from    uint64
	history uint64 // of from; 0: not known
	stands  bool   // an answer has come
	// An answer may end within the events of one write to several areas. Over another
	// connection all of them come again, in the same order: given events of revision
	// of were given, and skip events are to be left out.
	of          uint64
	given, skip int
	req         []byte
	ans         []byte
}

func (r *remoteFeatures) Watch(ctx context.Context, q *model.WatchQuery, yield func(model.FeatureEvent) bool) error {
	if err := wire.OneServers(q); err != nil {
		return err
	}
	w := &watcher{r: r, areas: wire.AreasOf(q), old: q.Old, from: q.From, history: q.History}
	defer w.end(ctx)
	for {
		ans, err := w.next(ctx)
		if err != nil {
			return err
		}
		first := !w.stands
		w.stands = true
		more, err := w.give(ans, first, yield)
		if !more || err != nil {
			return err
		}
	}
}

// give decodes an answer, and gives its events to the caller. If there are none, or
// the watch is new, it gives a Progress.
func (w *watcher) give(ans []byte, first bool, yield func(model.FeatureEvent) bool) (more bool, err error) {
	if len(ans) < wire.WatchAnswerBytes {
		return false, fmt.Errorf("%w: a watch answered with %d bytes", model.ErrProtocol, len(ans))
	}
	history, resume := binary.LittleEndian.Uint64(ans), binary.LittleEndian.Uint64(ans[8:])
	if resume < w.from || resume == 0 || history == 0 {
		return false, fmt.Errorf("%w: a watch from revision %d answered up to %d, of history %#x", model.ErrProtocol, w.from, resume, history)
	}
	w.history = history
	if first {
		begin := w.from
		if begin == 0 {
			begin = resume
		}
		if !yield(model.FeatureEvent{Revision: begin, Resume: begin, History: history}) {
			return false, nil
		}
	}
	rest := ans[wire.WatchAnswerBytes:]
	none := len(rest) == 0 && !first
	for len(rest) > 0 {
		e, after, failed, err := wire.GetEvent(rest)
		if err != nil {
			return false, err
		}
		if e.Resume < w.from || e.Resume > resume || e.Revision < e.Resume {
			return false, fmt.Errorf("%w: event of revision %d, resume at %d, in an answer from %d to %d",
				model.ErrProtocol, e.Revision, e.Resume, w.from, resume)
		}
		w.from, rest, e.History = e.Resume, after, history
		if w.skip > 0 && e.Revision == w.of {
			w.skip--
			continue
		}
		if e.Revision != w.of {
			w.of, w.given = e.Revision, 0
		}
		w.given++
		if failed != nil {
			return false, &model.WatchError{Event: e, Err: failed}
		}
		if !yield(e) {
			return false, nil
		}
	}
	w.from = resume
	return !none || yield(model.FeatureEvent{Revision: resume, Resume: resume, History: history}), nil
}

// next makes requests until one is answered.
func (w *watcher) next(ctx context.Context) ([]byte, error) {
	conn := w.r.c.conn
	var pauses pauses
	var refusals refusals
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := conn.session(ctx)
		if err == nil {
			var ans []byte
			if ans, err = w.ask(ctx, s); err == nil {
				return ans, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if refusals.again(ctx, conn, err) {
			w.s = nil
			continue
		}
		switch {
		case errors.Is(err, model.ErrClosed) && conn.ctx.Err() != nil, // else only the session: another member is the primary
			errors.Is(err, model.ErrUnauthenticated), errors.Is(err, fastmsg.ErrTooLarge):
			return nil, err
		case errors.Is(err, model.ErrUnknownCollection) && w.o != nil:
			// The number is unknown: another collection may have the name, which the next
			// request shows. A watch that stands cannot continue there, and ends with that error.
			s.forget(w.o)
			w.o = nil
		case s != nil && (errors.Is(err, model.ErrNotSent) || errors.Is(err, model.ErrUnknownOutcome)):
			// The connection is lost, and there will be another; or the answer is lost, or
			// there was no room for the request: it is made again.
			if !s.alive() {
				w.s = nil
				conn.counters.retried.Add(1)
				continue
			}
		case errors.Is(err, model.ErrUnknownCollection) && w.stands: // The name is unknown.
			return nil, fmt.Errorf("%w: it was dropped while it was watched", err)
		case !w.stands || !waitsFor(err):
			return nil, err
		}
		// The server may have ended the watcher: the next request has another number, for a new one.
		w.s = nil
		if !pauses.wait(ctx) {
			return nil, ctx.Err()
		}
	}
}

// waitsFor reports whether a watch that stands continues later.
func waitsFor(err error) bool {
	for _, e := range []error{model.ErrNoServer, model.ErrNotReady, model.ErrBusy, model.ErrRateLimited} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// anew is called before the first request to a new watcher, which repeats events after from.
func (w *watcher) anew() {
	if w.skip = 0; w.from < w.of {
		w.skip = w.given
	}
}

// ask makes one request.
func (w *watcher) ask(ctx context.Context, s *session) (_ []byte, err error) {
	if !s.knows(wire.KindWatch) {
		return nil, fmt.Errorf("%w: server %s at %s is older than this client %s and cannot be watched; update the server",
			model.ErrVersionMismatch, s.hello.Version, s.server, model.Version)
	}
	if w.s != s {
		w.s, w.id = s, s.watches.Add(1)
		w.anew()
	}
	if w.o, err = w.r.open(ctx, s, wire.KindWatch); err != nil {
		w.o = nil
		if errors.Is(err, model.ErrUnknownOutcome) {
			err = fmt.Errorf("%w: opening collection %q: %s", model.ErrNotSent, w.r.c.collection, err.Error())
		}
		return nil, err
	}
	req := wire.WatchRequest{Coll: w.o.coll, Id: w.id, From: w.from, History: w.history, Areas: w.areas}
	if w.stands {
		req.WaitMs = uint32(watchWait / time.Millisecond)
	}
	if w.old {
		req.Flags = wire.WatchOld
	}
	if w.req, err = req.Append(w.req[:0], w.o.space); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, watchWait+watchPatience)
	defer cancel()
	w.ans, err = s.call(ctx, wire.KindWatch, w.req, w.ans[:0])
	w.r.c.conn.others.wrote()
	w.r.c.conn.counters.addMessage(len(w.req), len(w.ans))
	return w.ans, err
}

// end notifies the server that the watch has ended. The watcher may have ended already.
// If the request is lost, the watcher expires.
func (w *watcher) end(ctx context.Context) {
	if w.s == nil || w.o == nil || !w.s.alive() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	req := wire.WatchRequest{Coll: w.o.coll, Id: w.id, Flags: wire.WatchEnd}
	b, err := req.Append(nil, w.o.space)
	if err == nil {
		_, err = w.s.call(ctx, wire.KindWatch, b, nil)
	}
	if err != nil {
		w.r.c.conn.log.Debug("a watch is left to end by itself", "server", w.s.server, "err", err)
	}
}
