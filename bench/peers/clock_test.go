package peers

import (
	"testing"
	"time"
)

// clock is a benchmark's timer that knows processor time, too.
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

func (c *clock) report() {
	c.b.ReportMetric(100*c.cpu.Seconds()/max(c.wall, 1).Seconds(), "core-%")
}
