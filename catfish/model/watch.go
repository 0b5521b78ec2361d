package model

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/query"
)

// WatchQuery says what to watch.
type WatchQuery struct {
	// Query is the area and filter; its limit, order and cursor must be zero.
	Query FeatureQuery
	// Areas, if there are any, are watched in place of Query, together: their
	// events come in one order. Over a connection, all of them have to fit into one
	// message (16 KB with transport tcp).
	Areas []WatchArea
	// From is the revision after which events are wanted: FeatureEvent.Resume of
	// the last event that was handled, in this process or another. 0: from now on.
	From uint64
	// History is FeatureEvent.History of the same event; 0: not known. If the server's
	// data was restored from a backup since, or begun again empty, From is a revision
	// of other writes, and only History shows this.
	History uint64
	// Position is FeatureEvent.Position of the same event, if several groups of servers have
	// the store; then From and History are 0. Empty: from now on. A program that gives all
	// three from an event works with one server and with several groups.
	Position string
	// Old: events contain the feature before the write, too.
	Old bool
	// Progress: events of kind Progress are wanted, too. The first comes as
	// soon as the watch stands, others when there was no event for a while. A caller
	// that keeps their Resume has less to catch up with.
	Progress bool
}

// WatchArea is one of several areas.
type WatchArea struct {
	Name  string // names the area in events; no two areas share one
	Query FeatureQuery
}

// FeatureEvent is something that happened to a feature, as an area sees it.
type FeatureEvent struct {
	Kind EventKind
	Why  Why    // why it left; of an Exit
	Area string // WatchArea.Name
	ID   string
	// Revision of the write. Several areas may have an event of it.
	Revision uint64
	// Resume is the WatchQuery.From for the events after this one. If a write
	// concerns several areas, its events share one moment: until the last of
	// them, Resume is before all of them.
	Resume uint64
	// History of the writes to which Resume belongs: WatchQuery.History.
	History uint64
	// Position is the WatchQuery.Position for the events after this one, if several groups
	// of servers have the store: text of at most 2 KiB, which says how far each group is.
	// Resume and History are 0 then, and Revision is one of the group that has the id. From
	// one server it is empty.
	Position string
	// Feature after the write. If it was deleted, its ID alone.
	Feature Feature
	Old     *Feature // before the write, if WatchQuery.Old and there was one
}

// Watch yields the events of the features of an area: those that enter it, leave it,
// move inside it or are changed there, in the order of the writes, each event once,
// until ctx ends or the caller breaks off. An error is the last that is yielded.
//
// Events are of writes, not of the features that the area contains already. To follow an
// area: Watch with Progress, Search when the first Progress comes, and then apply the
// events; those that the search has seen already come again.
//
// Watch runs at the pace of its caller, and loses no event for that: the server looks up
// the events that happen meanwhile. If the server no longer has them, or From is of
// another History, the error is ErrLagged: search again, and watch from then
// on. Without History, a From of other writes is found only if it exceeds all revisions
// of the server. After a lost connection, or while the server is away, the client
// reconnects as long as ctx lasts; the watch then continues after the last event.
//
// If the collection's name leads to another one since (Client.SwapCollections), the
// error is ErrLagged, in this process store.ErrSwapped, too. Over a connection the error
// is the same if the collection was dropped and created again before that was noticed.
//
// If several groups of servers have the store, the events of an id come in the order of its
// writes, and those of several ids in none. If slots move between groups, the error is
// ErrLagged, also with a Position from before.
//
// Other errors: ErrQuery, if From or Position is not what an event had; ErrUnknownCollection, if the collection is dropped;
// ErrWatchLimit, if there are too many watchers or areas; ErrBusy, if one
// client has too many; ErrFilterCost, if a filter took too long with a feature: the
// event that comes with the error has its ID, and the Resume to continue after this
// event.
func (f *Features) Watch(ctx context.Context, q WatchQuery) iter.Seq2[FeatureEvent, error] {
	return func(yield func(FeatureEvent, error) bool) {
		last := FeatureEvent{Resume: q.From, History: q.History, Position: q.Position}
		err := f.be.Watch(ctx, &q, func(e FeatureEvent) bool {
			if last = e; e.Kind == query.Progress && !q.Progress {
				return true
			}
			return yield(e, nil)
		})
		if err != nil {
			var failed *WatchError
			if errors.As(err, &failed) {
				last, err = failed.Event, failed.Err
			}
			yield(FeatureEvent{Area: last.Area, ID: last.ID, Revision: last.Revision, Resume: last.Resume, History: last.History, Position: last.Position}, searchAgain(err))
		}
	}
}

// WatchError is the error of a backend about one event.
type WatchError struct {
	Event FeatureEvent
	Err   error
}

func (e *WatchError) Error() string { return e.Err.Error() }

func (e *WatchError) Unwrap() error { return e.Err }

// searchAgain makes one error name the remedy, whatever the reason is.
func searchAgain(err error) error {
	if (errors.Is(err, fault.ErrTrimmed) || errors.Is(err, fault.ErrAhead)) && !errors.Is(err, fault.ErrLagged) {
		return fmt.Errorf("%w: %w", fault.ErrLagged, err)
	}
	return err
}
