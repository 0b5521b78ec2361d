package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/longer"
)

// record keeps what a demo reports.
type record struct {
	began   int
	frames  []Frame
	ends    []Summary
	onFrame func()
}

func (r *record) Note(string)                         {}
func (r *record) Begin(ServerReady, Info, DemoConfig) { r.began++ }
func (r *record) End(s Summary)                       { r.ends = append(r.ends, s) }
func (r *record) Frame(f Frame) {
	r.frames = append(r.frames, f)
	if r.onFrame != nil {
		r.onFrame()
	}
}

func quickDemo() DemoConfig {
	return DemoConfig{
		Duration: time.Second, Interval: 100 * time.Millisecond,
		Transport: "shm", Policy: "offload", Procs: 2, Clients: 2, InFlight: 5,
	}
}

func TestDemo(t *testing.T) {
	var r record
	longer.Measure(t, quickDemo().Duration, func(d time.Duration) error {
		cfg := quickDemo()
		cfg.Duration, cfg.Interval, r = d, d/10, record{}
		const rest = 100 * time.Millisecond
		cfg.Steps = []Step{{0, rest}, {d * 45 / 100, 0}, {d * 8 / 10, rest}}
		if err := Demo(context.Background(), cfg, fakeSpawn(""), &r); err != nil {
			t.Fatal(err)
		}
		if r.began != 1 || len(r.frames) != 10 || len(r.ends) != 1 {
			t.Fatalf("%d beginnings, %d frames, %d ends", r.began, len(r.frames), len(r.ends))
		}
		least, offloads := time.Hour, 0
		for _, f := range r.frames {
			least, offloads = min(least, f.Pause), max(offloads, f.Offloads)
			if f.Clients != 4 || f.Busy != 1 || f.Left != 2 {
				t.Errorf("frame %+v", f)
			}
		}
		first, last := r.frames[0].Pause, r.frames[9].Pause
		if first != rest || least != 0 || last != first {
			return fmt.Errorf("rests began at %v, fell to %v, ended at %v; want %v, 0s, %v",
				first, least, last, rest, rest)
		}
		if offloads != 4 {
			return fmt.Errorf("%d clients offloaded at full load, want 4", offloads)
		}
		return nil
	})
	s := r.ends[0]
	if s.Frames != 10 || s.Offload == 0 || s.Fast != 0 || s.OffloadedFirst < 0 || s.Transport != "shm" {
		t.Errorf("summary %+v", s)
	}
}

func TestDemoInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg := quickDemo()
	cfg.Duration = time.Hour
	r := record{onFrame: cancel}
	if err := Demo(ctx, cfg, fakeSpawn(""), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.frames) != 1 || len(r.ends) != 1 || r.ends[0].Frames != 1 {
		t.Errorf("%d frames, summaries %+v", len(r.frames), r.ends)
	}
}

func TestDemoFaults(t *testing.T) {
	for _, fault := range []string{"load", "dial", "search", "panic-server"} {
		var r record
		err := Demo(context.Background(), quickDemo(), fakeSpawn(fault), &r)
		if !errors.Is(err, child.ErrFailed) {
			t.Errorf("%s: %v, want child.ErrFailed", fault, err)
		}
	}
	cfg := quickDemo()
	cfg.Duration = time.Millisecond
	if err := Demo(context.Background(), cfg, fakeSpawn(""), &record{}); !errors.Is(err, harness.ErrConfig) {
		t.Errorf("1 ms: %v, want harness.ErrConfig", err)
	}
}

func showAll(live bool, policy string) string {
	var b bytes.Buffer
	s := &TextShow{W: &b, Live: live}
	s.Note("starting")
	s.Begin(ServerReady{Addr: "127.0.0.1:7", Objects: 21693},
		Info{Transport: "shm", Policy: policy}, DemoConfig{ServerCPUs: []int{0}}.withDefaults())
	for i := range 2 {
		s.Frame(Frame{
			At: time.Duration(i+1) * time.Second, Pause: time.Duration(5*i) * time.Millisecond, FastPerS: 30000,
			OffPerS: 10000 * float64(i), ServerCPU: 0.985, CoresCPU: 1, P50: 40 * time.Microsecond,
			P99: 100 * time.Millisecond, Busy: 2, Left: 11, Offloads: 3 * i, Clients: 8,
		})
	}
	s.End(Summary{
		Frames: 2, Elapsed: 2 * time.Second, Fast: 60000, Offload: 10000,
		P50: 40 * time.Microsecond, P99: time.Millisecond, PeakCPU: 0.985,
		PeakPerS: 40000, Results: 70000 * 1650, PeakResults: 66e6, Transport: "shm", OffloadedFirst: 2 * time.Second,
	})
	return b.String()
}

func TestTextShow(t *testing.T) {
	golden(t, "demo.txt", []byte(showAll(false, "paper")))
	golden(t, "demo-cost.txt", []byte(showAll(false, "cost")))
	live := showAll(true, "cost")
	// The second picture starts where the first did, and each of its lines
	// clears the old text.
	first, second, _ := strings.Cut(live, "\x1b[7A")
	if strings.Count(first, "\x1b[K\n") != 7 ||
		strings.Count(second, "\x1b[K\n") != 8 || !strings.Contains(second, "summary") {
		t.Errorf("live picture:\n%q", live)
	}
	var b bytes.Buffer
	widest := TextShow{W: &b, Live: true, backOff: true}
	widest.Frame(Frame{
		At: 999 * time.Second, Pause: 100 * time.Millisecond, FastPerS: 9e7, OffPerS: 9e8,
		ServerCPU: 1, CoresCPU: 1, P50: 999 * time.Millisecond, P99: 9 * time.Second,
		Busy: 999999, Left: 99999, Offloads: 99, Clients: 99,
	})
	for l := range strings.Lines(b.String()) {
		// A line that wraps would break the redrawing.
		if l = strings.TrimSuffix(l, "\x1b[K\n"); len(l) >= 80 {
			t.Errorf("line of %d characters: %s", len(l), l)
		}
	}
	b.Reset()
	(&TextShow{W: &b}).End(Summary{OffloadedFirst: -1, Transport: "ofi"})
	if !strings.Contains(b.String(), "to be gained\n         transport: ofi") {
		t.Errorf("summary %q", b.String())
	}
}
