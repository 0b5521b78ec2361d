package rfp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/sim"
)

func cluster(t *testing.T) *sim.Cluster {
	t.Helper()
	cl, err := sim.Open(Cluster)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// whole is the page, made once for all tests.
var whole = sync.OnceValues(func() (Page, error) {
	cl, err := sim.Open(Cluster)
	if err != nil {
		return Page{}, err
	}
	return Predict(context.Background(), cl, 1, nil, func(string) {})
})

func page(t *testing.T) Page {
	t.Helper()
	p, err := whole()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// value is the one of a table whose row begins so.
func value(t *testing.T, p Page, table, what, column string) float64 {
	t.Helper()
	for _, tb := range p.Tables {
		for _, v := range tb.Values {
			if v.Table == table && strings.HasPrefix(v.What, what) && v.Column == column {
				return v.Value
			}
		}
	}
	t.Fatalf("table %q has no %q, %q", table, what, column)
	return 0
}

// The page in docs equals the program's output.
func TestPageIsFresh(t *testing.T) {
	var made bytes.Buffer
	if err := page(t).Write(&made); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../docs/papers/rfp-simulated.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made.Bytes(), kept) {
		a, b := strings.Split(made.String(), "\n"), strings.Split(string(kept), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("line %d is\n%s\nwant\n%s", i+1, b[i], a[i])
				break
			}
		}
		t.Error("docs/papers/rfp-simulated.md is not what the program makes: make rfp-docs")
	}
}

// The orderings of the paper, and of the tables beyond it.
func TestOrderings(t *testing.T) {
	p := page(t)
	jakiro, reply := value(t, p, "peaks", "Jakiro, 4 server", ""), value(t, p, "peaks", "ServerReply, 6", "")
	memcached := value(t, p, "peaks", "RDMA-Memcached, 16", "")
	if jakiro < 2*reply || reply < 1.2*memcached {
		t.Errorf("Jakiro %.2f, ServerReply %.2f, RDMA-Memcached %.2f Mops", jakiro, reply, memcached)
	}
	for i, less := range []string{"ServerReply, mean", "RDMA-Memcached, mean"} {
		if before := value(t, p, "latencies", []string{"Jakiro, mean", "ServerReply, mean"}[i], ""); before > value(t, p, "latencies", less, "") {
			t.Errorf("latencies: %s is less than %.2f us", less, before)
		}
	}
	// Too many clients are slower than some; so are too many threads.
	if many := value(t, p, "clients", "112", "Jakiro, Mops"); many > 0.75*jakiro {
		t.Errorf("112 clients have %.2f Mops", many)
	}
	if few, best, many := value(t, p, "threads", "4", "ServerReply, Mops"), value(t, p, "threads", "6", "ServerReply, Mops"),
		value(t, p, "threads", "16", "ServerReply, Mops"); best < few || best < many {
		t.Errorf("ServerReply with 4, 6, 16 threads: %.2f, %.2f, %.2f Mops", few, best, many)
	}
	// Reads by many clients contend, as Jakiro's do; answers that are not inlined do not.
	if few, many := value(t, p, "inbound", "35", "in-bound, Mops"), value(t, p, "inbound", "112", "in-bound, Mops"); many > 0.7*few {
		t.Errorf("reads of 35 and 112 client threads: %.2f and %.2f Mops", few, many)
	}
	for _, system := range []string{"12 threads", "RDMA-Memcached, Mops"} {
		if short, long := value(t, p, "sizes", "128 bytes", system), value(t, p, "sizes", "256 bytes", system); long < 1.3*short {
			t.Errorf("%s, answers that are inlined and that are not: %.2f and %.2f Mops", system, short, long)
		}
	}
	for _, system := range []string{"Jakiro, us", "ServerReply, us", "RDMA-Memcached, us"} {
		last := 0.0
		for _, share := range []string{"1 %", "5 %", "25 %", "50 %", "75 %", "99 %", "99.9 %"} {
			if us := value(t, p, "cdf", share, system); us < last {
				t.Errorf("%s: %s of the calls have at most %.2f us, fewer %.2f", system, share, us, last)
			} else {
				last = us
			}
		}
	}
	if puts, gets := value(t, p, "skewshares", "5 %", "RDMA-Memcached, Mops"), value(t, p, "skewshares", "95 %", "RDMA-Memcached, Mops"); puts > gets/2 {
		t.Errorf("RDMA-Memcached with 5 and 95 %% GETs: %.2f and %.2f Mops", puts, gets)
	}
	// Fetches from a slow server find no answer; falling back ends them.
	if vain, back := value(t, p, "service", "16 us", "reads in vain"), value(t, p, "service", "16 us", "written, %"); vain < 10 || back < 95 {
		t.Errorf("16 us: %.1f reads in vain, %.0f %% written", vain, back)
	}
	chosen := value(t, p, "fetch", "chosen", "Mops")
	for _, bytes := range []string{"64", "256", "512", "1024", "4096"} {
		if fixed := value(t, p, "fetch", bytes, "Mops"); fixed > 1.1*chosen {
			t.Errorf("fetches of %s bytes: %.2f Mops, chosen ones %.2f", bytes, fixed, chosen)
		}
	}
	for _, scale := range []string{"1e-5", "1e-2"} {
		fetch := value(t, p, "tree-connectx3-mops", scale, "fetch, 16")
		for _, workers := range []string{"fast, 4 workers", "fast, 6", "fast, 16"} {
			if fast := value(t, p, "tree-connectx3-mops", scale, workers); fetch < 1.5*fast {
				t.Errorf("connectx3, %s: fetch %.2f, %s %.2f Mops", scale, fetch, workers, fast)
			}
		}
		if fetch, fast := value(t, p, "tree-modern-mops", scale, "fetch"), value(t, p, "tree-modern-mops", scale, "fast"); fetch > fast {
			t.Errorf("modern, %s: fetch %.2f, fast %.2f Mops", scale, fetch, fast)
		}
	}
}

// Fetching helps a server that may start few operations, not one whose link is
// slow; and clients that decide end with the better kind, or with both where
// that is better.
func TestDecides(t *testing.T) {
	p := page(t)
	for row, pays := range map[string]bool{"1e-5, modern, 200 clients, starts 10 Mops": true, "1e-2, modern, 200 clients, starts 10 Mops": true,
		"1e-5, modern, 200 clients, starts 180 Mops": false, "1e-2, modern, 200 clients, sends 10 Gbit/s": false,
		"1e-5, connectx3, 35 clients": true, "1e-5, connectx3, 112 clients": true} {
		fast, fetched := value(t, p, "tree-decides", row, "fast, Mops"), value(t, p, "tree-decides", row, "all fetched, Mops")
		if pays && fetched < 1.5*fast || !pays && fetched > fast {
			t.Errorf("%s: fast %.2f, all fetched %.2f Mops", row, fast, fetched)
		}
		written := value(t, p, "tree-decides", row, "written, %")
		if pays && written > 50 || !pays && written < 80 { // some are at a trial
			t.Errorf("%s: %.0f %% written", row, written)
		}
	}
	for _, d := range decidedServers {
		if by := value(t, p, "tree-decides", d.String(), "by the better of both"); by < 0.85 {
			t.Errorf("%v: %.2f times the better of both ways", d, by)
		}
	}
}

// Fitted numbers are met, and most of the others; the missed have a reason.
func TestFits(t *testing.T) {
	p := page(t)
	for _, tb := range p.Tables {
		for _, v := range tb.Values {
			if (v.Mark == Fitted || v.Mark == Given) && (v.Ratio() < 0.93 || v.Ratio() > 1.07) {
				t.Errorf("%s: %s is %s: %.3f, printed %.3f", v.Table, v.What, v.Mark, v.Value, v.Printed)
			}
			if v.Off() && v.Why == "" {
				t.Errorf("%s: %s is off and nothing says why: %.3f, printed %.3f", v.Table, v.What, v.Value, v.Printed)
			}
		}
	}
	// Numbers that follow from fitted ones do not count as predicted.
	if missed, predicted := p.Missed(); missed > 6 || predicted < 8 || predicted > 12 {
		t.Errorf("%d of %d numbers are off", missed, predicted)
	}
}

// The contention of threads is what slows down 112 clients.
func TestContentionExplains(t *testing.T) {
	at112 := func(wait float64) float64 {
		cl := cluster(t)
		cl.Client.NIC.PostWaitNs = wait
		l, err := newLab(t.Context(), cl, 1, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		m := l.run(at(jakiro, 4, 112)).Mops
		if l.err != nil {
			t.Fatal(l.err)
		}
		return m
	}
	if with, without := at112(cluster(t).Client.NIC.PostWaitNs), at112(0); with > 0.7*without || without < 5 {
		t.Errorf("112 clients: %.2f Mops, %.2f without contention", with, without)
	}
}

func TestJSON(t *testing.T) {
	p, err := Predict(t.Context(), cluster(t), 2, []string{"card", "texts"}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	n := 0
	for d.More() {
		var row struct {
			Value
			Ratio     float64 `json:"ratio"`
			Simulated bool    `json:"simulated"`
		}
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if !row.Simulated || row.Table != "card" && row.Table != "texts" || row.What == "" || row.Printed <= 0 || row.Ratio <= 0 {
			t.Errorf("row %+v", row)
		}
		n++
	}
	if n != len(p.Tables[0].Values)+len(p.Tables[1].Values) {
		t.Errorf("%d rows", n)
	}
}

func TestErrors(t *testing.T) {
	none := func(string) {}
	if _, err := Predict(t.Context(), cluster(t), 1, []string{"moon"}, none); !errors.Is(err, harness.ErrConfig) ||
		!strings.Contains(err.Error(), `table "moon" is unknown, want some of card, peaks`) {
		t.Errorf("got %v", err)
	}
	bad := cluster(t)
	bad.Server.NIC.InMops = -1
	if _, err := Predict(t.Context(), bad, 1, []string{"card"}, none); !errors.Is(err, harness.ErrConfig) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	for _, name := range []string{"card", "peaks", "tree"} {
		if _, err := Predict(ctx, cluster(t), 1, []string{name}, none); !errors.Is(err, why) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
