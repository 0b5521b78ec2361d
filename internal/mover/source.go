package mover

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// maxStreams bounds the streams of destinations that are served at the same time: more than
// groups that copy at once.
const maxStreams = 64

// errBeyond: the destination has followed another log. It has to copy again, as it does when the log
// was trimmed.
var errBeyond = errors.New("mover: the log does not go so far")

// progress is how far a part's destination is: its group has the source's log up to here.
type progress struct {
	through uint64
	at      time.Time
}

// Serve answers other groups until the listener is closed.
func (m *Mover) Serve(l net.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	room := make(chan struct{}, maxStreams)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			cancel()
			return err
		}
		select {
		case room <- struct{}{}:
		default:
			m.log.Warn("a stream for a move was refused: there are too many", "from", c.RemoteAddr().String(), "most", maxStreams)
			_ = c.Close()
			continue
		}
		all.Go(func() {
			defer func() { <-room }()
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			if err := m.serve(ctx, c); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				m.log.Info("a stream for a move has ended", "from", c.RemoteAddr().String(), "error", err)
			}
		})
	}
}

// serve answers one destination.
func (m *Mover) serve(ctx context.Context, c net.Conn) error {
	r := bufio.NewReaderSize(c, lineBytes)
	var hi hello
	if err := readLine(c, r, answerTime, &hi); err != nil {
		return err
	}
	if m.o.Admit != nil {
		stop, err := m.o.Admit(hi.Key, hi.Group, func() { c.Close() })
		if err != nil {
			return errors.Join(err, writeLine(c, answer{Error: err.Error()}, nil))
		}
		defer stop()
	}
	if err := writeLine(c, answer{}, nil); err != nil {
		return err
	}
	for {
		var q request
		if err := readLine(c, r, idleTime, &q); err != nil {
			return err
		}
		a, states, err := m.answer(ctx, hi.Group, &q)
		if err != nil {
			a = answer{Error: err.Error(), Trimmed: errors.Is(err, disk.ErrTrimmed) || errors.Is(err, errBeyond)}
		}
		body := appendStates(nil, states)
		a.States, a.Bytes = len(states), len(body)
		if err := writeLine(c, a, body); err != nil {
			return err
		}
	}
}

// answer answers a request of a group.
func (m *Mover) answer(ctx context.Context, group string, q *request) (a answer, states []store.MovedState, err error) {
	if _, leads := m.o.Leading(); !leads {
		return a, nil, fmt.Errorf("%q is not the primary of %q", m.o.Node, m.o.Group)
	}
	if q.Scan == nil && q.Log == 0 {
		a.Collections = m.o.Store.Defined()
		return a, nil, nil
	}
	set, err := q.parts()
	var of store.Parts
	if err == nil {
		of, err = m.moveTo(group, set)
	}
	if err != nil {
		return a, nil, err
	}
	if q.Scan != nil {
		states, next, err := m.o.Store.SlotScan(ctx, &of, *q.Scan, pageStates)
		a.Scan = &next
		return a, states, err
	}
	a.End = m.o.Store.Revision() // before the log is read
	if q.Log-1 > a.End {
		return a, nil, fmt.Errorf("%w: from %d, and it ends at %d", errBeyond, q.Log, a.End)
	}
	states, a.Log, err = m.o.Store.SlotLog(ctx, &of, q.Log, pageStates)
	if err == nil {
		m.note(set, q.Log-1)
	}
	return a, states, err
}

// moveTo is an error unless all of the parts move from here to a group. It returns what the store calls them.
func (m *Mover) moveTo(group string, set parts) (of store.Parts, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.is == nil {
		return of, fmt.Errorf("%q has no map", m.o.Node)
	}
	if len(set) == 0 {
		return of, fmt.Errorf("%w: a request for no parts", ErrProtocol)
	}
	left := maps.Clone(set)
	for _, v := range m.is.Moves {
		if v.From == m.me && m.is.Groups[v.To].Name == group && v.Step != placement.Drop {
			delete(left, v.Part)
		}
	}
	if len(left) > 0 {
		return of, fmt.Errorf("%d parts do not move from %q to %q by map %d of %q", len(left), m.o.Group, group, m.is.Version, m.o.Node)
	}
	for _, p := range set.ranges() {
		if err := m.o.Store.MovesBoxes(p.Collection); err != nil {
			return of, err
		}
	}
	return set.of(m.is)
}

// note keeps how far a destination is.
func (m *Mover) note(set parts, through uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range set {
		m.progress[p] = progress{through, time.Now()}
	}
}
