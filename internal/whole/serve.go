package whole

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// ServeMembers answers other groups on streams that l accepts, until Shutdown, which is no
// error.
func (k *Groups) ServeMembers(l net.Listener) error {
	err := k.server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

var errKeyEnded = fmt.Errorf("%w: the key of the other group's member has ended", access.ErrUnauthenticated)

var errStopping = fmt.Errorf("%w: the member stops", fault.ErrNotReady)

// Shutdown ends the streams with other groups, after the requests in flight, or with ctx.
func (k *Groups) Shutdown(ctx context.Context) {
	k.stop()
	if k.server.Shutdown(ctx) != nil {
		_ = k.server.Close()
	}
	k.transport.CloseIdleConnections()
}

// answer answers a request of another group.
func (k *Groups) answer(w http.ResponseWriter, q *http.Request) {
	out := bufio.NewWriterSize(w, pieceBytes)
	give := func(f *store.Found, tag int32) (bool, error) {
		return true, writeFrame(out, frameFound, appendFound(nil, f, tag))
	}
	boxes := func(found []FoundBox) error { return writeFrame(out, frameBoxes, appendBoxes(nil, found)) }
	a, err := k.answered(q, give, boxes, &events{
		stands: func(at store.WatchOptions) error { return writeFrame(out, frameStands, appendStands(nil, at)) },
		take: func(e *store.Event, failed error) error {
			return writeFrame(out, frameEvent, appendEvent(nil, e, failed))
		},
		flush: func() error { return errors.Join(out.Flush(), http.NewResponseController(w).Flush()) },
	})
	kind, last := byte(frameAnswer), any(&a)
	if err != nil {
		kind, last = frameError, failureOf(err, a.N)
	}
	b, err := json.Marshal(last)
	if err == nil {
		err = writeFrame(out, kind, b)
	}
	if err != nil || out.Flush() != nil {
		panic(http.ErrAbortHandler) // What has come is no answer.
	}
}

func (k *Groups) answered(q *http.Request, give give, boxes func([]FoundBox) error, events *events) (a answer, err error) {
	ctx, cut := context.WithCancelCause(q.Context())
	defer cut(nil)
	if k.o.Check != nil {
		stop, err := k.o.Check(q.Header, func() { cut(errKeyEnded) })
		if err != nil {
			return a, err
		}
		defer stop()
	}
	source := limits.SourceOf(address(q.RemoteAddr))
	account := k.bytes.Open(source, cut)
	defer account.Close()
	var sent, kept int64
	r, err := readRequest(q.Body, func(n int64) error { return limits.Hold(account, k.o.Host, &sent, sent+n) })
	if err != nil {
		return a, err
	}
	if r.events, r.boxes = events, boxes; r.Op == opWatch {
		defer context.AfterFunc(k.stopping, func() { cut(errStopping) })()
	}
	a, err = k.part(ctx, source, r, func(n int64) error { return limits.Hold(account, k.o.Host, &kept, n) }, give)
	if why := context.Cause(ctx); err != nil && why != nil {
		err = why
	}
	return a, err
}

// address is a net.Addr.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
