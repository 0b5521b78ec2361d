package policy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// letter is Algorithm 1 as printed, asked about every search. It keeps all
// heartbeats in a list, and looks at the last eight.
type letter struct {
	Backoff
	literal    bool
	rand       *rand.Rand
	heartbeats []heard
	t0         time.Time
	busy, left int
}

type heard struct {
	at  time.Time
	cpu float64
}

func (b *letter) choose(now time.Time, interval time.Duration) Path {
	u, taken := 0.0, false
	due := interval
	if !b.literal {
		due /= 2
	}
	if len(b.heartbeats) > 0 && now.Sub(b.t0) > due {
		u, taken, b.t0 = b.predUtil(now), true, now
		b.heartbeats = nil
	}
	if taken || b.literal {
		if u > b.T && b.left <= b.busy*b.N {
			b.busy++
			b.left = b.rand.IntN(b.N) + (b.busy-1)*b.N
		} else {
			b.busy = 0
		}
	}
	if b.left > 0 {
		b.left--
		return Offload
	}
	return FastMessaging
}

func (b *letter) predUtil(now time.Time) float64 {
	last := b.heartbeats[max(0, len(b.heartbeats)-8):]
	latest := last[len(last)-1].cpu
	// The normal equations of u = p + q*x.
	var n, x, u, xx, xu float64
	for _, h := range last {
		t := h.at.Sub(b.t0).Seconds()
		n, x, u, xx, xu = n+1, x+t, u+h.cpu, xx+t*t, xu+t*h.cpu
	}
	switch {
	case b.Predictor == Latest || last[0].at.Equal(last[len(last)-1].at):
		return latest
	case b.Predictor == Mean:
		return u / n
	}
	q := (n*xu - x*u) / (n*xx - x*x)
	p := (u - q*x) / n
	return min(max(p+q*now.Sub(b.t0).Seconds(), 0), 1)
}

// TestPlansAreAlgorithm1: the plans of both readings choose for each search
// the path that the algorithm, asked each time, chooses, whatever N, T and the
// predictor are.
func TestPlansAreAlgorithm1(t *testing.T) {
	paths := map[string]bool{} // chosen by different parameters
	for _, literal := range []bool{false, true} {
		for _, with := range []Backoff{
			{}, {N: 1}, {N: 3}, {N: 64}, {T: 0.92}, {T: 0.99}, {N: 16, T: 0.93},
			{Predictor: Mean}, {Predictor: Linear}, {N: 5, T: 0.94, Predictor: Mean}, {N: 20, T: 0.97, Predictor: Linear},
		} {
			// Rare searches: more heartbeats than are kept; frequent
			// ones: some come within Inv of the last.
			for _, beats := range []int{60, 15, 3} {
				name := fmt.Sprintf("literal %v, %v, one heartbeat in %d searches", literal, with, beats)
				got, different := comparePlans(with, literal, beats)
				offloads := 0
				for _, p := range got {
					offloads += int(p)
				}
				if with.N != 1 && offloads < 500 || different > 0 {
					t.Errorf("%s: %d of 200,000 searches differ, %d were offloaded", name, different, offloads)
				}
				if literal && with.N == 1 && offloads > 0 { // rand()%1 + 0
					t.Errorf("%s: %d searches were offloaded, want none", name, offloads)
				}
				paths[fmt.Sprint(literal, beats, offloads)] = true
			}
		}
	}
	if len(paths) < 60 { // Of 66, but N = 1 to the letter gives 0 three times.
		t.Errorf("%d different numbers of offloaded searches: the parameters do nothing", len(paths))
	}
}

// comparePlans makes 200,000 searches, and returns their paths and for how
// many the algorithm would have chosen the other path.
func comparePlans(with Backoff, literal bool, beats int) (paths []Path, different int) {
	r := rand.New(rand.NewPCG(5, 6))
	now := time.Unix(1000, 0)
	e, m := NewEngine(newBackoff(9, with, literal), 1, func() time.Time { return now }, nil), &box{}
	want := &letter{Backoff: with.WithDefaults(), literal: literal, rand: newBackoff(9, with, literal).rand}
	load := Load{Interval: 10 * time.Millisecond}
	for range 200_000 {
		now = now.Add(time.Duration(r.IntN(200)) * us)
		if r.IntN(beats) == 0 {
			load.CPU = 0.9 + 0.1*r.Float64()
			m.put(load)
			want.heartbeats = append(want.heartbeats, heard{now, load.CPU})
		}
		got, began := e.Choose(m, m)
		e.Done(began, Outcome{Path: got, Searches: 1}, got)
		if got != want.choose(now, load.Interval) {
			different++
		}
		paths = append(paths, got)
	}
	return paths, different
}
