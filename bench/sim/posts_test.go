package sim

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
)

func mops(t *testing.T, v Verbs) float64 {
	t.Helper()
	m, err := v.Mops()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The fit gives the four figures of table I of RFP, and the number of client
// machines does not matter.
func TestOutbound(t *testing.T) {
	cl := openCluster(t, "connectx3")
	for threads, printed := range map[int]float64{1: 0.62, 2: 1.12, 4: 2.11, 8: 1.51} {
		for _, machines := range []int{1, 3, 5, 7} {
			got := mops(t, Verbs{Cluster: cl, FromServer: true, Op: MicroWrite, Bytes: 32, Threads: threads, Machines: machines, Seed: 1})
			if math.Abs(got/printed-1) > 0.025 {
				t.Errorf("%d threads, %d machines: %.3f million/s, printed %.2f", threads, machines, got, printed)
			}
		}
	}
	read := Verbs{Cluster: cl, Op: MicroRead, Bytes: 32, Threads: 35, Seed: 1}
	if got := mops(t, read); math.Abs(got/11.26-1) > 0.01 {
		t.Errorf("in-bound: %.3f million/s, printed 11.26", got)
	}
	// Sixteen threads of a machine contend at its card.
	read.Threads = 112
	if got := mops(t, read); got > 0.7*11.26 {
		t.Errorf("in-bound by 112 threads: %.3f million/s", got)
	}
	for bytes, more := range map[int]bool{512: true, 4096: false} {
		in := mops(t, Verbs{Cluster: cl, Op: MicroRead, Bytes: bytes, Threads: 35, Seed: 1})
		out := mops(t, Verbs{Cluster: cl, FromServer: true, Op: MicroWrite, Bytes: bytes, Threads: 5, Seed: 1})
		if more && in < 2*out || !more && in > 1.02*out {
			t.Errorf("%d bytes: in-bound %.2f, out-bound %.2f million/s", bytes, in, out)
		}
	}
}

// Without contention more threads never start fewer operations, up to the
// card's rate; each parameter of contention acts alone.
func TestContention(t *testing.T) {
	run := func(wait, move float64, threads int) float64 {
		cl := openCluster(t, "connectx3")
		for _, n := range []*NIC{&cl.Server.NIC, &cl.Client.NIC} {
			n.PostWaitNs, n.PostMoveNs = wait, move
		}
		return mops(t, Verbs{Cluster: cl, FromServer: true, Op: MicroWrite, Bytes: 32, Threads: threads, Seed: 1})
	}
	last := 0.0
	for _, n := range []int{1, 2, 3, 4, 8, 16} {
		got := run(0, 0, n)
		if got < last-0.001 || got > 2.111 {
			t.Errorf("%d threads: %.3f million/s after %.3f with fewer", n, got, last)
		}
		last = got
	}
	if last < 2.1 {
		t.Errorf("16 threads do not fill the card: %.3f", last)
	}
	if a, b := run(0, 0, 1), run(100, 500, 1); a != b {
		t.Errorf("one thread waits for itself: %.3f, %.3f", a, b)
	}
	// Two threads that never wait for each other: each operation takes 500 ns
	// longer.
	if a, b := 2e3/run(0, 0, 2), 2e3/run(0, 500, 2); math.Abs(b-a-500) > 5 {
		t.Errorf("a moved line of 500 ns costs %.0f", b-a)
	}
	// Of 16 threads one is served by the card, and one is on its way: 14 wait
	// when it comes back, as 14 did when it went.
	if got, want := 1e3/run(100, 0, 16), 1e3/2.11+100*14; math.Abs(got/want-1) > 0.05 {
		t.Errorf("16 threads: %.0f ns an operation, want about %.0f", got, want)
	}
}

func TestVerbsErrors(t *testing.T) {
	cl := openCluster(t, "connectx3")
	good := Verbs{Cluster: cl, Op: MicroRead, Bytes: 32, Threads: 1}
	for says, change := range map[string]func(*Verbs){
		"threads is 0, want 1 to 65536":       func(v *Verbs) { v.Threads = 0 },
		"machines is -1, want 1 to 4096":      func(v *Verbs) { v.Machines = -1 },
		"bytes is 0, want 1 to 1073741824":    func(v *Verbs) { v.Bytes = 0 },
		`operation "tcp", want read or write`: func(v *Verbs) { v.Op = MicroTCP },
	} {
		v := good
		change(&v)
		if _, err := v.Mops(); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}
