package quietlog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lines is a handler that keeps what it gets.
type lines struct {
	mu  sync.Mutex
	got []string
}

func (*lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *lines) WithGroup(string) slog.Handler          { return l }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	s := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "suppressed" {
			s += fmt.Sprintf(" +%d", a.Value.Int64())
		}
		return true
	})
	l.mu.Lock()
	l.got = append(l.got, s)
	l.mu.Unlock()
	return nil
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got
	l.got = nil
	return got
}

// TestFlood: 10,000 lines a second for a minute become a handful, whose counts
// add up to all; other messages, levels and errors pass meanwhile.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		h := New(&out, time.Now)
		log := slog.New(h).With("server", 1)
		const seconds, rate = 60, 10000
		for range seconds {
			for range rate {
				log.Warn("refused", "peer", "10.0.0.66:1")
			}
			<-time.After(time.Second)
		}
		got := out.take()
		if n := len(got); n != burst+seconds-1 {
			t.Errorf("%d lines, want %d", n, burst+seconds-1)
		}
		for i, s := range got {
			want := "refused"
			switch {
			case i == burst: // the first after the second with the burst
				want += fmt.Sprintf(" +%d", rate-burst)
			case i > burst:
				want += fmt.Sprintf(" +%d", rate-1)
			}
			if s != want {
				t.Fatalf("line %d is %q, want %q", i, s, want)
			}
		}
		log.Info("refused")
		log.Warn("another")
		for range 2 * burst {
			log.Error("broken")
		}
		want := append([]string{"refused", "another"}, slices.Repeat([]string{"broken"}, 2*burst)...)
		if got := out.take(); !slices.Equal(got, want) {
			t.Errorf("beside the flood: %q, want %q", got, want)
		}
		h.Flush()
		if got, want := out.take(), []string{fmt.Sprintf("refused +%d", rate-1)}; !slices.Equal(got, want) {
			t.Errorf("at the end: %q, want %q", got, want)
		}
		h.Flush()
		if got := out.take(); len(got) != 0 {
			t.Errorf("a second Flush wrote %q", got)
		}
	})
}

// TestRest: after a rest a burst passes again.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := slog.New(New(&out, time.Now))
		for range 2 {
			for range 3 * burst {
				log.Warn("x")
			}
			if n := len(out.take()); n != burst {
				t.Errorf("%d lines, want %d", n, burst)
			}
			<-time.After(burst * every)
		}
	})
}

// TestManyMessages: the number of texts with an allowance each is bounded,
// and no line is lost without being counted.
func TestManyMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		h := New(&out, time.Now)
		log := slog.New(h)
		for i := range 10 * maxMessages {
			log.Warn(fmt.Sprint("message ", i))
		}
		if n := len(h.shared.messages); n > maxMessages+1 {
			t.Errorf("%d messages are kept, want at most %d", n, maxMessages+1)
		}
		passed := len(out.take())
		h.Flush()
		var left int
		if _, err := fmt.Sscanf(fmt.Sprint(out.take()), "[other messages +%d]", &left); err != nil {
			t.Fatal(err)
		}
		if passed+left != 10*maxMessages {
			t.Errorf("%d lines and %d left out, want %d", passed, left, 10*maxMessages)
		}
		<-time.After(time.Hour)
		log.Warn("a new one")
		if n := len(h.shared.messages); n != 1 {
			t.Errorf("%d messages are kept after a rest, want 1", n)
		}
	})
}

func TestConcurrent(t *testing.T) {
	var out lines
	log := slog.New(New(&out, time.Now))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				log.Warn("x")
			}
		})
	}
	wg.Wait()
	if n := len(out.take()); n < burst {
		t.Errorf("%d lines, want at least %d", n, burst)
	}
}
