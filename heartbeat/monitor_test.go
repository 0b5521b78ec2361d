package heartbeat

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// machine is a fake System, whose times the test sets.
type machine struct {
	cores int
	quota float64

	mu             sync.Mutex
	busy, own      time.Duration
	work           Work
	looks          int
	failed         error
	capacityFailed error
}

func (m *machine) Capacity() (int, float64, error) { return m.cores, m.quota, m.capacityFailed }

func (m *machine) Cores(context.Context) (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	return m.busy, m.failed
}

func (m *machine) Process() (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own, nil
}

func (m *machine) Work() Work {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.work
}

// run lets time pass, in steps much shorter than a sample. ours and others
// are in cores; spinning is the part of ours that spins. It returns the last
// load.
func (m *machine) run(mon *Monitor, d time.Duration, ours, spinning, others float64) Load {
	const step = time.Millisecond
	var l Load
	for ; d > 0; d -= step {
		time.Sleep(step) // the bubble's fake clock
		m.mu.Lock()
		m.own += time.Duration(ours * float64(step))
		m.busy += time.Duration((ours + others) * float64(step))
		m.work.Spun += time.Duration(spinning * float64(step))
		m.work.Busy += time.Duration((ours - spinning) * float64(step))
		m.work.BytesOut += 100
		m.work.Requests++
		m.mu.Unlock()
		l = mon.Load()
	}
	return l
}

func (m *machine) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.02 }

func TestMonitor(t *testing.T) {
	for name, tc := range map[string]struct {
		cores                  int
		quota                  float64
		ours, spinning, others float64
		cpu, busy              float64
	}{
		"idle":                {cores: 2},
		"ours":                {cores: 2, ours: 1, cpu: 0.5, busy: 0.5},
		"spinning is idle":    {cores: 2, ours: 1, spinning: 0.9, cpu: 0.05, busy: 0.05},
		"others":              {cores: 2, others: 1.5, cpu: 0.75},
		"both":                {cores: 4, ours: 1, others: 2, cpu: 0.75, busy: 0.5},
		"saturated":           {cores: 2, ours: 2, cpu: 1, busy: 1},
		"quota":               {cores: 8, quota: 1, ours: 0.9, cpu: 0.9, busy: 0.45},
		"quota above cores":   {cores: 1, quota: 4, ours: 0.8, cpu: 0.8, busy: 0.4},
		"others do not count": {cores: 8, quota: 2, ours: 1, others: 2, cpu: 0.5, busy: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sys := &machine{cores: tc.cores, quota: tc.quota}
				mon, err := NewMonitor(MonitorConfig{Work: sys.Work, Workers: 2, System: sys})
				if err != nil {
					t.Fatal(err)
				}
				defer mon.Close()
				mon.Load()
				l := sys.run(mon, time.Second, tc.ours, tc.spinning, tc.others)
				if !near(l.CPU, tc.cpu) || !near(l.Busy, tc.busy) {
					t.Errorf("CPU %.3f, busy %.3f; want %.3f, %.3f", l.CPU, l.Busy, tc.cpu, tc.busy)
				}
				if !near(float64(l.BytesPerSecond)/100_000, 1) {
					t.Errorf("%d bytes/s, want 100,000", l.BytesPerSecond)
				}
				if l.Requests < 990 {
					t.Errorf("%d requests, want 1000 or a window less", l.Requests)
				}
			})
		})
	}
}

// TestMonitorIsQuick: a jump of our own load shows at the next Load, not only
// after the next sample.
func TestMonitorIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := &machine{cores: 1}
		mon, err := NewMonitor(MonitorConfig{Work: sys.Work, System: sys})
		if err != nil {
			t.Fatal(err)
		}
		defer mon.Close()
		mon.Load()
		sys.run(mon, time.Second, 0, 0, 0)
		if l := sys.run(mon, 10*time.Millisecond, 1, 0, 0); !near(l.CPU, 1) {
			t.Errorf("CPU %.3f one beat after the jump", l.CPU)
		}
		// Calls in between share the window.
		want := mon.Load()
		time.Sleep(time.Millisecond)
		sys.set(func() { sys.own += time.Second })
		if l := mon.Load(); l != want {
			t.Errorf("%+v at once after %+v", l, want)
		}
	})
}

// TestMonitorRests: without calls of Load, nothing is sampled.
func TestMonitorRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := &machine{cores: 2}
		mon, err := NewMonitor(MonitorConfig{Work: sys.Work, System: sys})
		if err != nil {
			t.Fatal(err)
		}
		defer mon.Close()
		looks := func() (n int) { sys.set(func() { n = sys.looks }); return n }
		time.Sleep(10 * time.Second)
		if n := looks(); n != 1 { // NewMonitor's
			t.Fatalf("%d samples before anybody asked", n)
		}
		mon.Load()
		sys.run(mon, time.Second, 0.5, 0, 0.5)
		if n := looks(); n < 10 || n > 13 {
			t.Fatalf("%d samples in a second, want about 11", n)
		}
		time.Sleep(5 * time.Second)
		rested := looks()
		time.Sleep(time.Hour)
		if n := looks(); n != rested {
			t.Fatalf("%d samples while nobody asked", n-rested)
		}
		mon.Load()
		if l := sys.run(mon, time.Second, 0.5, 0, 0.5); !near(l.CPU, 0.5) {
			t.Fatalf("CPU %.3f after the rest, want 0.5", l.CPU)
		}
	})
}

func TestMonitorErrors(t *testing.T) {
	broken := errors.New("no /proc here")
	sys := &machine{cores: 1}
	for name, cfg := range map[string]MonitorConfig{
		"no work":     {System: sys},
		"no capacity": {Work: sys.Work, System: &machine{capacityFailed: broken}},
		"no core":     {Work: sys.Work, System: &machine{}},
		"no times":    {Work: sys.Work, System: &machine{cores: 1, failed: broken}},
		"negative":    {Work: sys.Work, System: sys, SampleEvery: -1},
	} {
		if mon, err := NewMonitor(cfg); err == nil {
			mon.Close()
			t.Errorf("%s: no error", name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		mon, err := NewMonitor(MonitorConfig{Work: sys.Work, System: sys})
		if err != nil {
			t.Fatal(err)
		}
		defer mon.Close()
		mon.Load()
		sys.set(func() { sys.failed = broken })
		sys.run(mon, time.Second, 1, 0, 0)
		if err := mon.Err(); !errors.Is(err, broken) {
			t.Errorf("Err is %v", err)
		}
		sys.set(func() { sys.failed = nil })
		if l := sys.run(mon, time.Second, 1, 0, 0); mon.Err() != nil || !near(l.CPU, 1) {
			t.Errorf("CPU %.3f, Err %v after recovery", l.CPU, mon.Err())
		}
	})
}

// TestHost: the real times are plausible and increase.
func TestHost(t *testing.T) {
	var h Host
	cores, quota, err := h.Capacity()
	if err != nil || cores < 1 || quota < 0 {
		t.Fatalf("capacity %d, %v, %v", cores, quota, err)
	}
	busy, err := h.Cores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, err := h.Process()
	if err != nil || own <= 0 {
		t.Fatalf("process %v, %v", own, err)
	}
	// Burn CPU until both clocks show it; a core's clock ticks at 10 ms.
	for end := time.Now().Add(time.Minute); ; {
		b, err1 := h.Cores(t.Context())
		o, err2 := h.Process()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if b > busy && o > own {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("cores %v to %v, process %v to %v", busy, b, own, o)
		}
	}
}
