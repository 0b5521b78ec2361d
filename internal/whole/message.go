package whole

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/store"
)

// A request is the body of a POST, and its answer the body of the response. Both are frames:
//
//	1      4
//	+------+-------+---------+
//	| kind | n u32 | n bytes |     little-endian
//	+------+-------+---------+
//
//	request   r (JSON), then p for each put
//	answer    f for each feature, then a (JSON); or e (JSON), with which what came before does
//	          not count; of a watch, s, and w for each event
const (
	frameRequest = 'r'
	framePut     = 'p'
	frameFound   = 'f'
	frameEvent   = 'w'
	frameBoxes   = 'b'
	frameStands  = 's' // All writes from now on give events.
	frameAnswer  = 'a'
	frameError   = 'e'

	frameHead = 5
	// maxFrame bounds a frame: a feature, or the counts of a grid.
	maxFrame = 256 << 20
)

// errFormat: a member has sent what this one does not understand.
var errFormat = fmt.Errorf("%w: between members", fault.ErrProtocol)

func writeFrame(w *bufio.Writer, kind byte, payload []byte) error {
	head := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// readFrame reads a frame into memory of its own. hold is called with its size before.
func readFrame(r io.Reader, hold func(int64) error) (kind byte, payload []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes, at most %d", errFormat, n, maxFrame)
	}
	if hold != nil {
		if err := hold(int64(n)); err != nil {
			return 0, nil, err
		}
	}
	if n <= pageBytes {
		payload = make([]byte, n)
		if _, err = io.ReadFull(r, payload); errors.Is(err, io.EOF) && n > 0 {
			err = io.ErrUnexpectedEOF // The frame has begun.
		}
		return head[0], payload, err
	}
	// Memory grows with what comes, not with what is announced.
	if payload, err = io.ReadAll(io.LimitReader(r, int64(n))); err == nil && len(payload) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return head[0], payload, err
}

// foundHead is the bytes of a feature's numbers: revision, expiry, now, distance, tag.
const foundHead = 36

// appendFound appends a feature. The tag says why it is given (cells.go).
func appendFound(b []byte, f *store.Found, tag int32) []byte {
	for _, v := range []uint64{f.Revision, uint64(f.Expiry), uint64(f.Now), math.Float64bits(f.Distance)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(tag))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(f.ID)))
	return append(append(b, f.ID...), f.Value...)
}

// getFound decodes a feature, to whose bytes it refers.
func getFound(b []byte) (f store.Found, tag int32, err error) {
	if len(b) < foundHead+2 || len(b) < foundHead+2+int(binary.LittleEndian.Uint16(b[foundHead:])) {
		return f, 0, fmt.Errorf("%w: a feature of %d bytes", errFormat, len(b))
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	f = store.Found{Revision: at(0), Expiry: time.Duration(at(1)), Now: time.Duration(at(2)), Distance: math.Float64frombits(at(3))}
	tag = int32(binary.LittleEndian.Uint32(b[32:]))
	n := int(binary.LittleEndian.Uint16(b[foundHead:]))
	b = b[foundHead+2:]
	f.ID, f.Value = b[:n:n], b[n:]
	if f.View, err = feature.Parse(f.Value); err != nil {
		return f, 0, fmt.Errorf("%w: %q: %w", errFormat, f.ID, err)
	}
	return f, tag, nil
}

// putHead is the bytes of a put's numbers: expiry, revision of the condition, flags.
const putHead = 17

// The flags of a put.
const (
	putIfAbsent  = 1
	putIfPresent = 2
)

func appendPut(b []byte, p *put) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(p.Expires))
	b = binary.LittleEndian.AppendUint64(b, p.cond.IfRevision)
	flags := byte(0)
	if p.cond.IfAbsent {
		flags |= putIfAbsent
	}
	if p.cond.IfPresent {
		flags |= putIfPresent
	}
	b = binary.LittleEndian.AppendUint16(append(b, flags), uint16(len(p.ID)))
	return append(append(b, p.ID...), p.Value...)
}

func getPut(b []byte) (p put, err error) {
	if len(b) < putHead+2 || len(b) < putHead+2+int(binary.LittleEndian.Uint16(b[putHead:])) {
		return p, fmt.Errorf("%w: a put of %d bytes", errFormat, len(b))
	}
	p.Expires = int64(binary.LittleEndian.Uint64(b))
	p.cond = kv.Condition{IfRevision: binary.LittleEndian.Uint64(b[8:]), IfAbsent: b[16]&putIfAbsent != 0, IfPresent: b[16]&putIfPresent != 0}
	n := int(binary.LittleEndian.Uint16(b[putHead:]))
	b = b[putHead+2:]
	p.ID, p.Value = string(b[:n]), b[n:]
	if _, err := feature.Parse(p.Value); err != nil {
		return p, fmt.Errorf("%w: %q: %w", errFormat, p.ID, err)
	}
	return p, nil
}

// errWait: slots of a group move, which takes some milliseconds.
var errWait = errors.New("slots move")

// failure is an error of another group: its text, and the sentinel of its code.
type failure struct {
	Code uint16
	Text string
	Done int  `json:",omitempty"`
	Wait bool `json:",omitempty"` // errWait

	is error
}

func failureOf(err error, done int) *failure {
	return &failure{Code: status.Wire(err), Text: err.Error(), Done: done, Wait: errors.Is(err, errWait)}
}

func (f *failure) Error() string { return f.Text }
func (f *failure) Unwrap() error { return f.is }

func (f *failure) open() *failure {
	if f.is = status.OfWire(f.Code); f.Wait {
		f.is = errors.Join(f.is, errWait)
	}
	return f
}

// storedText is a store.Stored.
type storedText struct {
	Revision uint64   `json:",omitempty"`
	Replaced bool     `json:",omitempty"`
	Err      *failure `json:",omitempty"`
}

func (s *storedText) stored() store.Stored {
	if s.Err != nil {
		return store.Stored{Err: s.Err.open()}
	}
	return store.Stored{Revision: s.Revision, Replaced: s.Replaced}
}

// getAnswer decodes the last frame of an answer.
func getAnswer(kind byte, b []byte) (a answer, err error) {
	switch kind {
	case frameAnswer:
		if err := json.Unmarshal(b, &a); err != nil {
			return a, fmt.Errorf("%w: %w", errFormat, err)
		}
		if a.N < 0 {
			return a, fmt.Errorf("%w: an answer of %d", errFormat, a.N)
		}
		return a, nil
	case frameError:
		var f failure
		if err := json.Unmarshal(b, &f); err != nil {
			return a, fmt.Errorf("%w: %w", errFormat, err)
		}
		a.N = max(f.Done, 0)
		return a, f.open()
	}
	return a, fmt.Errorf("%w: a frame of kind %q", errFormat, kind)
}
