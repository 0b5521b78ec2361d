package paper

import (
	"testing"

	"github.com/catfish-index/catfish/bench/micro"
)

// TestMicroClaims: each claim about figure 9 holds of latencies as the paper's are, and not of
// those that contradict it.
func TestMicroClaims(t *testing.T) {
	type spot struct {
		op   micro.Op
		size int
	}
	const least = 2
	// As the text describes them, in us.
	like := func() map[spot]float64 {
		us := map[spot]float64{}
		for op, us0 := range map[micro.Op]float64{micro.TCP: 60, micro.Read: 3, micro.Write: 2} {
			us[spot{op, least}], us[spot{op, flatUntil}] = us0, 1.5*us0
			us[spot{op, 1 << 20}], us[spot{op, micro.MaxBytes}] = 30*us0, 240*us0
		}
		return us
	}
	broken := map[string]func(us map[spot]float64){
		"RDMA Write has the lowest latency.":                                                       func(us map[spot]float64) { us[spot{micro.Write, least}] = 4 },
		"RDMA Read has the higher one of both while requests are small.":                           func(us map[spot]float64) { us[spot{micro.Read, least}] = 1 },
		"TCP/IP has the highest latency.":                                                          func(us map[spot]float64) { us[spot{micro.TCP, least}] = 2.5 },
		"TCP/IP has the lowest throughput, RDMA the highest (both ways, at 8 MiB).":                func(us map[spot]float64) { us[spot{micro.TCP, micro.MaxBytes}] = 1 },
		"Below 2 KB latency hardly depends on the size (less than twice).":                         func(us map[spot]float64) { us[spot{micro.Read, flatUntil}] = 9 },
		"Large requests are bound by bandwidth (8 times the bytes take at least 4 times as long).": func(us map[spot]float64) { us[spot{micro.Write, 1 << 20}] = 470 },
	}
	view := func(us map[spot]float64) microView {
		return func(op micro.Op, size int) float64 { return us[spot{op, size}] }
	}
	for _, c := range microClaims {
		if v, ok := c.judge(view(like()), least); !ok || v.Outcome != Held {
			t.Errorf("%s %v, %v", c.text, v, ok)
		}
		if v, ok := c.judge(view(nil), least); ok {
			t.Errorf("%s judged by nothing: %v", c.text, v)
		}
		change := broken[c.text]
		if change == nil {
			t.Fatalf("%s: no latencies that contradict it", c.text)
		}
		us := like()
		change(us)
		if v, ok := c.judge(view(us), least); !ok || v.Outcome != Fails {
			t.Errorf("%s broken: %v, %v", c.text, v, ok)
		}
	}
	if len(broken) != len(microClaims) {
		t.Errorf("%d claims, want %d", len(microClaims), len(broken))
	}
}
