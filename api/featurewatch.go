package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

const (
	// DefaultWatchProgress is the interval at which a Watch without events
	// reports its progress.
	DefaultWatchProgress = 15 * time.Second

	// MaxWatchAreas is the maximum number of areas of one Watch: boxes with a filter
	// and a name of some 100 bytes fill the largest message.
	MaxWatchAreas = 10_000
)

// errStopping ends watches, which have no end of their own.
var errStopping = errors.New("api: the server is stopping; watch on behind the last revision that was told, when it is there again")

// newWatchBudget returns the budget for watches; 0: before a store is loaded.
func newWatchBudget(areas int) *limits.Budget {
	return limits.NewWatchBudget("areas watched over gRPC", areas)
}

// featureWatch is one Watch.
type featureWatch struct {
	*featureService
	ctx    context.Context
	stream grpc.ServerStream
	req    *catfishv1.FeatureServiceWatchRequest
	f      *whole.Follower
	budget *limits.Budget
	sel    selection
	bytes  int64 // held in addition to the batch
	batch  []byte
	in     int // events in it
}

// Watch sends the events that the collection's log has for the query, or areas.
// The watcher keeps a place in the log, and reads on when the client has taken
// what was sent. So a slow client holds no more of the server than a fast one,
// until the log no longer has the next event (package store).
func (s *featureService) Watch(req *catfishv1.FeatureServiceWatchRequest,
	stream grpc.ServerStreamingServer[catfishv1.FeatureServiceWatchResponse],
) error {
	ctx, name := stream.Context(), req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return err
	}
	w := &featureWatch{featureService: s, ctx: ctx, stream: stream, req: req, budget: s.watches.Load()}
	account := w.budget.Open(sourceOf(ctx), func(err error) {
		callOf(ctx).end(overBudget(w.budget, ReasonWatchLimit, busyRetry, err))
	})
	defer account.Close()
	if err = w.begin(c, account); err == nil {
		defer w.f.Close()
		err = w.run()
	}
	return failed(ctx, name, w.resumable(err))
}

// begin creates the watcher.
func (r *featureWatch) begin(c whole.Collection, account *limits.Account) (err error) {
	areas := r.req.GetAreas()
	switch {
	case len(areas) == 0:
		areas = []*catfishv1.WatchedArea{{Query: r.req.GetQuery()}}
	case r.req.GetQuery() != nil:
		return &fieldError{"query", ReasonBadField, errors.New("areas are given, too, want one of the two")}
	}
	if err := r.count(account, 1, int64(len(areas))); err != nil {
		return err
	}
	if r.sel, err = selectionOf(r.req.GetSelection()); err != nil {
		return err
	}
	from := whole.From{WatchOptions: store.WatchOptions{From: r.req.GetAfterRevision(), History: r.req.GetHistory()}}
	if from.Groups, err = placement.ParseWatchPosition(r.req.GetPosition()); err != nil {
		return &fieldError{"position", ReasonBadField, err}
	}
	if r.f, err = c.Follow(r.ctx, from, r.boxes.Host, sourceOf(r.ctx)); err != nil {
		return err
	}
	if err = r.add(c, areas, account); err == nil {
		err = r.f.Start(r.ctx)
	}
	if err != nil {
		r.f.Close()
	}
	return err
}

// count counts these watchers and areas.
func (r *featureWatch) count(account *limits.Account, watchers, areas int64) error {
	if err := account.Take(watchers*limits.WatcherUnits + areas); err != nil {
		return overBudget(r.budget, ReasonWatchLimit, busyRetry, err)
	}
	r.bytes += watchers*limits.WatcherBytes + areas*limits.AreaBytes
	return hold(r.ctx, r.bytes)
}

// add adds the areas to the watcher. Each is prepared once, in its own step.
func (r *featureWatch) add(c whole.Collection, areas []*catfishv1.WatchedArea, account *limits.Account) error {
	p := r.pacer(r.ctx)
	defer p.end()
	names := make(map[string]struct{}, len(areas))
	for i, a := range areas {
		if err := p.pace(); err != nil {
			return err
		}
		field, nameField := "query", "query"
		if len(r.req.GetAreas()) > 0 {
			nameField = fmt.Sprintf("areas[%d].name", i)
			field = fmt.Sprintf("areas[%d].query", i)
		}
		if _, twice := names[a.GetName()]; twice {
			return &fieldError{nameField, ReasonBadField, fmt.Errorf("%w: area %q twice", store.ErrQuery, a.GetName())}
		}
		names[a.GetName()] = struct{}{}
		q, err := decoded(c, field, a.GetQuery())
		if err == nil {
			err = r.count(account, 0, int64(store.WatchWeight(&q))-1)
		}
		if err == nil {
			if err = r.f.Add(a.GetName(), q); errors.Is(err, store.ErrQuery) {
				err = ofQuery(field, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run sends events until something ends it.
func (r *featureWatch) run() error {
	if err := r.send(); err != nil { // Confirms the watch.
		return err
	}
	for {
		err := r.f.Gather(r.ctx, r.options.watchProgress, r)
		// Events that precede an error are sent before it.
		if err == nil || r.in > 0 {
			if sent := r.send(); sent != nil {
				return sent
			}
		}
		if err != nil {
			return err
		}
	}
}

// Filled is for store.Follower.
func (r *featureWatch) Filled() (some, full bool) {
	return r.in > 0, r.in >= BatchItems || len(r.batch) >= batchBytes
}

// Take appends an event to the batch. One that could not be built ends the watch.
func (r *featureWatch) Take(e *store.Event, failed error) (err error) {
	if failed != nil {
		return ofFeature(e.ID, failed)
	}
	if r.batch, err = r.appendEvent(r.batch, e); err == nil {
		r.in++
	}
	return err
}

// Fields of FeatureServiceWatchResponse and FeatureEvent, in wire form as
// features are (featuremessage.go).
const (
	eventsField = 1 + iota
	revisionField
	historyField
	positionField
)

var (
	eventKinds = [...]catfishv1.FeatureEventKind{
		query.Enter:   catfishv1.FeatureEventKind_FEATURE_EVENT_KIND_ENTER,
		query.Exit:    catfishv1.FeatureEventKind_FEATURE_EVENT_KIND_EXIT,
		query.Inside:  catfishv1.FeatureEventKind_FEATURE_EVENT_KIND_INSIDE,
		query.Changed: catfishv1.FeatureEventKind_FEATURE_EVENT_KIND_CHANGED,
	}
	eventEnds = [...]catfishv1.FeatureEnd{
		query.Moved:    catfishv1.FeatureEnd_FEATURE_END_MOVED,
		query.Filtered: catfishv1.FeatureEnd_FEATURE_END_FILTERED,
		query.Deleted:  catfishv1.FeatureEnd_FEATURE_END_DELETED,
		query.Expired:  catfishv1.FeatureEnd_FEATURE_END_EXPIRED,
	}
)

// appendEvent appends the event to a batch.
func (r *featureWatch) appendEvent(b []byte, e *store.Event) (_ []byte, err error) {
	b = protowire.AppendTag(b, eventsField, protowire.BytesType)
	at := len(b)
	b = protowire.AppendTag(b, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(eventKinds[e.Kind]))
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	now := len(b)
	if e.New != nil {
		b, err = r.sel.appendFeature(b, e.New)
	} else {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, e.ID)
	}
	b = prefixLength(b, now)
	b = protowire.AppendTag(b, 3, protowire.VarintType)
	b = protowire.AppendVarint(b, e.Revision)
	if e.Kind == query.Exit {
		b = protowire.AppendTag(b, 4, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(eventEnds[e.Why]))
	}
	if e.Name != "" {
		b = protowire.AppendTag(b, 5, protowire.BytesType)
		b = protowire.AppendString(b, e.Name)
	}
	if err == nil && r.req.GetOld() && e.Old != nil {
		b = protowire.AppendTag(b, 6, protowire.BytesType)
		old := len(b)
		b, err = r.sel.appendFeature(b, e.Old)
		b = prefixLength(b, old)
	}
	return prefixLength(b, at), err
}

// send sends the batch, which may be empty, and waits until the client has room for
// it.
func (r *featureWatch) send() error {
	b := protowire.AppendTag(r.batch, revisionField, protowire.VarintType)
	b = protowire.AppendVarint(b, r.f.At)
	b = protowire.AppendTag(b, historyField, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, r.f.History())
	if p := r.f.Position(); p != nil {
		b = protowire.AppendString(protowire.AppendTag(b, positionField, protowire.BytesType), p.String())
	}
	large := cap(b) > poolBytes
	if large {
		if err := hold(r.ctx, r.bytes+int64(cap(b))); err != nil {
			return err
		}
	}
	r.batch, r.in = nil, 0
	err := sendWire(r.ctx, r.stream, b)
	if err == nil && large {
		err = hold(r.ctx, r.bytes)
	}
	return err
}

// watchError is why a watch ended that may continue after a revision, or a position.
type watchError struct {
	resume   uint64
	position *placement.WatchPosition // nil: of one group
	err      error
}

func (e *watchError) Error() string { return e.err.Error() }
func (e *watchError) Unwrap() error { return e.err }

// resumable adds where to continue, if that is useful.
func (r *featureWatch) resumable(err error) error {
	if why := context.Cause(r.ctx); why != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = why
	}
	// The watcher reports that its collection was dropped.
	if errors.Is(err, store.ErrUnknownCollection) || store.SearchAgain(err) || r.f == nil || r.f.At == 0 && r.f.Position() == nil {
		return err
	}
	return &watchError{r.f.At, r.f.Position(), err}
}
