package mover

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/store"
)

const (
	// pollPause is between questions for the log when there was nothing new.
	pollPause = 2 * time.Millisecond
	// failPause is before a source that failed is asked again.
	failPause = 200 * time.Millisecond
)

var (
	errGone    = errors.New("mover: the moves have ended")
	errTrimmed = errors.New("mover: the source's log does not go back to the copy")
)

// session copies slots of one source, from Copy to Wait. It is used by its own goroutine,
// except for set.
type session struct {
	m    *Mover
	from string
	set  store.SlotSet
	at   store.SlotCursor
	next uint64 // of the source's log
	// begun: what an earlier move has left was dropped.
	begun bool

	c net.Conn
	r *bufio.Reader

	cancel context.CancelFunc
	done   chan struct{}
}

// run works until the moves are at Wait, or gone. A broken stream is opened again.
func (s *session) run(ctx context.Context) {
	defer close(s.done)
	defer s.hangUp()
	log := s.m.log.With("from", s.from, "slots", s.set.Len())
	work, said := s.copy, ""
	for ctx.Err() == nil {
		err := work(ctx)
		switch {
		case err == nil:
			log.Info("slots were copied", "revision", s.next)
			work = s.follow
			continue
		case errors.Is(err, errGone) || ctx.Err() != nil:
			return
		case errors.Is(err, errTrimmed): // The next session copies again.
			log.Warn("the log of the source does not go back to the copy: it is made again", "error", err)
			return
		case err.Error() != said:
			said = err.Error()
			log.Warn("slots cannot be copied yet", "error", err)
		}
		s.hangUp()
		wait(ctx, failPause)
	}
}

func (s *session) hangUp() {
	if s.c != nil {
		_ = s.c.Close()
		s.c = nil
	}
}

// wait returns false if ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask sends a request to the source's primary, over the stream that is open, or another one.
func (s *session) ask(ctx context.Context, q request) (a answer, states []store.MovedState, err error) {
	if s.c == nil {
		if err := s.dial(ctx); err != nil {
			return a, nil, err
		}
	}
	defer context.AfterFunc(ctx, func() { s.c.Close() })()
	if err := writeLine(s.c, q, nil); err != nil {
		return a, nil, err
	}
	if err := readLine(s.c, s.r, answerTime, &a); err != nil {
		return a, nil, err
	}
	switch {
	case a.Trimmed:
		return a, nil, fmt.Errorf("%w: %.200s", errTrimmed, a.Error)
	case a.Error != "":
		return a, nil, fmt.Errorf("mover: group %q says: %.200s", s.from, a.Error)
	}
	states, err = readStates(s.c, s.r, &a)
	return a, states, err
}

// dial opens a stream to the source's primary.
func (s *session) dial(ctx context.Context) error {
	v, err := s.m.o.Keeper.Get(ctx, node.Key(s.from))
	if err != nil {
		return err
	}
	if v.Version == 0 {
		return fmt.Errorf("mover: group %q does not exist", s.from)
	}
	g, err := node.Parse(v)
	if err != nil {
		return err
	}
	p := g.Member(g.Primary)
	if p == nil || p.Addr == "" {
		return fmt.Errorf("mover: group %q has no primary", s.from)
	}
	dialing, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c, err := s.m.o.Dial(dialing, p.Addr)
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(c, answerBytes)
	hi := hello{Group: s.m.o.Group}
	if s.m.o.Key != nil {
		hi.Key, err = s.m.o.Key()
	}
	if err == nil {
		err = writeLine(c, hi, nil)
	}
	var a answer
	if err == nil {
		err = readLine(c, r, answerTime, &a)
	}
	if err == nil && a.Error != "" {
		err = fmt.Errorf("mover: refused by %q of group %q: %.200s", g.Primary, s.from, a.Error)
	}
	if err != nil {
		_ = c.Close()
		return err
	}
	s.c, s.r = c, r
	return nil
}

// define creates the collections of the source.
func (s *session) define(ctx context.Context) error {
	a, _, err := s.ask(ctx, request{})
	if err != nil {
		return err
	}
	return s.m.o.Store.Define(a.Collections)
}

// copy copies what the source has, and says so. After an error it continues.
func (s *session) copy(ctx context.Context) error {
	if !s.begun {
		if _, err := s.m.o.Store.DropSlots(ctx, &s.set, nil); err != nil {
			return err
		}
		s.begun = true
	}
	if err := s.define(ctx); err != nil {
		return err
	}
	slots := slotBytes(&s.set)
	for !s.at.Done {
		a, states, err := s.ask(ctx, request{Slots: slots, Scan: &s.at})
		if err != nil {
			return err
		}
		if a.Scan == nil || a.Scan.Revision == 0 {
			return fmt.Errorf("%w: a page of a scan without its end", ErrProtocol)
		}
		if err := s.m.o.Store.CopyIn(ctx, states); err != nil {
			return err
		}
		s.at, s.next = *a.Scan, a.Scan.Revision+1
		s.m.copied.Add(uint64(len(states)))
	}
	return s.step(ctx, placement.Copy, (*placement.Map).Copied)
}

// follow copies the log, until the source is frozen and all has come.
func (s *session) follow(ctx context.Context) error {
	slots := slotBytes(&s.set)
	for ctx.Err() == nil {
		a, states, err := s.ask(ctx, request{Slots: slots, Log: s.next})
		if err != nil {
			return err
		}
		if a.Log < s.next {
			return fmt.Errorf("%w: the log from %d continues at %d", ErrProtocol, s.next, a.Log)
		}
		err = s.m.o.Store.CopyIn(ctx, states)
		if errors.Is(err, store.ErrUnknownCollection) { // It was created since.
			if err = s.define(ctx); err == nil {
				err = s.m.o.Store.CopyIn(ctx, states)
			}
		}
		if err != nil {
			return err
		}
		s.next = a.Log
		switch until, all, err := s.m.frozen(s); {
		case err != nil:
			return err
		case all && s.next > until:
			return s.received(ctx)
		}
		if s.next > a.End && !wait(ctx, pollPause) {
			break
		}
	}
	return ctx.Err()
}

// received says that the group has all.
func (s *session) received(ctx context.Context) error {
	if err := s.step(ctx, placement.Freeze, (*placement.Map).Received); err != nil {
		return err
	}
	return errGone
}

// step writes a step of all slots of the session that are at one.
func (s *session) step(ctx context.Context, at placement.Step, f func(*placement.Map, placement.Part) (*placement.Map, error)) error {
	for {
		err := s.m.step(ctx, func(is *placement.Map) (*placement.Map, error) {
			return each(is, s.moves(is, at), f)
		})
		if err == nil || !again(err) || !wait(ctx, pollPause) {
			return err
		}
	}
}

// moves are those of the session at a step.
func (s *session) moves(is *placement.Map, at placement.Step) (parts []placement.Part) {
	for _, v := range is.Moves {
		if isSlot(v.Part) && v.Step == at && s.set.Has(v.Slot) && is.Groups[v.To].Name == s.m.o.Group {
			parts = append(parts, v.Part)
		}
	}
	return parts
}

// each is the map after a step of parts. errGone: there are none.
func each(is *placement.Map, parts []placement.Part, f func(*placement.Map, placement.Part) (*placement.Map, error)) (_ *placement.Map, err error) {
	if len(parts) == 0 {
		return nil, errGone
	}
	for _, p := range parts {
		if is, err = f(is, p); err != nil {
			return nil, err
		}
	}
	return is, nil
}
