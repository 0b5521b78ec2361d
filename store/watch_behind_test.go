package store

import (
	"fmt"
	"runtime"
	"testing"
)

// The hub does not look for watchers that are behind, unless they have many areas; all
// get every event in the end, of areas that were added and removed meanwhile, too.
func TestWatchersBehindAreLeftOut(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	box := Query{Area: Box(0, 0, 1, 1)}
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
