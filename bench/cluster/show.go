package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// show lets the clients work, kills the primary, and starts it again.
func (u *users) show(ctx context.Context, to Show) (*Summary, error) {
	s := &Summary{Started: u.started(), Killed: u.first.primary}
	began := time.Now()
	u.begin(ctx)
	defer u.end()
	var killed time.Time
	var again chan error // that the member started again
	last := began
	for now := range seconds(ctx, u.g.cfg.Duration) {
		to.Frame(u.frame(now.Sub(began), last, now))
		last = now
		switch at := now.Sub(began); {
		case killed.IsZero() && at >= u.g.cfg.Duration*2/5:
			m := u.g.first().ByName(s.Killed)
			killed = time.Now()
			if err := m.P.Stop(syscall.SIGKILL); err != nil {
				return nil, err
			}
			to.Note(fmt.Sprintf("kill -9 of the primary, %s", s.ofFirst(m.Name)))
		case again == nil && !killed.IsZero() && at >= u.g.cfg.Duration*7/10:
			next, err := u.g.first().Status(ctx)
			if err != nil {
				return nil, err
			}
			if next.Primary == "" || next.Primary == s.Killed {
				continue // no other one yet
			}
			s.Next = next.Primary
			to.Note(fmt.Sprintf("%s is the primary; %s starts again", s.ofFirst(s.Next), s.Killed))
			again = make(chan error, 1)
			go func() { again <- u.restart(ctx, s.Killed) }()
		}
	}
	if again != nil {
		if err := <-again; err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	u.end()
	return s, u.sum(s, killed)
}

// restart starts a member at its addresses, with what its disk has.
func (u *users) restart(ctx context.Context, name string) error {
	old := u.g.first().ByName(name)
	fresh := *old
	if err := u.g.first().StartMember(ctx, &fresh); err != nil {
		return err
	}
	old.P = fresh.P // The addresses are the same.
	return nil
}

// seconds yields the time each second until a duration has passed, and then.
func seconds(ctx context.Context, d time.Duration) func(yield func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for end := time.Now().Add(d); ; {
			select {
			case now := <-t.C:
				if !yield(now) || now.After(end) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// frame counts what was answered from one time to another.
func (u *users) frame(at time.Duration, from, to time.Time) Frame {
	u.mu.Lock()
	defer u.mu.Unlock()
	f := Frame{At: at, Reads: map[string]float64{}}
	n := 0
	for _, w := range slices.Backward(u.written) {
		if w.end.Before(from) {
			break
		}
		if !w.unknown {
			n++
		}
	}
	f.Writes = float64(n) / to.Sub(from).Seconds()
	for _, path := range u.g.paths() {
		f.Reads[path] = float64(between(u.reads[path], from, to)) / to.Sub(from).Seconds()
	}
	return f
}

// between counts the times of a sorted list from one time to another.
func between(all []time.Time, from, to time.Time) int {
	at := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(all, t, time.Time.Compare)
		return i
	}
	return at(to) - at(from)
}

// sum fills the summary with what was counted.
func (u *users) sum(s *Summary, killed time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var acks, others []time.Time
	for _, w := range u.written {
		switch {
		case w.unknown:
			s.Unknown++
		case w.box || u.g.ofFirst(noteID(w.id)):
			acks = append(acks, w.end)
		default:
			others = append(others, w.end)
		}
	}
	slices.SortFunc(acks, time.Time.Compare)
	slices.SortFunc(others, time.Time.Compare)
	s.Acknowledged = len(acks) + len(others)
	last, first := gap(acks, killed)
	if first.IsZero() {
		return errors.New("cluster: no write was acknowledged after the primary was killed")
	}
	s.WithoutWrites, s.WritesInGap = first.Sub(last), between(others, last, first)
	s.Reads, s.ReadsInGap, s.Failed = map[string]int{}, map[string]int{}, maps.Clone(u.failed)
	for _, path := range s.Paths {
		slices.SortFunc(u.reads[path], time.Time.Compare)
		s.Reads[path] = len(u.reads[path])
		s.ReadsInGap[path] = between(u.reads[path], last, first)
	}
	s.Wrong = len(u.wrong)
	return nil
}

// gap is the longest time without a write that ends after the kill.
func gap(acks []time.Time, killed time.Time) (last, first time.Time) {
	for i := 1; i < len(acks); i++ {
		if acks[i].After(killed) && acks[i].Sub(acks[i-1]) > first.Sub(last) {
			last, first = acks[i-1], acks[i]
		}
	}
	return last, first
}
