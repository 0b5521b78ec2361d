package sim

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
)

func microUs(t *testing.T, cl *Cluster, op MicroOp, n int, gbits float64) float64 {
	t.Helper()
	us, err := cl.MicroUs(op, n, gbits)
	if err != nil {
		t.Fatal(err)
	}
	return us
}

// On the paper's cluster: sockets take longer than cards, latency hardly grows
// below 2 KB, and large requests take the time of their bytes on the slowest
// link or core of their path.
func TestMicro(t *testing.T) {
	cl := openCluster(t, "paper")
	const mb8 = 8 << 20
	for _, c := range []struct {
		op     MicroOp
		gbits  float64
		byteNs float64 // of the bound of large requests, without headers
	}{
		{MicroRead, 0, 0.08}, {MicroWrite, 0, 0.08}, {MicroTCP, 0, 8}, {MicroTCP, 1, 8},
		{MicroTCP, 40, 0.5}, // The copies of either side, not the link.
	} {
		few, kb2, most := microUs(t, cl, c.op, 2, c.gbits), microUs(t, cl, c.op, 2048, c.gbits), microUs(t, cl, c.op, mb8, c.gbits)
		if c.gbits != 1 && c.byteNs < 8 && kb2 > 1.2*few {
			t.Errorf("%s %v: 2 KiB take %.2f us, 2 bytes %.2f", c.op, c.gbits, kb2, few)
		}
		bound := c.byteNs * mb8 / 1e3
		if most < bound || most > 1.1*bound+few {
			t.Errorf("%s %v: 8 MiB take %.0f us, at %v ns a byte it would be %.0f", c.op, c.gbits, most, c.byteNs, bound)
		}
		last := 0.0
		for n := 2; n <= mb8; n *= 2 {
			us := microUs(t, cl, c.op, n, c.gbits)
			if us < last { // Equal while bytes take less than a ns.
				t.Errorf("%s %v: %d bytes take %.3f us, half of it %.3f", c.op, c.gbits, n, us, last)
			}
			last = us
			if c.op == MicroTCP && us <= microUs(t, cl, MicroRead, n, 0) {
				t.Errorf("%s %v: %d bytes are faster than by a card", c.op, c.gbits, n)
			}
		}
	}
}

// Each cost of a bare cluster appears in its operations only.
func TestMicroCosts(t *testing.T) {
	for _, c := range []struct {
		key   string
		value float64
		us    map[MicroOp]float64 // of 1000 bytes, more than without
	}{
		{"fabric.latency_ns", 1000, map[MicroOp]float64{MicroRead: 2, MicroWrite: 2}},
		{"tcp.latency_ns", 1000, map[MicroOp]float64{MicroTCP: 2}},
		{"client.post_ns", 3000, map[MicroOp]float64{MicroRead: 3, MicroWrite: 3}},
		{"client.completion_ns", 3000, map[MicroOp]float64{MicroRead: 3, MicroWrite: 3}},
		{"tcp.server_ns", 5000, map[MicroOp]float64{MicroTCP: 5}},
		{"tcp.client_ns", 5000, map[MicroOp]float64{MicroTCP: 5}},
		{"tcp.byte_ns", 1, map[MicroOp]float64{MicroTCP: 2.002}}, // Both sides, both directions.
		{"client.nic.out_mops", 1, map[MicroOp]float64{MicroRead: 1, MicroWrite: 1}},
		{"server.nic.in_mops", 1, map[MicroOp]float64{MicroRead: 1, MicroWrite: 1}},
		{"server.nic.gbit_s", 1, map[MicroOp]float64{MicroRead: 8 + 0.128, MicroWrite: 8 + 0.032}},
		{"tcp.nic.gbit_s", 1, map[MicroOp]float64{MicroTCP: 8 + 0.008}},
		{"server.request_ns", 9000, nil}, {"server.wake_ns", 9000, nil}, // No request is served.
	} {
		base, cl := bare(t), bare(t)
		base.TCP.NIC.PacketBytes, cl.TCP.NIC.PacketBytes = 1e6, 1e6
		if err := cl.Set(c.key, c.value); err != nil {
			t.Fatal(err)
		}
		for _, op := range []MicroOp{MicroTCP, MicroRead, MicroWrite} {
			// Times in cards are in whole ns.
			got := microUs(t, cl, op, 1000, 0) - microUs(t, base, op, 1000, 0)
			if math.Abs(got-c.us[op]) > 0.005 {
				t.Errorf("%s = %v: %s takes %.3f us more, want %.3f", c.key, c.value, op, got, c.us[op])
			}
		}
	}
}

func TestMicroErrors(t *testing.T) {
	cl := openCluster(t, "paper")
	for says, f := range map[string]func() (float64, error){
		`operation "scan", want tcp`:  func() (float64, error) { return cl.MicroUs("scan", 2, 0) },
		"request of 0 bytes, want 1":  func() (float64, error) { return cl.MicroUs(MicroRead, 0, 0) },
		"Ethernet of -1 Gbit/s, want": func() (float64, error) { return cl.MicroUs(MicroTCP, 2, -1) },
		"Ethernet of NaN Gbit/s":      func() (float64, error) { return cl.MicroUs(MicroTCP, 2, math.NaN()) },
	} {
		if _, err := f(); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}

// The second Ethernet equals another number in the cluster's file, and changes
// tcp only.
func TestTCPGbits(t *testing.T) {
	w := small(t, "1e-2")
	run := func(cl *Cluster, scheme string, gbits float64) *Result {
		r := simulate(t, Config{Cluster: cl, Scheme: scheme, Clients: 128, TCPGbits: gbits,
			Duration: 50 * time.Millisecond, Warmup: 20 * time.Millisecond}, w)
		r.Took = 0
		return r
	}
	cl, set := openCluster(t, "paper"), openCluster(t, "paper")
	for _, c := range []*Cluster{cl, set} { // So that the cores are not full.
		c.Server.RequestNs, c.Server.WakeNs, c.Client.ThinkNs = 1000, 0, 0
	}
	if err := set.Set("tcp.nic.gbit_s", 40); err != nil {
		t.Fatal(err)
	}
	slow, fast := run(cl, "tcp", 0), run(cl, "tcp", 40)
	if same := run(set, "tcp", 0); same.OpsPerS != fast.OpsPerS || same.MeanUs != fast.MeanUs {
		t.Errorf("40 Gbit/s by Config: %+v\nby the cluster: %+v", fast.Figures, same.Figures)
	}
	if same := run(cl, "tcp", 1); same.OpsPerS != slow.OpsPerS {
		t.Errorf("1 Gbit/s by Config: %+v\nby the cluster: %+v", same.Figures, slow.Figures)
	}
	// 128 clients fill 1 Gbit/s, and not 40.
	if slow.LinkOut < 0.9 || fast.LinkOut > 0.5 || fast.OpsPerS < 2*slow.OpsPerS {
		t.Errorf("link %.2f and %.2f full, %.0f and %.0f searches/s", slow.LinkOut, fast.LinkOut, slow.OpsPerS, fast.OpsPerS)
	}
	if a, b := run(cl, "fast", 0), run(cl, "fast", 40); a.OpsPerS != b.OpsPerS {
		t.Errorf("fast messaging: %+v, with another Ethernet %+v", a.Figures, b.Figures)
	}
	cfg := Config{Cluster: cl, Scheme: "tcp", Clients: 128, TCPGbits: 40, Duration: time.Second}
	if got := NewRow(cfg, w, fast, "").Transport; got != "tcp, 40 Gbit/s (simulated)" {
		t.Errorf("transport %q", got)
	}
	cfg.TCPGbits = 1e7
	if err := cfg.Validate(); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), "1e+07 Gbit/s, want 0 or 0.001 to 1e+06") {
		t.Errorf("got %v", err)
	}
}
