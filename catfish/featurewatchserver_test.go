package catfish

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// polls makes watch requests of one connection.
type polls struct {
	t    *testing.T
	s    *Server
	sess *session
	coll uint32
}

func newPolls(t *testing.T, s *Server, transport string) (*polls, *Client) {
	t.Helper()
	c := dial(t, s, messagesOnly(transport))
	sess := c.conn.sessions.latest()
	o, err := sess.open(t.Context(), testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	return &polls{t, s, sess, o.coll}, c
}

func (p *polls) poll(ctx context.Context, r watchRequest) (ans []byte, err error) {
	r.coll = p.coll
	if r.areas == nil {
		r.areas = []watchedArea{{}}
	}
	b, err := r.append(nil, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	ans, err = p.sess.call(ctx, kindWatch, b, nil)
	if err == nil && len(ans) < watchAnswerBytes {
		p.t.Fatalf("answer of %d bytes", len(ans))
	}
	return ans, err
}

func resumeOf(ans []byte) uint64 { return binary.LittleEndian.Uint64(ans[8:]) }

// begin begins a watch, and returns its revision.
func (p *polls) begin(id uint64) uint64 {
	p.t.Helper()
	ans, err := p.poll(p.t.Context(), watchRequest{id: id})
	if err != nil {
		p.t.Fatal(err)
	}
	return resumeOf(ans)
}

func (p *polls) held() int64 { return p.s.watchBudget.Use().Used }

// waiting is how many requests wait at the server.
func (p *polls) waiting() (n int) {
	p.s.watchSets.mu.Lock()
	defer p.s.watchSets.mu.Unlock()
	for set := range p.s.watchSets.sets {
		set.mu.Lock()
		for _, w := range set.have {
			if w.stop != nil {
				n++
			}
		}
		set.mu.Unlock()
	}
	return n
}

// All watches that a connection may have wait: its other requests are served, one more
// watch is refused, and all get what is written. The remaining watchers end by time, or
// with the connection.
func TestWatchesWait(t *testing.T) {
	for _, transport := range allTransports {
		t.Run(transport, func(t *testing.T) {
			s := startFeatures(t, ServerOptions{Workers: 1})
			p, c := newPolls(t, s, transport)
			f := dialFeatures(t, s, messagesOnly(transport))
			answers := make(chan error, maxWatches)
			wait := func() {
				for id := range uint64(maxWatches) {
					from := p.begin(id + 1)
					go func() {
						ans, err := p.poll(t.Context(), watchRequest{id: id + 1, from: from, waitMs: 1 << 30})
						if err == nil && len(ans) <= watchAnswerBytes {
							err = fmt.Errorf("nothing of watch %d", id+1)
						}
						answers <- err
					}()
				}
				eventually(t, "all wait", func() bool { return p.waiting() == maxWatches })
			}
			wait()
			if _, err := p.poll(t.Context(), watchRequest{id: 1 << 40}); !errors.Is(err, ErrBusy) {
				t.Errorf("one more: %v", err)
			}
			if _, err := p.poll(t.Context(), watchRequest{id: 7, from: 1}); !errors.Is(err, ErrProtocol) {
				t.Errorf("two of one watch: %v", err)
			}
			if _, err := c.Stats(t.Context()); err != nil {
				t.Errorf("beside them: %v", err)
			}
			if _, _, err := f.Put(t.Context(), Feature{ID: "a", Geometry: orb.Point{}}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			for range maxWatches {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
			if got, want := p.held(), int64(maxWatches*(watchUnits+1)); got != want {
				t.Errorf("%d held, want %d", got, want)
			}
			s.watchSets.expire(s.now())
			if p.held() == 0 {
				t.Error("gone at once")
			}
			s.watchSets.expire(s.now() + watchIdle)
			if got := p.held(); got != 0 {
				t.Errorf("%d held after a time", got)
			}
			wait()
			s.watchSets.expire(s.now() + 2*watchIdle)
			if p.waiting() != maxWatches {
				t.Error("some were ended that wait")
			}
			c.Close()
			eventually(t, "all is free", func() bool {
				s.watchSets.mu.Lock()
				defer s.watchSets.mu.Unlock()
				return p.held() == 0 && len(s.watchSets.sets) == 0 && s.budgets.answers.Use().Used == 0
			})
		})
	}
}

// A source may have a quarter of all areas.
func TestWatchBudget(t *testing.T) {
	s := startFeatures(t, ServerOptions{Watch: store.WatchLimits{Areas: 8 * watchUnits}})
	p, _ := newPolls(t, s, TransportTCP)
	p.begin(1)
	if _, err := p.poll(t.Context(), watchRequest{id: 2}); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if _, err := p.poll(t.Context(), watchRequest{id: 1, flags: watchEnd}); err != nil {
		t.Error(err)
	}
	p.begin(2)
}

// A lost answer is repeated, over the same connection and under the same id.
func TestWatchLostAnswer(t *testing.T) {
	s := startFeatures(t, ServerOptions{})
	p, _ := newPolls(t, s, TransportTCP)
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	from := p.begin(1)
	for i := range 3 {
		if _, _, err := c.Put(t.Context(), store.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	first, err := p.poll(t.Context(), watchRequest{id: 1, from: from, waitMs: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := p.poll(t.Context(), watchRequest{id: 1, from: from, waitMs: 1000})
		if err != nil || !bytes.Equal(first[watchAnswerBytes:], again[watchAnswerBytes:]) && resumeOf(first) == resumeOf(again) {
			t.Fatalf("%x, %v, want %x", again, err, first)
		}
	}
	// No more events: after the wait the client learns its revision.
	ans, err := p.poll(t.Context(), watchRequest{id: 1, from: from + 3, waitMs: 1})
	if err != nil || len(ans) != watchAnswerBytes || resumeOf(ans) != from+3 {
		t.Errorf("%x, %v", ans, err)
	}
}

// Events that take several answers, or messages, come completely: none is lost between.
func TestWatchLongAnswers(t *testing.T) {
	s := startFeatures(t, ServerOptions{})
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	keep, err := c.Watch(t.Context(), store.WatchOptions{}) // A watcher keeps the log in memory.
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	const n = 5 * watchBytes / (32 << 10)
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
		for e, err := range f.Watch(t.Context(), WatchQuery{From: from, Progress: true}) {
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
				f.be.(*remoteFeatures).c.conn.sessions.latest().caller.Close()
			}
		}
	}
}

// The bytes of a watch's answer count against its source's share while the answer is
// made, and no longer when it was given.
func TestWatchAnswersAreCounted(t *testing.T) {
	s := startFeatures(t, ServerOptions{})
	p, _ := newPolls(t, s, TransportTCP)
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	from := p.begin(1)
	text := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 32<<10))
	for i := range 4 {
		if _, _, err := c.Put(t.Context(), store.Feature{ID: fmt.Sprint(i), Properties: text}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.budgets.answers.Use()
	other := s.budgets.answers.Open("127.0.0.1", func(error) {})
	defer other.Close()
	if err := other.Take(before.Share - before.Used - 100<<10); err != nil {
		t.Fatal(err)
	}
	if ans, err := p.poll(t.Context(), watchRequest{id: 1, from: from}); !errors.Is(err, ErrBusy) {
		t.Errorf("%d bytes, %v, want %v", len(ans), err, ErrBusy)
	}
	other.Close()
	ans, err := p.poll(t.Context(), watchRequest{id: 1, from: from})
	if err != nil || resumeOf(ans) != from+4 {
		t.Errorf("%d bytes, %v", len(ans), err)
	}
	eventually(t, "all is given back", func() bool { return s.budgets.answers.Use().Used <= before.Used })
}

// A watch without a key for its collection is refused like a search.
func TestWatchRole(t *testing.T) {
	if needs[kindWatch] != needs[kindFind] {
		t.Error("a watch needs another role than a search")
	}
}

// FuzzWatchWire: either side refuses any bytes, or decodes them to what it would
// encode.
func FuzzWatchWire(f *testing.F) {
	req := watchRequest{coll: 1, id: 2, from: 3, areas: []watchedArea{
		{"a", store.Query{Area: query.Box(0, 0, 1, 1), Filter: "properties.n > 1"}},
		{"", store.Query{Area: query.Polygon(orb.Polygon{{{0, 0}, {1, 0}, {0, 1}, {0, 0}}})}},
	}}
	b, err := req.append(nil, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	_, value, err := query.Encode(store.Feature{ID: "x", Geometry: orb.Point{1, 2}, Properties: []byte(`{"n":1}`)}, 0)
	if err != nil {
		f.Fatal(err)
	}
	found, _, err := getFeature(appendFeature(nil, &store.Found{ID: []byte("x"), Value: value, Revision: 7}))
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range []store.Event{
		{Kind: query.Enter, Name: "a", ID: "x", Revision: 7, Resume: 7, New: &found},
		{Kind: query.Inside, ID: "x", Revision: 7, Resume: 6, New: &found, Old: &found},
		{Kind: query.Exit, Why: query.Deleted, ID: "x", Revision: 8, Resume: 8, Old: &found},
	} {
		f.Add(appendEvent(nil, &e, true, nil))
		f.Add(appendEvent(nil, &e, false, ErrBusy))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if req, n, rest, err := getWatchHead(b); err == nil {
			if areas, err := getWatchAreas(n, rest); err == nil && len(areas) != n {
				t.Fatalf("%d areas of %d, %+v", len(areas), n, req)
			}
		}
		for rest := b; len(rest) > 0; {
			e, after, _, err := getEvent(rest)
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
		b := appendWatchHead(nil, 1, resume)
		for _, e := range events {
			e.Kind, e.Why = query.Exit, query.Deleted
			b = appendEvent(b, &e, false, nil)
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
			if _, err := w.give(ans, false, func(e FeatureEvent) bool { got += e.Area; return true }); err != nil {
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
			s := startFeatures(b, ServerOptions{Workers: 1})
			f := watchedBy(b, s, how)
			c, err := s.Features(testFeatures)
			if err != nil {
				b.Fatal(err)
			}
			came := make(chan struct{})
			ctx, cancel := context.WithCancel(b.Context())
			stands, ended := follow(ctx, f, WatchQuery{Query: FeatureQuery{Area: query.Box(0, 0, 10, 10), Filter: "properties.n < 5"}},
				func(FeatureEvent) bool { came <- struct{}{}; return true })
			<-stands
			for i := 0; b.Loop(); i++ {
				p := Feature{ID: "a", Geometry: orb.Point{1 + float64(i%2), 1}, Properties: []byte(`{"n":1}`)}
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
	for name, q := range map[string]FeatureQuery{
		"box": {Area: query.Box(0, 0, 1, 1)}, "filter": {Area: query.Box(0, 0, 1, 1), Filter: "properties.n < 5"},
		"polygon": {Area: query.Polygon(orb.Polygon{ring})},
	} {
		b.Run("area="+name, func(b *testing.B) {
			s := startFeatures(b, ServerOptions{})
			c, err := s.Features(testFeatures)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				w, err := c.Watch(b.Context(), store.WatchOptions{})
				if err == nil {
					err = w.Add("", q.ofStore())
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
		return appendEvent(nil, &e, false, nil)
	}
	head := func(history, resume uint64, more ...[]byte) []byte {
		return append(appendWatchHead(nil, history, resume), bytes.Join(more, nil)...)
	}
	for name, ans := range map[string][]byte{
		"short":            make([]byte, watchAnswerBytes-1),
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
		if more, err := w.give(ans, false, func(FeatureEvent) bool { return true }); more || !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v, %v", name, more, err)
		}
	}
	w := &watcher{from: 5}
	if more, err := w.give(head(1, 9, event(8, 8)), false, func(FeatureEvent) bool { return true }); !more || err != nil || w.from != 9 {
		t.Error(more, err, w.from)
	}
}
