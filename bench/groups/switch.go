package groups

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/members"
	"github.com/catfish-index/catfish/bench/stats"
)

// afterSwitch is how long a window continues when the command has ended.
const afterSwitch = 300 * time.Millisecond

// GapTarget is how long nothing is acknowledged at most around a planned switch.
const GapTarget = 50 * time.Millisecond

// switches switches the primary of a group of three, again and again, while clients write.
func (l *lab) switches(ctx context.Context, c cell) error {
	r := l.row(Switch, c)
	r.Switch = &SwitchRow{Switches: l.cfg.Switches}
	err := l.with(ctx, c, setup{3, Received}, func(g *group) error {
		if _, err := harness.Ask[any](ctx, g.clients, command{Do: doBegin}); err != nil {
			return err
		}
		if err := r.Switch.measure(ctx, l, g); err != nil {
			return err
		}
		_, err := harness.Ask[Window](ctx, g.clients, command{Do: doEnd})
		return err
	})
	if err == nil {
		l.done(r)
	}
	return err
}

func (s *SwitchRow) measure(ctx context.Context, l *lab, g *group) error {
	if err := harness.Sleep(ctx, l.cfg.Warmup); err != nil {
		return err
	}
	var took []float64
	longest := time.Duration(0)
	for i := range s.Switches {
		l.note(fmt.Sprintf("switch over %v: %d of %d", g.cell, i+1, s.Switches))
		if err := g.Whole(ctx); err != nil {
			return err
		}
		st, err := g.Status(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(g.Members, func(m *members.Member) bool { return m.Name == st.Primary })
		next := g.Members[(at+1)%len(g.Members)].Name
		if err := s.take(ctx, g, nil); err != nil { // What was before does not count.
			return err
		}
		began := time.Now()
		if _, err := g.Command(ctx, "cluster", "switch", next, "--coordinators", g.Coordinator); err != nil {
			return err
		}
		took = append(took, ms(time.Since(began)))
		if err := harness.Sleep(ctx, afterSwitch); err != nil {
			return err
		}
		longest = max(longest, time.Since(began))
		var gap time.Duration
		if err := s.take(ctx, g, &gap); err != nil {
			return err
		}
		if s.Gaps = append(s.Gaps, ms(gap)); gap <= GapTarget {
			s.NotLonger++
		}
	}
	if err := g.Whole(ctx); err != nil {
		return err
	}
	if err := s.take(ctx, g, nil); err != nil {
		return err
	}
	if err := harness.Sleep(ctx, longest); err != nil {
		return err
	}
	w, err := harness.Ask[Window](ctx, g.clients, command{Do: doWindow})
	if err != nil {
		return err
	}
	s.NoSwitch, s.Command = ms(w.Gap), stats.Median(took)
	sorted := slices.Sorted(slices.Values(s.Gaps))
	s.GapP50, s.GapP99, s.GapMax = nearest(sorted, .5), nearest(sorted, .99), sorted[len(sorted)-1]
	return nil
}

// take ends a window, and counts its errors and writes; with gap also how long these took.
func (s *SwitchRow) take(ctx context.Context, g *group, gap *time.Duration) error {
	w, err := harness.Ask[Window](ctx, g.clients, command{Do: doWindow})
	if err != nil {
		return err
	}
	s.Writes += w.Writes
	if s.Errors += w.Errors; s.First == "" {
		s.First = w.First
	}
	if gap != nil {
		*gap, s.Longest = w.Gap, max(s.Longest, ms(w.Longest))
	}
	return nil
}

// nearest is a quantile of sorted values by the nearest rank, which is one of them.
func nearest(sorted []float64, q float64) float64 {
	at := int(q * float64(len(sorted)))
	if float64(at) == q*float64(len(sorted)) && at > 0 {
		at--
	}
	return sorted[min(at, len(sorted)-1)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
