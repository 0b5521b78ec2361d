package mover

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// A stream between the primaries of two groups. The destination asks, the source answers, one
// request at a time:
//
//	hello (line)       ---->
//	                   <----  answer (line): empty, or why not
//	request (line)     ---->
//	                   <----  answer (line), then Bytes of states
//
// Lines are JSON. A state is
//
//	collection  uvarint length, bytes
//	kind        1 byte: 0 a feature, 1 a record, 2 a box
//	id, value   uvarint length, bytes
//	expiry      uvarint, ns since the Unix epoch

// ErrProtocol: the other side sends what is not of this protocol.
var ErrProtocol = errors.New("mover: not the protocol of moves")

const (
	// lineBytes bounds a line of the destination, which may have a key of record.MaxKeyBytes and the
	// parts; the source's may list all collections.
	lineBytes   = 128 << 10
	answerBytes = 4 << 20
	// statesBytes bounds the states of an answer: ids and values of about 4 MiB, and one value more.
	statesBytes = disk.MaxValueBytes + 32<<20
	// pieceBytes are written, or read, within answerTime.
	pieceBytes = 1 << 20
	// pageStates is how many states are asked for at once.
	pageStates = 4096
	// answerTime bounds the wait for an answer, and idleTime that for a request.
	answerTime = 10 * time.Second
	idleTime   = 30 * time.Second
)

type hello struct {
	Group string `json:"group"` // the destination's
	Key   string `json:"key,omitempty"`
}

// request is for one of: collections, a page of a scan, a page of the log.
type request struct {
	Slots  []byte            `json:"slots,omitempty"` // a SlotSet
	Ranges []placement.Part  `json:"ranges,omitempty"`
	Scan   *store.SlotCursor `json:"scan,omitempty"`
	Log    uint64            `json:"log,omitzero,string"` // from this revision; the group has all before
}

type answer struct {
	Error       string             `json:"error,omitempty"`
	Trimmed     bool               `json:"trimmed,omitempty"` // the log does not go back so far
	Collections []store.Definition `json:"collections,omitempty"`
	Scan        *store.SlotCursor  `json:"scan,omitempty"` // where to continue
	Log         uint64             `json:"log,omitzero,string"`
	End         uint64             `json:"end,omitzero,string"` // the source's last revision
	States      int                `json:"states,omitzero"`
	Bytes       int                `json:"bytes,omitzero"`
}

// writeLine writes a line, and what follows it.
func writeLine(c net.Conn, v any, body []byte) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	for b = append(append(b, '\n'), body...); len(b) > 0; {
		if err := c.SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
			return err
		}
		n, err := c.Write(b[:min(len(b), pieceBytes)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// readLine reads a line of at most r.Size bytes.
func readLine(c net.Conn, r *bufio.Reader, wait time.Duration, to any) error {
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, r.Size())
	case err != nil:
		return err
	}
	if err := json.Unmarshal(line, to); err != nil {
		return fmt.Errorf("%w: %.40q: %w", ErrProtocol, line, err)
	}
	return nil
}

// appendStates appends the encoded forms.
func appendStates(b []byte, states []store.MovedState) []byte {
	field := func(f []byte) { b = append(binary.AppendUvarint(b, uint64(len(f))), f...) }
	for i := range states {
		s := &states[i]
		field([]byte(s.Collection))
		switch {
		case s.Records:
			b = append(b, 1)
		case s.Boxes:
			b = append(b, 2)
		default:
			b = append(b, 0)
		}
		field(s.ID)
		field(s.Value)
		b = binary.AppendUvarint(b, uint64(s.Expiry))
	}
	return b
}

// getStates decodes states, which use b.
func getStates(b []byte, n int) ([]store.MovedState, error) {
	short := false
	number := func() (v uint64) {
		v, width := binary.Uvarint(b)
		if short = short || width <= 0; short {
			return 0
		}
		b = b[width:]
		return v
	}
	field := func() (f []byte) {
		n := number()
		if short = short || n > uint64(len(b)); short {
			return nil
		}
		f, b = b[:n:n], b[n:]
		return f
	}
	var states []store.MovedState
	for ; n > 0 && !short; n-- {
		s := store.MovedState{Collection: string(field())}
		if short = short || len(b) == 0 || b[0] > 2; short {
			break
		}
		s.Records, s.Boxes, b = b[0] == 1, b[0] == 2, b[1:]
		s.ID, s.Value, s.Expiry = field(), field(), time.Duration(number())
		states = append(states, s)
	}
	if short || len(b) > 0 {
		return nil, fmt.Errorf("%w: states of %d ids, with %d bytes more or too few", ErrProtocol, len(states), len(b))
	}
	return states, nil
}

// slotBytes is the form of a set in a request.
func slotBytes(all parts) (b []byte) {
	s := all.slots()
	if s == (store.SlotSet{}) {
		return nil
	}
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// parts are those that a request is for.
func (q *request) parts() (parts, error) {
	all := parts{}
	for _, p := range q.Ranges {
		if p.Collection == "" {
			return nil, fmt.Errorf("%w: a range of no collection", ErrProtocol)
		}
		all[p] = true
	}
	if len(q.Slots) == 0 {
		return all, nil
	}
	set, err := slotsFrom(q.Slots)
	for slot := range uint16(placement.Slots) {
		if set.Has(slot) {
			all[placement.Part{Slot: slot}] = true
		}
	}
	return all, err
}

func slotsFrom(b []byte) (s store.SlotSet, err error) {
	if len(b) != 8*len(s) {
		return s, fmt.Errorf("%w: slots of %d bytes, want %d", ErrProtocol, len(b), 8*len(s))
	}
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return s, nil
}

// readStates reads what follows an answer.
func readStates(c net.Conn, r io.Reader, a *answer) ([]store.MovedState, error) {
	if a.Bytes < 0 || a.Bytes > statesBytes || a.States < 0 || a.States > a.Bytes {
		return nil, fmt.Errorf("%w: %d states in %d bytes, at most %d", ErrProtocol, a.States, a.Bytes, statesBytes)
	}
	var b []byte // It grows as bytes come: the number is what the other side says.
	for len(b) < a.Bytes {
		if err := c.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
			return nil, err
		}
		n := min(a.Bytes-len(b), pieceBytes)
		b = slices.Grow(b, n)[:len(b)+n]
		if _, err := io.ReadFull(r, b[len(b)-n:]); err != nil {
			return nil, err
		}
	}
	return getStates(b, a.States)
}
