package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Work is the sum of the work of a server's workers since they started.
type Work struct {
	Busy     time.Duration // serving requests
	Spun     time.Duration // spinning for work
	Requests uint64
	BytesOut uint64
	Waiting  int // now
}

// Load is the load over the last window.
type Load struct {
	CPU, Busy      float64 // as in Beat
	Waiting        uint32
	BytesPerSecond uint64
	Requests       uint64 // since the start, as in Work
	// Numbers are sent along, as they are. A Monitor leaves them 0.
	Numbers [2]uint64
}

// System gives a Monitor its measurements: Host, or a fake in tests.
type System interface {
	// Capacity returns the number of cores that this process may use, and
	// the quota of its cgroup in cores (0: no quota).
	Capacity() (cores int, quota float64, err error)
	// Cores returns the sum of the times that those cores have been busy.
	Cores(ctx context.Context) (busy time.Duration, err error)
	// Process returns the CPU time of this process.
	Process() (time.Duration, error)
}

// MonitorConfig configures a Monitor. Work is required.
type MonitorConfig struct {
	Work    func() Work
	Workers int // 0: 1
	// SampleEvery is the interval between samples of the cores (0: 100 ms).
	SampleEvery time.Duration
	System      System           // nil: Host
	Now         func() time.Time // nil: time.Now
}

const (
	// defaultSample is ten of the 10 ms ticks in which /proc/stat counts, so
	// that the error of a window is at most 10 % of one core.
	defaultSample = 100 * time.Millisecond
	// minWindow is the shortest time over which the process is measured.
	// Two workers that tick at nearly the same time get the same result.
	minWindow = 5 * time.Millisecond
	// idleSamples is the number of intervals without a call of Load after
	// which sampling stops.
	idleSamples = 10
)

// Monitor measures the load of a server. It reads two clocks, of which one
// costs more than the other:
//
//	at each Load        CPU time of this process (getrusage, under 1 us)
//	every SampleEvery   busy time of the cores (gopsutil: /proc/stat, tens
//	                    of us), in a separate goroutine
//
// The first yields the use by this process, the second the use of the same
// cores by other processes. Both are in cores. Time spent spinning is left
// out, since a spinning worker has no work:
//
//	others = busy time of cores - time of process, same window, per second
//	own    = time of process - spun, since the last Load, per second
//	CPU    = max((own + others) / cores, own / quota)
//
// Sampling stops while Load is not called: an idle server uses no CPU. Safe
// for concurrent use.
type Monitor struct {
	cfg   MonitorConfig
	cores int
	quota float64

	wake   chan struct{} // a token: Load was called after a pause
	cancel context.CancelFunc
	ended  chan struct{}

	mu       sync.Mutex
	asked    time.Time // of the last Load
	awake    bool      // samples are being taken
	last     time.Time // start of the current window
	lastWork Work
	lastCPU  time.Duration
	load     Load
	others   float64 // in cores
	err      error
}

// NewMonitor starts a Monitor, which Close ends. It fails if the load cannot
// be measured on this system.
func NewMonitor(cfg MonitorConfig) (*Monitor, error) {
	if cfg.Work == nil {
		return nil, errors.New("heartbeat: MonitorConfig.Work is nil")
	}
	if cfg.Workers == 0 {
		cfg.Workers = 1
	}
	if cfg.SampleEvery == 0 {
		cfg.SampleEvery = defaultSample
	}
	if cfg.Workers < 0 || cfg.SampleEvery < 0 {
		return nil, fmt.Errorf("heartbeat: Workers %d, SampleEvery %v: must be positive",
			cfg.Workers, cfg.SampleEvery)
	}
	if cfg.System == nil {
		cfg.System = Host{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cores, quota, err := cfg.System.Capacity()
	if err == nil && cores <= 0 {
		err = fmt.Errorf("%d cores allowed", cores)
	}
	if err != nil {
		return nil, fmt.Errorf("heartbeat: cores of this process: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := cfg.System.Cores(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("heartbeat: core times: %w", err)
	}
	m := &Monitor{
		cfg: cfg, cores: cores, quota: quota,
		wake: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{}),
	}
	go m.sample(ctx)
	return m, nil
}

// Capacity returns the capacity that utilisation refers to: the number of
// cores, and the quota of the cgroup in cores (0: none).
func (m *Monitor) Capacity() (cores int, quota float64) { return m.cores, m.quota }

// Err returns why the last sample failed, nil if it succeeded. After a failure
// Load uses the last sample that succeeded.
func (m *Monitor) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Close ends the sampling.
func (m *Monitor) Close() error {
	m.cancel()
	<-m.ended
	return nil
}

// Load returns the load since the last call. The first call after a pause
// starts a new window, and returns the load of the window before.
func (m *Monitor) Load() Load {
	now := m.cfg.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = now
	if !m.awake {
		m.awake = true
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
	wall := now.Sub(m.last)
	if wall >= 0 && wall < minWindow {
		return m.load
	}
	work := m.cfg.Work()
	cpu, err := m.cfg.System.Process()
	if err != nil {
		m.err = fmt.Errorf("heartbeat: CPU time of this process: %w", err)
		cpu = m.lastCPU
	}
	m.load.Waiting = uint32(max(0, work.Waiting))
	m.load.Requests = work.Requests
	if !m.last.IsZero() && wall > 0 {
		own := share64((cpu-m.lastCPU)-(work.Spun-m.lastWork.Spun), wall)
		m.load.CPU = (own + m.others) / float64(m.cores)
		if m.quota > 0 {
			m.load.CPU = max(m.load.CPU, own/m.quota)
		}
		m.load.CPU = share(m.load.CPU)
		m.load.Busy = share(share64(work.Busy-m.lastWork.Busy, wall) / float64(m.cfg.Workers))
		sent := float64(work.BytesOut - m.lastWork.BytesOut)
		m.load.BytesPerSecond = uint64(sent / wall.Seconds())
	}
	m.last, m.lastWork, m.lastCPU = now, work, cpu
	return m.load
}

// share64 is part per whole, not below 0.
func share64(part, whole time.Duration) float64 {
	return max(0, float64(part)/float64(whole))
}

// sample is the Monitor's goroutine.
func (m *Monitor) sample(ctx context.Context) {
	defer close(m.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		}
		m.sampleWhileAsked(ctx)
	}
}

func (m *Monitor) sampleWhileAsked(ctx context.Context) {
	ticker := time.NewTicker(m.cfg.SampleEvery)
	defer ticker.Stop()
	at, busy, own, ok := m.look(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		at2, busy2, own2, ok2 := m.look(ctx)
		wall := at2.Sub(at)
		m.mu.Lock()
		if ok && ok2 && wall > 0 {
			m.others = share64((busy2-busy)-(own2-own), wall)
			m.err = nil
		}
		if at2.Sub(m.asked) > idleSamples*m.cfg.SampleEvery {
			m.awake, m.others = false, 0
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		at, busy, own, ok = at2, busy2, own2, ok2
	}
}

// look reads both clocks, at nearly the same time.
func (m *Monitor) look(ctx context.Context) (at time.Time, busy, own time.Duration, ok bool) {
	busy, err := m.cfg.System.Cores(ctx)
	if err == nil {
		own, err = m.cfg.System.Process()
	}
	if err != nil {
		m.mu.Lock()
		m.err = fmt.Errorf("heartbeat: core times: %w", err)
		m.mu.Unlock()
	}
	return m.cfg.Now(), busy, own, err == nil
}
