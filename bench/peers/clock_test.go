package peers

import (
	"runtime"
	"testing"
	"time"
)

// clock is a benchmark's timer that also measures processor time.
type clock struct {
	b         *testing.B
	cpu, wall time.Duration // while it ran
	cpu0      time.Duration // when it was started
	wall0     time.Time
}

func (c *clock) start() {
	c.cpu0, c.wall0 = cpuTime(), time.Now()
	c.b.StartTimer()
}

func (c *clock) stop() {
	c.b.StopTimer()
	c.cpu += cpuTime() - c.cpu0
	c.wall += time.Since(c.wall0)
}

// report reports core-% if it is meaningful: with two busy cores it hides that
// another program uses one.
func (c *clock) report() {
	if runtime.GOMAXPROCS(0) > 1 {
		return
	}
	c.b.ReportMetric(100*c.cpu.Seconds()/max(c.wall, 1).Seconds(), "core-%")
}
