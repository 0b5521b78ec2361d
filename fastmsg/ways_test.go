package fastmsg

import (
	"bytes"
	"fmt"
	"github.com/catfish-index/catfish/internal/fetch"
	"sync/atomic"
	"testing"
	"time"
)

// twoWays is a server on whose clock the way of an answer determines how long
// its call takes: time passes in the handler only.
type twoWays struct {
	now              atomic.Int64
	fetched, written atomic.Int64 // the time of a call
	inWriting        atomic.Int64 // answers that were written
}

func (w *twoWays) clock() time.Duration { return time.Duration(w.now.Load()) }

func (w *twoWays) serve(c *Conn, m Message) {
	if c.Fetches() {
		w.now.Add(w.fetched.Load())
	} else {
		w.now.Add(w.written.Load())
		w.inWriting.Add(1)
	}
	echo(c, m)
}

// calls makes n calls, and returns the share of their answers that was written.
func (w *twoWays) calls(t *testing.T, c *Caller, n int) float64 {
	t.Helper()
	before := w.inWriting.Load()
	for i := range n {
		want := bytes.Repeat([]byte{byte(i)}, i%200)
		if got, _, err := c.Call(within(t), 1, want, nil); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, want %d: %v", len(got), len(want), err)
		}
	}
	return float64(w.inWriting.Load()-before) / float64(n)
}

// TestCallerChoosesFasterWay: the Caller chooses the way in which calls take less time by
// its clock, and changes over when that changes.
func TestCallerChoosesFasterWay(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		var w twoWays
		s := serve(t, p, handlerFuncs{serve: w.serve}, WorkerConfig{})
		var counts fetch.Counts
		w.fetched.Store(140)
		w.written.Store(47)
		c := s.dial(t, CallerConfig{FetchCounts: &counts, clock: w.clock})
		w.calls(t, c, 3000)
		if share := w.calls(t, c, 1000); share < 0.7 {
			t.Errorf("written answers are faster: %.2f are", share)
		}
		if counts.Trials.Load() == 0 || counts.Moves.Load() == 0 || counts.Changes.Load() == 0 {
			t.Errorf("%d trials, %d moves, %d changes", counts.Trials.Load(), counts.Moves.Load(), counts.Changes.Load())
		}
		moves := counts.Moves.Load()
		w.fetched.Store(20)
		for i := 0; counts.Moves.Load() == moves; i++ {
			// One by one: two answers that come late move it again, by its clock.
			if w.calls(t, c, 1); i == 40_000 {
				t.Fatal("fetched answers are faster, and not taken")
			}
		}
		if moves = counts.Moves.Load() - moves; moves != 1 {
			t.Errorf("%d moves, want one", moves)
		}
	})
}

// TestCallersChooseFasterWay: callers that share a connection get each answer once and
// complete while it changes to and fro, and end in the faster way.
func TestCallersChooseFasterWay(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		var w twoWays
		w.fetched.Store(100)
		w.written.Store(100)
		s := serve(t, p, handlerFuncs{serve: w.serve}, WorkerConfig{})
		var counts fetch.Counts
		c := s.dial(t, CallerConfig{FetchCounts: &counts, clock: w.clock, RingBytes: MinRingBytes})
		const callers, each = 8, 2000
		done := make(chan error, callers)
		for i := range callers {
			go func() {
				for n := range each {
					want := bytes.Repeat([]byte{byte(n + i)}, n%300)
					got, _, err := c.Call(within(t), 1, want, nil)
					if err != nil || !bytes.Equal(got, want) {
						done <- fmt.Errorf("call %d: %d bytes, want %d: %w", n, len(got), len(want), err)
						return
					}
				}
				done <- nil
			}()
		}
		for range callers {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if counts.Trials.Load() < 2 {
			t.Errorf("%d trials of %d calls", counts.Trials.Load(), callers*each)
		}
	})
}

// TestLateAnswersEndFetching: a Caller whose answers are hardly ever in time gives up
// fetching, and returns for trials only.
func TestLateAnswersEndFetching(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		var w twoWays
		w.fetched.Store(10)
		w.written.Store(100)
		late := make(chan struct{})
		s := serve(t, p, handlerFuncs{serve: func(conn *Conn, m Message) {
			if m.Kind == 2 {
				<-late
			}
			w.serve(conn, m)
		}}, WorkerConfig{})
		defer close(late) // also if the test fails
		var counts fetch.Counts
		c := s.dial(t, CallerConfig{FetchCounts: &counts, clock: w.clock})
		for i := 0; counts.Moves.Load() == 0; i++ {
			if i == 4 {
				t.Fatal("has not given up after 4 late answers")
			}
			// Fetching again takes an answer or two. On a busy machine one of them
			// may be late as well, and the Caller gives up here.
			until(t, "answers are fetched", func() bool {
				w.calls(t, c, 1)
				return c.Fetching() || counts.Moves.Load() != 0
			})
			if counts.Moves.Load() != 0 {
				break
			}
			done := make(chan error, 1)
			go func() {
				_, _, err := c.Call(within(t), 2, nil, nil)
				done <- err
			}()
			until(t, "the answer is to be written", func() bool { return !c.Fetching() })
			late <- struct{}{}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if n := counts.Changes.Load(); n < 2 {
			t.Fatalf("gave up after %d late answers", n)
		}
		// It rests for half a window at least.
		if share := w.calls(t, c, 60); share != 1 {
			t.Errorf("%.2f of the answers were written after it gave up", share)
		}
		if counts.Trials.Load() != 0 {
			t.Errorf("%d trials", counts.Trials.Load())
		}
	})
}
