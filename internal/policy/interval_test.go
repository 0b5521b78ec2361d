package policy

import (
	"runtime"
	"testing"
	"time"
)

// countedAlone makes each Plan take the lock.
type countedAlone struct{ *cost }

func (c countedAlone) Plan(a *Ask) Plan {
	c.now.Store(nil)
	return c.cost.Plan(a)
}

// TestIntervalChangesNothing: a plan read without the lock is the one that a
// client with the lock would get.
func TestIntervalChangesNothing(t *testing.T) {
	for name, set := range map[string]func(*world){
		"both paths are limited": func(w *world) { w.serve, w.link = 10*us, 15*us },
		"the server is":          func(w *world) { w.serve = 20 * us },
		"a shared core":          func(w *world) { w.core, w.serve = [2]time.Duration{27 * us, 44 * us}, 29*us },
		"few searches":           func(w *world) { w.think = 20 * time.Millisecond },
		"slow ones":              func(w *world) { w.idle = [2]time.Duration{30 * time.Millisecond, 9 * time.Millisecond} },
	} {
		var found [2][]float64
		for i := range found {
			w := newWorld(0, 0)
			w.group = NewGroup()
			w.make = func(g *Group) Policy {
				return g.policy("cost", func() Policy {
					c := newCost()
					if i == 0 {
						return countedAlone{c}
					}
					return c
				})
			}
			w.add(8, 4)
			set(w)
			for range 8 {
				rate, share := w.run(250 * time.Millisecond)
				found[i] = append(found[i], rate, share)
			}
		}
		for k := range found[0] {
			if found[0][k] != found[1][k] {
				t.Errorf("%s: %v with the lock, %v without", name, found[0], found[1])
				break
			}
		}
	}
}

// TestOneLockForASearch: a search that asks takes the lock of the group's
// policy when it ends, and not before.
func TestOneLockForASearch(t *testing.T) {
	g, c := NewGroup(), newCost()
	at := time.Unix(1000, 0)
	e := NewEngine(c, 1, func() time.Time { return at }, g)
	defer e.Close()
	var b box
	_, began := e.Choose(&b, &b) // begins an interval
	e.Done(began, Outcome{Searches: 1}, FastMessaging)
	other := NewEngine(c, 2, func() time.Time { return at }, g)
	defer other.Close()

	c.mu.Lock()
	asked := make(chan time.Time)
	go func() {
		_, began := other.Choose(&b, &b)
		asked <- began
	}()
	select {
	case began = <-asked:
	case <-time.After(time.Minute):
		t.Fatal("a client that asks waits for the lock")
	}
	// Nor does the end of a search hold the engine's lock meanwhile.
	over := make(chan struct{})
	go func() {
		other.Done(began, Outcome{Searches: 1}, FastMessaging)
		close(over)
	}()
	for other.Finished(FastMessaging) == 0 {
		runtime.Gosched()
	}
	other.mu.Lock()
	other.mu.Unlock() //nolint:staticcheck // that it can be had is the test
	c.mu.Unlock()
	<-over
	if c.lat[FastMessaging].n != 2 {
		t.Errorf("%v searches observed, want 2", c.lat[FastMessaging].n)
	}
}
