package whole

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// eventHead is the bytes of an event's numbers: kind, why, states, revision, resume, and the lengths of
// its name, id, and first state.
const eventHead = 29

// appendStands appends where a watch begins.
func appendStands(b []byte, at store.WatchOptions) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, at.From), at.History)
}

func getStands(b []byte) (at store.WatchOptions, err error) {
	if len(b) != 16 {
		return at, fmt.Errorf("%w: the beginning of a watch has %d bytes", errFormat, len(b))
	}
	return store.WatchOptions{From: binary.LittleEndian.Uint64(b), History: binary.LittleEndian.Uint64(b[8:])}, nil
}

// appendEvent appends an event with its states.
func appendEvent(b []byte, e *store.Event, failed error) []byte {
	states := byte(0)
	var now []byte
	if e.New != nil {
		states |= 1
		now = appendFound(nil, e.New, 0)
	}
	if e.Old != nil {
		states |= 2
	}
	b = append(b, byte(e.Kind), byte(e.Why), states)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, e.Revision), e.Resume)
	text := ""
	if failed != nil {
		text = failed.Error()
	}
	for _, n := range []int{len(e.Name), len(e.ID)} {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(min(len(text), 1<<16-1)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(now)))
	b = append(append(append(append(b, e.Name...), e.ID...), text[:min(len(text), 1<<16-1)]...), now...)
	if e.Old != nil {
		b = appendFound(b, e.Old, 0)
	}
	return b
}

func getEvent(b []byte) (e store.Event, failed, err error) {
	bad := fmt.Errorf("%w: an event of %d bytes", errFormat, len(b))
	if len(b) < eventHead {
		return e, nil, bad
	}
	e = store.Event{Kind: query.EventKind(b[0]), Why: query.Why(b[1]),
		Revision: binary.LittleEndian.Uint64(b[3:]), Resume: binary.LittleEndian.Uint64(b[11:])}
	states := b[2]
	name, id, text := int(binary.LittleEndian.Uint16(b[19:])), int(binary.LittleEndian.Uint16(b[21:])), int(binary.LittleEndian.Uint16(b[23:]))
	now := int(binary.LittleEndian.Uint32(b[25:]))
	if b = b[eventHead:]; len(b) < name+id+text+now {
		return e, nil, bad
	}
	e.Name, e.ID = string(b[:name]), string(b[name:name+id])
	if text > 0 {
		failed = errors.New(string(b[name+id : name+id+text]))
	}
	b = b[name+id+text:]
	state := func(has byte, b []byte) (*store.Found, error) {
		if states&has == 0 {
			return nil, nil
		}
		f, _, err := getFound(b)
		return &f, err
	}
	if e.New, err = state(1, b[:now]); err != nil {
		return e, nil, err
	}
	e.Old, err = state(2, b[now:])
	if err == nil && failed == nil && e.Kind != query.Progress && e.New == nil && e.Old == nil {
		err = fmt.Errorf("%w: an event without a feature", errFormat)
	}
	return e, failed, err
}
