package heartbeat

import (
	"testing"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
)

func TestBusyTime(t *testing.T) {
	times := []cpu.TimesStat{
		{CPU: "cpu0", User: 1, System: 2, Nice: 4, Idle: 1000, Iowait: 1000,
			Irq: 8, Softirq: 16, Steal: 32, Guest: 1},
		{CPU: "cpu1", User: 100, Idle: 7},
		{CPU: "cpu10", User: 1000},
		{CPU: "cpu-total", User: 5000},
	}
	for want, allowed := range map[time.Duration]map[int]bool{
		63 * time.Second:   {0: true},
		163 * time.Second:  {0: true, 1: true},
		1000 * time.Second: {10: true},
	} {
		if got, err := busyTime(times, allowed); err != nil || got != want {
			t.Errorf("%v: got %v, %v; want %v", allowed, got, err, want)
		}
	}
	if got, err := busyTime(times, map[int]bool{5: true}); err == nil {
		t.Errorf("core 5, not listed: got %v", got)
	}
}
