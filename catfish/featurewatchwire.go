package catfish

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// The payloads of a watch, little-endian, beside those of featurewire.go.
//
//	request  coll u32, flags u32, id u64, from u64, history u64, wait ms u32, areas u32,
//	         areas: name, query bytes u32, query
//	answer   history u64, resume u64, events
//
//	event    kind u8, why u8, flags u8, 0 u8, revision u64, resume u64, area, id
//	         then the feature after the write, and the one before, as flags say
//	         (feature, of featurewire.go, with an empty id)
//	failed   an event of kind watchFailed ends with failure bytes u32, failure
//
// The server ignores the areas if it knows the id. No event follows a failed one.
const (
	watchOld = 1 << iota // of a request: features before the write are wanted, too
	watchEnd             // of a request: the id will not be used again
)

const (
	watchHeadBytes = headBytes + 32
	eventBytes     = 20
	watchFailed    = 0xff // the kind of an event that could not be made

	eventNew = 1 // the feature after the write follows
	eventOld = 2 // the feature before the write follows
)

// watchRequest is a watch on the wire.
type watchRequest struct {
	coll, flags       uint32
	id, from, history uint64
	waitMs            uint32
	areas             []watchedArea
}

func (r *watchRequest) append(b []byte, space feature.Space) ([]byte, error) {
	b = appendHead(b, r.coll, r.flags)
	b = binary.LittleEndian.AppendUint64(b, r.id)
	b = binary.LittleEndian.AppendUint64(b, r.from)
	b = binary.LittleEndian.AppendUint64(b, r.history)
	b = binary.LittleEndian.AppendUint32(b, r.waitMs)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.areas)))
	for i := range r.areas {
		a := &r.areas[i]
		if len(a.name) > math.MaxUint16 {
			return b, fmt.Errorf("%w: a name of %d bytes, want at most %d", store.ErrQuery, len(a.name), math.MaxUint16)
		}
		b = binary.LittleEndian.AppendUint32(appendText(b, a.name), 0)
		begin := len(b)
		var err error
		if b, err = appendFindQuery(b, &a.query, space); err != nil {
			return b, err
		}
		binary.LittleEndian.PutUint32(b[begin-4:], uint32(len(b)-begin))
	}
	return b, nil
}

// getWatchHead decodes all but the areas, of which it returns the bytes.
func getWatchHead(b []byte) (r watchRequest, areas int, rest []byte, err error) {
	if len(b) < watchHeadBytes {
		return r, 0, nil, fmt.Errorf("%w: watch of %d bytes, want %d or more", ErrProtocol, len(b), watchHeadBytes)
	}
	r.coll, r.flags = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	b = b[headBytes:]
	r.id, r.from = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	r.history, r.waitMs = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint32(b[24:])
	return r, int(binary.LittleEndian.Uint32(b[28:])), b[32:], nil
}

// getWatchAreas decodes the areas, whose names and filters are in memory of their
// own.
func getWatchAreas(n int, b []byte) (areas []watchedArea, err error) {
	for ; n > 0; n-- { // Each takes bytes, or ends this.
		name, rest, err := cutText(b)
		if err != nil {
			return nil, err
		}
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, fmt.Errorf("%w: area %q with %d bytes behind its name", ErrProtocol, name, len(rest))
		}
		end := 4 + int(binary.LittleEndian.Uint32(rest))
		q, err := getFindQuery(rest[4:end])
		if err != nil {
			return nil, err
		}
		areas = append(areas, watchedArea{string(name), q})
		b = rest[end:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: areas with %d bytes behind them", ErrProtocol, len(b))
	}
	return areas, nil
}

// appendEvent adds an event to an answer; failed: why it could not be made.
func appendEvent(b []byte, e *store.Event, old bool, failed error) []byte {
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
	b = appendText(appendText(b, e.Name), e.ID)
	if failed != nil {
		text := appendFailure(nil, failed, 0)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	for i, f := range []*store.Found{e.New, e.Old} {
		if flags&(eventNew<<i) != 0 {
			without := *f
			without.ID = nil
			b = appendFeature(b, &without)
		}
	}
	return b
}

// getEvent cuts an event off an answer. failed: the server could not make it.
func getEvent(b []byte) (e FeatureEvent, rest []byte, failed, err error) {
	if len(b) < eventBytes {
		return e, nil, nil, fmt.Errorf("%w: an event of %d bytes", ErrProtocol, len(b))
	}
	kind, why, flags := b[0], b[1], b[2]
	e.Kind, e.Why = store.EventKind(kind), store.Why(why)
	e.Revision, e.Resume = binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint64(b[12:])
	area, b, err := cutText(b[eventBytes:])
	if err != nil {
		return e, nil, nil, err
	}
	id, b, err := cutText(b)
	if err != nil {
		return e, nil, nil, err
	}
	e.Area, e.ID = string(area), string(id)
	if kind == watchFailed {
		e.Kind = query.Progress
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)-4) {
			return e, nil, nil, fmt.Errorf("%w: a failed event that ends with %d bytes", ErrProtocol, len(b))
		}
		return e, nil, getFailure(b[4:]), nil
	}
	gone := e.Why == query.Deleted || e.Why == query.Expired
	switch {
	case e.Kind < query.Enter || e.Kind > query.Changed || e.Why > query.Expired || (e.Why != query.NoReason) != (e.Kind == query.Exit),
		flags > eventNew|eventOld, (flags&eventNew == 0) != gone:
		return e, nil, nil, fmt.Errorf("%w: event of kind %d, reason %d, flags %d", ErrProtocol, kind, why, flags)
	}
	e.Feature.ID = e.ID
	for _, which := range []byte{eventNew, eventOld} {
		if flags&which == 0 {
			continue
		}
		var f store.Found
		if f, b, err = getFeature(b); err != nil {
			return e, nil, nil, err
		}
		f.ID = id
		if which == eventOld {
			before := Feature(f.Feature())
			e.Old = &before
			continue
		}
		e.Feature = Feature(f.Feature())
	}
	return e, b, nil, nil
}
