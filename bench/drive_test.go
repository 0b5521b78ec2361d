package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/rstar"
)

func there() ServerReady {
	return ServerReady{Addr: "there", Objects: 3, Bounds: rstar.Rect{MaxX: 2, MaxY: 4}}
}

// TestDrive: clients of a server that ran before, reported one by one.
func TestDrive(t *testing.T) {
	cfg := quickDemo()
	cfg.Each = true
	asked := 0
	usage := func(context.Context) (harness.Usage, error) {
		asked++
		return harness.Usage{CPU: time.Duration(asked) * time.Second, Wall: time.Duration(2*asked) * time.Second, Cores: 1}, nil
	}
	var r record
	if err := Drive(t.Context(), cfg, there(), usage, fakeSpawn(""), &r); err != nil {
		t.Fatal(err)
	}
	if r.began != 1 || len(r.frames) != 10 || len(r.ends) != 1 || asked != 11 {
		t.Fatalf("%d beginnings, %d frames, %d ends, usage asked %d times", r.began, len(r.frames), len(r.ends), asked)
	}
	var searches int64
	for _, f := range r.frames {
		if len(f.Each) != 4 || f.ServerCPU != 0.5 {
			t.Fatalf("frame of %d clients, server's share %v", len(f.Each), f.ServerCPU)
		}
		var latencies int64
		for _, c := range f.Each {
			latencies += c.Latency.Count()
			if c.Counters.Fast != 0 || c.Counters.Reads != 5*c.Counters.Offloaded || c.Elapsed <= 0 || c.Gauges.Left != 2 {
				t.Errorf("client %+v", c)
			}
		}
		if latencies != f.Latency.Count() {
			t.Errorf("%d searches of clients, %d of all", latencies, f.Latency.Count())
		}
		searches += latencies
	}
	if searches == 0 {
		t.Error("no client searched")
	}
}

// TestDriveEnds: with the cause when it is stopped, and the client's error.
func TestDriveEnds(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cfg := quickDemo()
	cfg.Duration = time.Hour
	usage := func(context.Context) (harness.Usage, error) { return harness.Usage{}, nil }
	r := record{onFrame: func() { cancel(enough) }}
	if err := Drive(ctx, cfg, there(), usage, fakeSpawn(""), &r); !errors.Is(err, enough) {
		t.Errorf("stopped: %v", err)
	}
	if len(r.ends) != 1 {
		t.Errorf("%d summaries", len(r.ends))
	}
	if err := Drive(t.Context(), quickDemo(), there(), usage, fakeSpawn("dial"), &record{}); !errors.Is(err, child.ErrFailed) {
		t.Errorf("nobody there: %v, want child.ErrFailed", err)
	}
	cfg.Duration = 0
	cfg.Interval = -1
	if err := Drive(t.Context(), cfg, there(), usage, fakeSpawn(""), &record{}); !errors.Is(err, harness.ErrConfig) {
		t.Errorf("no interval: %v, want harness.ErrConfig", err)
	}
}
