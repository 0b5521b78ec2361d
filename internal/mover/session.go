package mover

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
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
	errRefused = errors.New("it refuses streams of this group")
	errTrimmed = errors.New("mover: the source's log does not go back to the copy")
)

// session copies slots of one source, from Copy to Wait, in one term. It is used by its own
// goroutine, except for set.
type session struct {
	m    *Mover
	term uint64
	from string
	set  parts // those that still move; changed by this goroutine, with the Mover's mu
	at   store.SlotCursor
	next uint64 // of the source's log
	// begun: what an earlier move has left was dropped.
	begun bool
	// copied is the version that Copied has compared, 0: it was not written. A move that is at
	// Copy later was begun again.
	copied uint64

	c      net.Conn
	r      *bufio.Reader
	dialed time.Time

	cancel context.CancelFunc
	done   chan struct{}
}

// run works until the moves are at Wait, or gone. A broken stream is opened again.
func (s *session) run(ctx context.Context) {
	defer close(s.done)
	defer s.hangUp()
	log := s.m.log.With("from", s.from, "parts", len(s.set))
	work, said := s.copy, ""
	for ctx.Err() == nil {
		err := work(ctx)
		switch {
		case err == nil:
			log.Info("parts were copied", "revision", s.next)
			work = s.follow
			continue
		case errors.Is(err, errGone) || errors.Is(err, cluster.ErrDeposed) || ctx.Err() != nil:
			return
		case errors.Is(err, errTrimmed): // The next session copies again.
			log.Warn("the log of the source does not go back to the copy: it is made again", "error", err)
			return
		case err.Error() != said:
			said = err.Error()
			log.Warn("parts cannot be copied yet", "error", err)
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

// left is which slots still move, all of them frozen or not, and up to where the log is needed then.
// A slot that does not, or whose move was begun again, leaves the session. errGone: none is left.
func (s *session) left() (set parts, until uint64, frozen bool, err error) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	frozen, set = true, parts{}
	for _, v := range m.is.Moves {
		again := s.copied > 0 && v.Step == placement.Copy && m.is.Version > s.copied
		if !s.set[v.Part] || v.To != m.me || m.is.Groups[v.From].Name != s.from || v.Step > placement.Freeze || again {
			continue
		}
		set[v.Part] = true
		frozen = frozen && v.Step == placement.Freeze
		until = max(until, v.Until)
	}
	if s.set = set; len(set) == 0 {
		err = errGone
	}
	return set, until, frozen, err
}

// define creates the collections of the source.
func (s *session) define(ctx context.Context) error {
	a, _, err := s.ask(ctx, request{})
	if err != nil {
		return err
	}
	return s.m.o.Store.Define(a.Collections)
}

// copyIn writes states, in this session's term: in a later one they may be old.
func (s *session) copyIn(ctx context.Context, states []store.MovedState) error {
	return s.m.o.Store.CopyIn(ctx, states, s.m.inTerm(s.term))
}

// copy copies what the source has, and says so. After an error it continues.
func (s *session) copy(ctx context.Context) error {
	set, _, _, err := s.left()
	if err != nil {
		return err
	}
	if !s.begun {
		if err := s.clear(ctx, set); err != nil {
			return err
		}
		s.begun = true
	}
	if err := s.define(ctx); err != nil {
		return err
	}
	for !s.at.Done {
		if set, _, _, err = s.left(); err != nil {
			return err
		}
		a, states, err := s.ask(ctx, request{Slots: slotBytes(set), Ranges: set.ranges(), Scan: &s.at})
		if err != nil {
			return err
		}
		if a.Scan == nil || a.Scan.Revision == 0 {
			return fmt.Errorf("%w: a page of a scan without its end", ErrProtocol)
		}
		if err := s.copyIn(ctx, states); err != nil {
			return err
		}
		s.at, s.next = *a.Scan, a.Scan.Revision+1
		s.m.copied.Add(uint64(len(states)))
	}
	s.copied, err = s.step(ctx, placement.Copy, (*placement.Map).Copied)
	return err
}

// clear drops what an earlier move has left.
func (s *session) clear(ctx context.Context, set parts) error {
	if len(set.ranges()) > 0 {
		// Clients read the tree by leases that were sent before.
		if err := s.m.o.Store.HideBoxes(); err != nil {
			return err
		}
		if left := s.m.Leases.sent() - s.m.Leases.Now(); left > 0 && !wait(ctx, left) {
			return ctx.Err()
		}
	}
	is, _ := s.m.now()
	of, err := set.of(is)
	if err != nil {
		return err
	}
	_, err = s.m.o.Store.DropSlots(ctx, &of, s.m.inTerm(s.term))
	return err
}

// follow copies the log, until the source is frozen and all has come.
func (s *session) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		set, until, frozen, err := s.left()
		if err != nil {
			return err
		}
		if frozen && s.next > until {
			return s.received(ctx)
		}
		a, states, err := s.ask(ctx, request{Slots: slotBytes(set), Ranges: set.ranges(), Log: s.next})
		if err != nil {
			return err
		}
		if a.Log < s.next {
			return fmt.Errorf("%w: the log from %d continues at %d", ErrProtocol, s.next, a.Log)
		}
		err = s.copyIn(ctx, states)
		if errors.Is(err, store.ErrUnknownCollection) { // It was created since.
			if err = s.define(ctx); err == nil {
				err = s.copyIn(ctx, states)
			}
		}
		if err != nil {
			return err
		}
		s.next = a.Log
		if s.next > a.End && !wait(ctx, pollPause) {
			break
		}
	}
	return ctx.Err()
}

// received says that the group has all.
func (s *session) received(ctx context.Context) error {
	if _, err := s.step(ctx, placement.Freeze, (*placement.Map).Received); err != nil {
		return err
	}
	return errGone
}

// step writes a step of all slots of the session that are at one, and returns which version it
// has compared.
func (s *session) step(ctx context.Context, at placement.Step, f func(*placement.Map, placement.Part) (*placement.Map, error)) (uint64, error) {
	unknown := false
	for {
		compared, err := s.m.step(ctx, s.term, func(is *placement.Map) (*placement.Map, error) {
			return each(is, s.moves(is, at), f)
		})
		if unknown && errors.Is(err, errGone) {
			return compared, nil // It was made, or left has it.
		}
		if err == nil || !again(err) || !wait(ctx, pollPause) {
			return compared, err
		}
		unknown = unknown || errors.Is(err, coord.ErrUnknown)
	}
}

// moves are those of the session at a step whose entries have come.
func (s *session) moves(is *placement.Map, at placement.Step) []placement.Part {
	return slices.DeleteFunc(s.m.moves(is, s.set, at), func(p placement.Part) bool {
		v := is.Moves[slices.IndexFunc(is.Moves, func(v placement.Move) bool { return v.Part == p })]
		return is.Groups[v.From].Name != s.from || v.Until >= s.next
	})
}
