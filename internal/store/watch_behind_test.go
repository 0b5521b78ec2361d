package store

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// byHand lets a test make the steps of a store's hub.
func byHand(c *Collection) *hub {
	h := &c.st.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = true // As if it were: no other goroutine makes steps.
	return h
}

// Many demoted watchers are left out some at a time, for others to have the
// lock in between, and those that have caught up meanwhile are not.
func TestWatchersAreLeftOutInSteps(t *testing.T) {
	c := create(t, open(t, Options{Dir: t.TempDir(), Sync: disk.SyncOff, Watch: WatchLimits{Changes: 100}}), CollectionOptions{})
	h := byHand(c)
	const n = 10*demotedAtOnce + 3
	watchers := make([]*Watcher, n)
	for i := range watchers {
		watchers[i] = watch(t, c, 0, map[string]Query{"a": {Area: query.Box(0, 0, 1, 1)}})
		if _, ok, err := watchers[i].Try(); ok || err != nil { // It is live from now on.
			t.Fatal(ok, err)
		}
	}
	looked := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.watched[c.num].areas.tree.Len()
	}
	if got := looked(); got != n {
		t.Fatalf("%d of %d are live", got, n)
	}
	for range 200 { // The ring forgets the first of these changes.
		put(t, c, at("a", 5, 5, ""))
	}
	h.step()
	if got := looked(); got != n || len(h.demoted) != n {
		t.Errorf("%d are looked for, %d have fallen behind, want %d", got, len(h.demoted), n)
	}
	for w := watchers[n-1]; !w.live; { // One catches up.
		if _, ok, err := w.Try(); ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	steps := 0
	for before := n; len(h.demoted) > 0; steps++ {
		more := h.step()
		if now := looked(); now < before-demotedAtOnce || !more {
			t.Fatalf("%d are left out in a step, want at most %d; there is more to do: %t", before-now, demotedAtOnce, more)
		} else {
			before = now
		}
	}
	if got := looked(); got != 1 || steps != (n+demotedAtOnce-1)/demotedAtOnce {
		t.Errorf("%d are looked for after %d steps, want the one that has caught up", got, steps)
	}
	for h.step() {
	}
	if h.done != c.st.last.Load() {
		t.Errorf("it is at %d, want %d", h.done, c.st.last.Load())
	}
}

// A step ends, too, when it has visited many watchers, and nothing is left out by that.
func TestHubStepsByVisits(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	h := byHand(c)
	const n, writes = 200, hubBatch
	watchers := make([]*Watcher, n)
	for i := range watchers {
		watchers[i] = watch(t, c, 0, map[string]Query{"a": {}})
		if _, ok, err := watchers[i].Try(); ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	for range writes {
		put(t, c, at("a", 5, 5, ""))
	}
	steps := 1
	for ; h.step(); steps++ {
		if h.visits > hubVisits+n {
			t.Errorf("%d watchers were visited in a step, want at most %d", h.visits, hubVisits+n)
		}
	}
	if want := (n*writes + hubVisits - 1) / hubVisits; steps < want-1 || steps > want {
		t.Errorf("%d steps, want %d", steps, want)
	}
	for i, w := range watchers {
		for j := range writes {
			if e, ok, err := w.Try(); !ok || err != nil || e.Kind == query.Progress {
				t.Fatalf("watcher %d, write %d: %+v, %t, %v", i, j, e, ok, err)
			}
		}
	}
}

// The hub does not look for watchers that are behind, unless they have many areas; all
// get every event in the end, of areas that were added and removed meanwhile, too.
func TestWatchersBehindAreLeftOut(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	box := Query{Area: query.Box(0, 0, 1, 1)}
	many := map[string]Query{}
	for i := range fewAreas + 1 {
		many[fmt.Sprint(i)] = box
	}
	watchers := []*Watcher{
		watch(t, c, 0, map[string]Query{"a": box}), watch(t, c, 0, map[string]Query{"a": {}}), watch(t, c, 0, many),
	}
	h := watchers[0].h
	found := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		of := h.watched[c.num]
		return of.areas.tree.Len() + len(of.areas.everywhere)
	}
	if n := found(); n != fewAreas+1 {
		t.Errorf("the hub looks for %d areas of watchers that are new, want %d", n, fewAreas+1)
	}
	for _, w := range watchers { // each is live from its first Try on
		if _, ok, err := w.Try(); ok || err != nil {
			t.Fatal(ok, err)
		}
		untilLive(w)
	}
	last := uint64(0)
	for range queueLength + 1 {
		last = put(t, c, at("a", 1, 1, ""))
	}
	for done := uint64(0); done < last; runtime.Gosched() {
		h.mu.Lock()
		done = h.done
		h.mu.Unlock()
	}
	// The hub leaves areas out after the step in which their watchers fell behind.
	for end := time.Now().Add(time.Minute); found() != fewAreas+1 && time.Now().Before(end); runtime.Gosched() {
	}
	if n := found(); n != fewAreas+1 {
		t.Errorf("the hub looks for %d areas of watchers that are behind, want %d", n, fewAreas+1)
	}
	if err := watchers[0].Add("b", box); err != nil {
		t.Fatal(err)
	}
	watchers[1].Remove("a")
	if err := watchers[1].Add("b", Query{}); err != nil {
		t.Fatal(err)
	}
	if n := found(); n != fewAreas+1 {
		t.Errorf("the hub looks for %d areas with those that were added, want %d", n, fewAreas+1)
	}
	late := put(t, c, at("a", 0.5, 1, ""))
	for i, want := range []int{queueLength + 1 + 2, 1, (fewAreas + 1) * (queueLength + 2)} {
		n := 0
		for {
			_, ok, err := watchers[i].Try()
			if err != nil {
				t.Fatal(err)
			}
			if !ok && watchers[i].Revision() == late {
				break
			}
			if ok {
				n++
			}
			runtime.Gosched()
		}
		if n != want {
			t.Errorf("watcher %d got %d events, want %d", i, n, want)
		}
		untilLive(watchers[i])
	}
	if n := found(); n != 2+1+fewAreas+1 {
		t.Errorf("the hub looks for %d areas of watchers that are live, want %d", n, 2+1+fewAreas+1)
	}
	for i := range fewAreas { // More than few of one that was left out.
		if err := watchers[0].Add(fmt.Sprint("c", i), box); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range watchers {
		w.Close()
	}
	if len(h.watched) != 0 || h.areas != 0 {
		t.Errorf("%d areas are left", h.areas)
	}
}
