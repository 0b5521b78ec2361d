package mover

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/store"
)

// streamAge is how long a stream is used. A primary that was deposed, and does not know it, answers, and
// its successor waits for questions: the group's key has that.
const streamAge = 5 * time.Second

// ask sends a request to the source's primary, over the stream that is open, or another one.
func (s *session) ask(ctx context.Context, q request) (a answer, states []store.MovedState, err error) {
	if s.c != nil && time.Since(s.dialed) > streamAge {
		s.hangUp()
	}
	if s.c == nil {
		if err := s.dial(ctx); err != nil {
			return a, nil, err
		}
	}
	c := s.c
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := writeLine(c, q, nil); err != nil {
		return a, nil, err
	}
	if err := readLine(c, s.r, answerTime, &a); err != nil {
		return a, nil, err
	}
	switch {
	case a.Trimmed:
		return a, nil, fmt.Errorf("%w: %.200s", errTrimmed, a.Error)
	case a.Error != "":
		return a, nil, fmt.Errorf("mover: group %q says: %.200s", s.from, a.Error)
	}
	states, err = readStates(c, s.r, &a)
	return a, states, err
}

// dial opens a stream to the source's primary.
func (s *session) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
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
	c, err := s.m.o.Dial(ctx, p.Addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	r, err := s.greet(c)
	if err != nil {
		_ = c.Close()
		return fmt.Errorf("mover: %q of group %q: %w", g.Primary, s.from, err)
	}
	s.c, s.r, s.dialed = c, r, time.Now()
	return nil
}

// greet names this group, and shows its key.
func (s *session) greet(c net.Conn) (*bufio.Reader, error) {
	hi := hello{Group: s.m.o.Group}
	if s.m.o.Key != nil {
		var err error
		if hi.Key, err = s.m.o.Key(); err != nil {
			return nil, err
		}
	}
	if err := writeLine(c, hi, nil); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(c, answerBytes)
	var a answer
	if err := readLine(c, r, answerTime, &a); err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, fmt.Errorf("%w: %.200s", errRefused, a.Error)
	}
	return r, nil
}
