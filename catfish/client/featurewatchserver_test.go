package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Events that take several answers, or messages, come completely: none is lost between.
func TestWatchLongAnswers(t *testing.T) {
	s := startFeatures(t, server.Options{})
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	keep, err := c.Watch(t.Context(), store.WatchOptions{}) // A watcher keeps the log in memory.
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	const n = 5 * wire.WatchBytes / (32 << 10)
	text := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 32<<10))
	_, from, err := c.Put(t.Context(), store.Feature{ID: "first"}, kv.Condition{})
	for i := 0; i < n && err == nil; i++ {
		_, _, err = c.Put(t.Context(), store.Feature{ID: fmt.Sprint(i), Properties: text}, kv.Condition{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range allTransports {
		i, f := 0, dialFeatures(t, s, messagesOnly(transport))
		for e, err := range f.Watch(t.Context(), model.WatchQuery{From: from, Progress: true}) {
			if err != nil {
				t.Fatalf("%s: %v", transport, err)
			}
			if e.Kind == query.Progress {
				continue
			}
			if e.ID != fmt.Sprint(i) || len(e.Feature.Properties) != len(text) {
				t.Fatalf("%s: %q of %d bytes comes as %d", transport, e.ID, len(e.Feature.Properties), i)
			}
			if i++; i == n {
				break
			}
			if i%7 == 3 { // Another watcher gives the next answer.
				clientOf(f).conn.sessions.latest().caller.Close()
			}
		}
	}
}

// FuzzWatchWire: either side refuses any bytes, or decodes them to what it would
// encode.
func FuzzWatchWire(f *testing.F) {
	req := wire.WatchRequest{Coll: 1, Id: 2, From: 3, Areas: []wire.WatchedArea{
		{Name: "a", Query: store.Query{Area: query.Box(0, 0, 1, 1), Filter: "properties.n > 1"}},
		{Query: store.Query{Area: query.Polygon(orb.Polygon{{{0, 0}, {1, 0}, {0, 1}, {0, 0}}})}},
	}}
	b, err := req.Append(nil, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	_, value, err := query.Encode(store.Feature{ID: "x", Geometry: orb.Point{1, 2}, Properties: []byte(`{"n":1}`)}, 0)
	if err != nil {
		f.Fatal(err)
	}
	found, _, err := wire.GetFeature(wire.AppendFeature(nil, &store.Found{ID: []byte("x"), Value: value, Revision: 7}))
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range []store.Event{
		{Kind: query.Enter, Name: "a", ID: "x", Revision: 7, Resume: 7, New: &found},
		{Kind: query.Inside, ID: "x", Revision: 7, Resume: 6, New: &found, Old: &found},
		{Kind: query.Exit, Why: query.Deleted, ID: "x", Revision: 8, Resume: 8, Old: &found},
	} {
		f.Add(wire.AppendEvent(nil, &e, true, nil))
		f.Add(wire.AppendEvent(nil, &e, false, model.ErrBusy))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if req, n, rest, err := wire.GetWatchHead(b); err == nil {
			if areas, err := wire.GetWatchAreas(n, rest); err == nil && len(areas) != n {
				t.Fatalf("%d areas of %d, %+v", len(areas), n, req)
			}
		}
		for rest := b; len(rest) > 0; {
			e, after, _, err := wire.GetEvent(rest)
			if err != nil {
				return
			}
			if len(after) >= len(rest) || e.Kind > query.Changed || e.Why > query.Expired {
				t.Fatalf("%+v of %d bytes, %d left", e, len(rest), len(after))
			}
			rest = after
		}
	})
}

// An answer ends within the events of one write, the connection is lost, and all of
// these events come again: each is given once.
func TestWatchAnswerEndsWithinAWrite(t *testing.T) {
	answer := func(resume uint64, events ...store.Event) []byte {
		b := wire.AppendWatchHead(nil, 1, resume)
		for _, e := range events {
			e.Kind, e.Why = query.Exit, query.Deleted
			b = wire.AppendEvent(b, &e, false, nil)
		}
		return b
	}
	a, b, c := store.Event{Name: "a", Revision: 7, Resume: 6}, store.Event{Name: "b", Revision: 7, Resume: 6}, store.Event{Name: "c", Revision: 7, Resume: 7}
	next := store.Event{Name: "a", Revision: 8, Resume: 8}
	for name, answers := range map[string][][]byte{
		"no loss":          {answer(6, a, b), answer(8, c, next)},
		"lost":             {answer(6, a, b), nil, answer(8, a, b, c, next)},
		"lost twice":       {answer(6, a), nil, answer(6, a, b), nil, answer(6, a), answer(8, b, c, next)},
		"lost between":     {answer(7, a, b, c), nil, answer(8, next)},
		"lost with others": {answer(6, store.Event{Name: "x", Revision: 6, Resume: 6}, a), nil, answer(8, a, b, c, next)},
	} {
		w, got := &watcher{from: 5}, ""
		for _, ans := range answers {
			if ans == nil {
				w.anew()
				continue
			}
			if _, err := w.give(ans, false, func(e model.FeatureEvent) bool { got += e.Area; return true }); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if want := "abca"; strings.TrimPrefix(got, "x") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// BenchmarkWatch: from a move to its event, sequentially.
func BenchmarkWatch(b *testing.B) {
	for _, how := range watchPaths {
		b.Run("path="+how, func(b *testing.B) {
			s := startFeatures(b, server.Options{Workers: 1})
			f := watchedBy(b, s, how)
			c, err := s.Features(testFeatures)
			if err != nil {
				b.Fatal(err)
			}
			came := make(chan struct{})
			ctx, cancel := context.WithCancel(b.Context())
			stands, ended := follow(ctx, f, model.WatchQuery{Query: model.FeatureQuery{Area: query.Box(0, 0, 10, 10), Filter: "properties.n < 5"}},
				func(model.FeatureEvent) bool { came <- struct{}{}; return true })
			<-stands
			for i := 0; b.Loop(); i++ {
				p := model.Feature{ID: "a", Geometry: orb.Point{1 + float64(i%2), 1}, Properties: []byte(`{"n":1}`)}
				if _, _, err := c.Put(ctx, store.Feature(p), kv.Condition{}); err != nil {
					b.Fatal(err)
				}
				<-came
			}
			cancel()
			<-ended
		})
	}
}

// BenchmarkWatchBegin: a watch that begins and ends: the cost that the server saves
// by keeping watchers between requests.
func BenchmarkWatchBegin(b *testing.B) {
	var ring orb.Ring
	for i := range 201 {
		at := float64(i%200) / 100 * math.Pi
		ring = append(ring, orb.Point{math.Cos(at), math.Sin(at)})
	}
	for name, q := range map[string]model.FeatureQuery{
		"box": {Area: query.Box(0, 0, 1, 1)}, "filter": {Area: query.Box(0, 0, 1, 1), Filter: "properties.n < 5"},
		"polygon": {Area: query.Polygon(orb.Polygon{ring})},
	} {
		b.Run("area="+name, func(b *testing.B) {
			s := startFeatures(b, server.Options{})
			c, err := s.Features(testFeatures)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				w, err := c.Watch(b.Context(), store.WatchOptions{})
				if err == nil {
					err = w.Add("", q.OfStore())
				}
				if err != nil {
					b.Fatal(err)
				}
				w.Close()
			}
		})
	}
}

// The client refuses a server whose answers no watch can have, and accepts good ones.
func TestWatchHostileAnswers(t *testing.T) {
	event := func(revision, resume uint64) []byte {
		e := store.Event{Kind: query.Exit, Why: query.Deleted, ID: "x", Revision: revision, Resume: resume}
		return wire.AppendEvent(nil, &e, false, nil)
	}
	head := func(history, resume uint64, more ...[]byte) []byte {
		return append(wire.AppendWatchHead(nil, history, resume), bytes.Join(more, nil)...)
	}
	for name, ans := range map[string][]byte{
		"short":            make([]byte, wire.WatchAnswerBytes-1),
		"no history":       head(0, 9),
		"backwards":        head(1, 4),
		"event before":     head(1, 9, event(4, 4)),
		"event after":      head(1, 9, event(10, 10)),
		"events backwards": head(1, 9, event(8, 8), event(7, 7)),
		"resume after it":  head(1, 9, event(7, 8)),
		"half an event":    head(1, 9, event(8, 8)[:30]),
		"unknown kind":     head(1, 9, append([]byte{5}, event(8, 8)[1:]...)),
		"no kind":          head(1, 9, append([]byte{0}, event(8, 8)[1:]...)),
		"unknown reason":   head(1, 9, append([]byte{2, 5}, event(8, 8)[2:]...)),
		"no feature":       head(1, 9, append([]byte{1, 0}, event(8, 8)[2:]...)),
		"bytes behind":     head(1, 9, event(8, 8), []byte{1}),
	} {
		w := &watcher{from: 5}
		if more, err := w.give(ans, false, func(model.FeatureEvent) bool { return true }); more || !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%s: %v, %v", name, more, err)
		}
	}
	w := &watcher{from: 5}
	if more, err := w.give(head(1, 9, event(8, 8)), false, func(model.FeatureEvent) bool { return true }); !more || err != nil || w.from != 9 {
		t.Error(more, err, w.from)
	}
}
