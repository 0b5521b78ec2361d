package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// polls makes watch requests of one connection.
type polls struct {
	t    *testing.T
	s    *Server
	c    *client.Client
	coll uint32
}

func newPolls(t *testing.T, s *Server, transport string) (*polls, *client.Client) {
	t.Helper()
	c := dial(t, s, messagesOnly(transport))
	coll, err := s.store.Lookup(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	return &polls{t, s, c, coll.Number}, c
}

func (p *polls) poll(ctx context.Context, r wire.WatchRequest) (ans []byte, err error) {
	r.Coll = p.coll
	if r.Areas == nil {
		r.Areas = []wire.WatchedArea{{}}
	}
	b, err := r.Append(nil, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	ans, err = client.RawCall(ctx, p.c, wire.RawMessage{Kind: wire.KindWatch, Body: b})
	if err == nil && len(ans) < wire.WatchAnswerBytes {
		p.t.Fatalf("answer of %d bytes", len(ans))
	}
	return ans, err
}

func resumeOf(ans []byte) uint64 { return binary.LittleEndian.Uint64(ans[8:]) }

// begin begins a watch, and returns its revision.
func (p *polls) begin(id uint64) uint64 {
	p.t.Helper()
	ans, err := p.poll(p.t.Context(), wire.WatchRequest{Id: id})
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
			s := startFeatures(t, Options{Workers: 1})
			p, c := newPolls(t, s, transport)
			f := dialFeatures(t, s, messagesOnly(transport))
			answers := make(chan error, maxWatches)
			wait := func() {
				for id := range uint64(maxWatches) {
					from := p.begin(id + 1)
					go func() {
						ans, err := p.poll(t.Context(), wire.WatchRequest{Id: id + 1, From: from, WaitMs: 1 << 30})
						if err == nil && len(ans) <= wire.WatchAnswerBytes {
							err = fmt.Errorf("nothing of watch %d", id+1)
						}
						answers <- err
					}()
				}
				eventually(t, "all wait", func() bool { return p.waiting() == maxWatches })
			}
			wait()
			if _, err := p.poll(t.Context(), wire.WatchRequest{Id: 1 << 40}); !errors.Is(err, model.ErrBusy) {
				t.Errorf("one more: %v", err)
			}
			if _, err := p.poll(t.Context(), wire.WatchRequest{Id: 7, From: 1}); !errors.Is(err, model.ErrProtocol) {
				t.Errorf("two of one watch: %v", err)
			}
			if _, err := c.Stats(t.Context()); err != nil {
				t.Errorf("beside them: %v", err)
			}
			if _, _, err := f.Put(t.Context(), model.Feature{ID: "a", Geometry: orb.Point{}}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			for range maxWatches {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
			if got, want := p.held(), int64(maxWatches*(limits.WatcherUnits+1)); got != want {
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
	s := startFeatures(t, Options{Watch: store.WatchLimits{Areas: 8 * limits.WatcherUnits}})
	p, _ := newPolls(t, s, model.TransportTCP)
	p.begin(1)
	if _, err := p.poll(t.Context(), wire.WatchRequest{Id: 2}); !errors.Is(err, model.ErrBusy) {
		t.Error(err)
	}
	if _, err := p.poll(t.Context(), wire.WatchRequest{Id: 1, Flags: wire.WatchEnd}); err != nil {
		t.Error(err)
	}
	p.begin(2)
}

// A lost answer is repeated, over the same connection and under the same id.
func TestWatchLostAnswer(t *testing.T) {
	s := startFeatures(t, Options{})
	p, _ := newPolls(t, s, model.TransportTCP)
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
	first, err := p.poll(t.Context(), wire.WatchRequest{Id: 1, From: from, WaitMs: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := p.poll(t.Context(), wire.WatchRequest{Id: 1, From: from, WaitMs: 1000})
		if err != nil || !bytes.Equal(first[wire.WatchAnswerBytes:], again[wire.WatchAnswerBytes:]) && resumeOf(first) == resumeOf(again) {
			t.Fatalf("%x, %v, want %x", again, err, first)
		}
	}
	// No more events: after the wait the client learns its revision.
	ans, err := p.poll(t.Context(), wire.WatchRequest{Id: 1, From: from + 3, WaitMs: 1})
	if err != nil || len(ans) != wire.WatchAnswerBytes || resumeOf(ans) != from+3 {
		t.Errorf("%x, %v", ans, err)
	}
}

// The bytes of a watch's answer count against its source's share while the answer is
// made, and no longer when it was given.
func TestWatchAnswersAreCounted(t *testing.T) {
	s := startFeatures(t, Options{})
	p, _ := newPolls(t, s, model.TransportTCP)
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
	if ans, err := p.poll(t.Context(), wire.WatchRequest{Id: 1, From: from}); !errors.Is(err, model.ErrBusy) {
		t.Errorf("%d bytes, %v, want %v", len(ans), err, model.ErrBusy)
	}
	other.Close()
	ans, err := p.poll(t.Context(), wire.WatchRequest{Id: 1, From: from})
	if err != nil || resumeOf(ans) != from+4 {
		t.Errorf("%d bytes, %v", len(ans), err)
	}
	eventually(t, "all is given back", func() bool { return s.budgets.answers.Use().Used <= before.Used })
}

// A watch without a key for its collection is refused like a search.
func TestWatchRole(t *testing.T) {
	if needs[wire.KindWatch] != needs[wire.KindFind] {
		t.Error("a watch needs another role than a search")
	}
}
