package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/query"
)

// WatchBytes is when an answer is full: some hundred events, and 1 ms of the
// smallest connection that is served well.
const WatchBytes = 256 << 10

const WatchAnswerBytes = 16 // before the events

// AppendWatchHead appends what each answer to a watch begins with.
func AppendWatchHead(b []byte, history, resume uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, history), resume)
}

// The payloads of a watch, little-endian, beside those of features.go.
//
//	request  coll u32, flags u32, id u64, from u64, history u64, wait ms u32, areas u32,
//	         areas: name, query bytes u32, query
//	answer   history u64, resume u64, events
//
//	event    kind u8, why u8, flags u8, 0 u8, revision u64, resume u64, area, id
//	         then the feature after the write, and the one before, as flags say
//	         (feature, of features.go, with an empty id)
//	failed   an event of kind watchFailed ends with failure bytes u32, failure
//
// The server ignores the areas if it knows the id. No event follows a failed one.
const (
	WatchOld = 1 << iota // of a request: features before the write are wanted, too
	WatchEnd             // of a request: the id will not be used again
)

const (
	watchHeadBytes = HeadBytes + 32
	eventBytes     = 20
	watchFailed    = 0xff // the kind of an event that could not be made

	eventNew = 1 // the feature after the write follows
	eventOld = 2 // the feature before the write follows
)

// WatchRequest is a watch on the wire.
type WatchRequest struct {
	Coll, Flags       uint32
	Id, From, History uint64
	WaitMs            uint32
	Areas             []WatchedArea
}

// Append appends the encoded form.
func (r *WatchRequest) Append(b []byte, space feature.Space) ([]byte, error) {
	b = AppendHead(b, r.Coll, r.Flags)
	b = binary.LittleEndian.AppendUint64(b, r.Id)
	b = binary.LittleEndian.AppendUint64(b, r.From)
	b = binary.LittleEndian.AppendUint64(b, r.History)
	b = binary.LittleEndian.AppendUint32(b, r.WaitMs)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.Areas)))
	for i := range r.Areas {
		a := &r.Areas[i]
		if len(a.Name) > math.MaxUint16 {
			return b, fmt.Errorf("%w: a name of %d bytes, want at most %d", fault.ErrQuery, len(a.Name), math.MaxUint16)
		}
		b = binary.LittleEndian.AppendUint32(AppendText(b, a.Name), 0)
		begin := len(b)
		var err error
		if b, err = AppendFindQuery(b, &a.Query, space); err != nil {
			return b, err
		}
		binary.LittleEndian.PutUint32(b[begin-4:], uint32(len(b)-begin))
	}
	return b, nil
}

// GetWatchHead decodes all but the areas, of which it returns the bytes.
func GetWatchHead(b []byte) (r WatchRequest, areas int, rest []byte, err error) {
	if len(b) < watchHeadBytes {
		return r, 0, nil, fmt.Errorf("%w: watch of %d bytes, want %d or more", model.ErrProtocol, len(b), watchHeadBytes)
	}
	r.Coll, r.Flags = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	b = b[HeadBytes:]
	r.Id, r.From = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	r.History, r.WaitMs = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint32(b[24:])
	return r, int(binary.LittleEndian.Uint32(b[28:])), b[32:], nil
}

// GetWatchAreas decodes the areas, whose names and filters are in memory of their
// own.
func GetWatchAreas(n int, b []byte) (areas []WatchedArea, err error) {
	for ; n > 0; n-- { // Each takes bytes, or ends this.
		name, rest, err := CutText(b)
		if err != nil {
			return nil, err
		}
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, fmt.Errorf("%w: area %q with %d bytes behind its name", model.ErrProtocol, name, len(rest))
		}
		end := 4 + int(binary.LittleEndian.Uint32(rest))
		q, err := GetFindQuery(rest[4:end])
		if err != nil {
			return nil, err
		}
		areas = append(areas, WatchedArea{string(name), q})
		b = rest[end:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: areas with %d bytes behind them", model.ErrProtocol, len(b))
	}
	return areas, nil
}

// AppendEvent adds an event to an answer; failed: why it could not be made.
func AppendEvent(b []byte, e *query.Event, old bool, failed error) []byte {
	kind, flags := byte(e.Kind), byte(0)
	switch {
	case failed != nil:
		kind = watchFailed
	case e.New != nil && old && e.Old != nil:
		flags = eventNew | eventOld
	case e.New != nil:
		flags = eventNew
	case old && e.Old != nil:
		flags = eventOld
	}
	b = append(b, kind, byte(e.Why), flags, 0)
	b = binary.LittleEndian.AppendUint64(b, e.Revision)
	b = binary.LittleEndian.AppendUint64(b, e.Resume)
	b = AppendText(AppendText(b, e.Name), e.ID)
	if failed != nil {
		text := AppendFailure(nil, failed, 0)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	for i, f := range []*query.Found{e.New, e.Old} {
		if flags&(eventNew<<i) != 0 {
			without := *f
			without.ID = nil
			b = AppendFeature(b, &without)
		}
	}
	return b
}

// GetEvent cuts an event off an answer. failed: the server could not make it.
func GetEvent(b []byte) (e model.FeatureEvent, rest []byte, failed, err error) {
	if len(b) < eventBytes {
		return e, nil, nil, fmt.Errorf("%w: an event of %d bytes", model.ErrProtocol, len(b))
	}
	kind, why, flags := b[0], b[1], b[2]
	e.Kind, e.Why = query.EventKind(kind), query.Why(why)
	e.Revision, e.Resume = binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint64(b[12:])
	area, b, err := CutText(b[eventBytes:])
	if err != nil {
		return e, nil, nil, err
	}
	id, b, err := CutText(b)
	if err != nil {
		return e, nil, nil, err
	}
	e.Area, e.ID = string(area), string(id)
	if kind == watchFailed {
		e.Kind = query.Progress
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)-4) {
			return e, nil, nil, fmt.Errorf("%w: a failed event that ends with %d bytes", model.ErrProtocol, len(b))
		}
		return e, nil, GetFailure(b[4:]), nil
	}
	gone := e.Why == query.Deleted || e.Why == query.Expired
	switch {
	case e.Kind < query.Enter || e.Kind > query.Changed || e.Why > query.Expired || (e.Why != query.NoReason) != (e.Kind == query.Exit),
		flags > eventNew|eventOld, (flags&eventNew == 0) != gone:
		return e, nil, nil, fmt.Errorf("%w: event of kind %d, reason %d, flags %d", model.ErrProtocol, kind, why, flags)
	}
	e.Feature.ID = e.ID
	for _, which := range []byte{eventNew, eventOld} {
		if flags&which == 0 {
			continue
		}
		var f query.Found
		if f, b, err = GetFeature(b); err != nil {
			return e, nil, nil, err
		}
		f.ID = id
		if which == eventOld {
			before := model.Feature(f.Feature())
			e.Old = &before
			continue
		}
		e.Feature = model.Feature(f.Feature())
	}
	return e, b, nil, nil
}

// WatchedArea is a WatchArea as the store has it.
type WatchedArea struct {
	Name  string
	Query query.Query
}

// AreasOf returns the areas of a query.
func AreasOf(q *model.WatchQuery) []WatchedArea {
	if len(q.Areas) == 0 {
		return []WatchedArea{{Query: q.Query.OfStore()}}
	}
	all := make([]WatchedArea, len(q.Areas))
	for i := range q.Areas {
		all[i] = WatchedArea{q.Areas[i].Name, q.Areas[i].Query.OfStore()}
	}
	return all
}

// OneServers refuses a query from a position of several groups.
func OneServers(q *model.WatchQuery) error {
	if q.Position == "" {
		return nil
	}
	return fmt.Errorf("%w: position %.40q is of several groups, and one server has this store: search again", model.ErrLagged, q.Position)
}
