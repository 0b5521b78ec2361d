// Package quietlog keeps a log short when peers can cause lines in it.
//
// Of each message text and level, a burst of lines passes, then one a second.
// A line that follows suppressed ones gives their number:
//
//	WARN connection refused peer=10.0.0.66:4711 err=... suppressed=9311
//
// Levels above WARN always pass.
package quietlog

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// burst is the number of lines that pass at once: enough to see the
	// events of several peers of a small test.
	burst = 10
	// every is the time in which another line passes.
	every = time.Second
	// maxMessages bounds the texts with an allowance each. Those of a program
	// are constants, a few dozen; further ones share one allowance.
	maxMessages = 256
)

// Handler is a slog.Handler that leaves lines out. All methods are safe for
// concurrent use.
type Handler struct {
	next   slog.Handler
	shared *shared
}

// shared is common to a Handler and those that WithAttrs and WithGroup made
// of it.
type shared struct {
	base slog.Handler // for lines that Flush writes
	now  func() time.Time

	mu       sync.Mutex
	messages map[message]*allowance
}

type message struct {
	level slog.Level
	text  string
}

// others stands for the messages beyond maxMessages.
var others = message{slog.LevelWarn, "other messages"}

// allowance is a token bucket: it holds up to burst lines.
type allowance struct {
	lines      int
	since      time.Time // of the last line added to lines
	suppressed int
}

// New returns a Handler in front of next. now is the clock.
func New(next slog.Handler, now func() time.Time) *Handler {
	return &Handler{next: next, shared: &shared{
		base: next, now: now, messages: map[message]*allowance{},
	}}
}

// Enabled is that of the next handler.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// WithAttrs returns a Handler that shares what may pass with h.
func (h *Handler) WithAttrs(a []slog.Attr) slog.Handler {
	return &Handler{h.next.WithAttrs(a), h.shared}
}

// WithGroup returns a Handler that shares what may pass with h.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.next.WithGroup(name), h.shared}
}

// Handle passes the record on, or counts it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	pass, suppressed := h.shared.admit(message{r.Level, r.Message})
	if !pass {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", suppressed))
	}
	return h.next.Handle(ctx, r)
}

// admit reports whether a line may pass, and how many did not since the last.
func (s *shared) admit(m message) (pass bool, suppressed int) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.messages[m]
	if a == nil && len(s.messages) >= maxMessages {
		s.forget(now)
		if len(s.messages) >= maxMessages {
			m = others
			a = s.messages[m]
		}
	}
	if a == nil {
		a = &allowance{lines: burst, since: now}
		s.messages[m] = a
	}
	a.fill(now)
	if a.lines == 0 {
		a.suppressed++
		return false, 0
	}
	a.lines--
	suppressed, a.suppressed = a.suppressed, 0
	return true, suppressed
}

// fill adds the lines that may pass since the last call.
func (a *allowance) fill(now time.Time) {
	n := now.Sub(a.since) / every
	if n <= 0 {
		return
	}
	a.since = a.since.Add(n * every)
	if a.lines += int(min(n, burst)); a.lines >= burst {
		a.lines, a.since = burst, now
	}
}

// forget drops the messages that have their whole allowance again, and no
// suppressed lines.
func (s *shared) forget(now time.Time) {
	for m, a := range s.messages {
		if a.fill(now); a.lines == burst && a.suppressed == 0 {
			delete(s.messages, m)
		}
	}
}

// Flush writes a line for each message of which lines were left out since the
// last one that passed. Call it when the log ends.
func (h *Handler) Flush() {
	s := h.shared
	now := s.now()
	s.mu.Lock()
	var left []slog.Record
	for m, a := range s.messages {
		if a.suppressed > 0 {
			r := slog.NewRecord(now, m.level, m.text, 0)
			r.AddAttrs(slog.Int("suppressed", a.suppressed))
			left = append(left, r)
			a.suppressed = 0
		}
	}
	s.mu.Unlock()
	for _, r := range left {
		if s.base.Enabled(context.Background(), r.Level) {
			_ = s.base.Handle(context.Background(), r) // as slog.Logger does
		}
	}
}
