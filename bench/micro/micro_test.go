package micro

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdmaprobe"
)

// childArg makes this test binary a child: childArg ROLE FAULT CPUS.
const childArg = "micro-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == childArg {
		if err := runChild(child.Role(os.Args[2]), os.Args[3], os.Args[4]); err != nil {
			os.Exit(1) // The parent has the error.
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func runChild(role child.Role, fault, cpus string) error {
	set, err := affinity.Parse(cpus)
	if err == nil {
		err = affinity.Reexec(set)
	}
	if err != nil {
		return err
	}
	open := func(transport string, f bench.Fabric) (rdma.Device, error) {
		d, err := bench.OpenDevice(transport, f)
		return faulty{d, fault}, err
	}
	if role == ServerRole {
		return ServerMain(context.Background(), os.Stdin, os.Stdout, open)
	}
	return ClientMain(context.Background(), os.Stdin, os.Stdout, open)
}

// faulty is a device that moves one byte less, or one more, than it should, or whose
// queue is often full.
type faulty struct {
	rdma.Device
	fault string
}

func (f faulty) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	qp, err := f.Device.Dial(ctx, addr, cfg, private)
	p := &faultyPair{QueuePair: qp, more: map[string]int{"short": -1, "long": 1}[f.fault]}
	if f.fault == "full" {
		p.full = cfg.SendCQ
	}
	return p, err
}

type faultyPair struct {
	rdma.QueuePair
	more  int
	full  rdma.CompletionQueue // nil: the queue always has room
	posts int
}

func (q *faultyPair) Post(wrs []rdma.WorkRequest) (int, error) {
	if q.posts++; q.full != nil && q.posts%3 == 1 {
		q.full.Wake() // As if the queue had room again.
		return 0, rdma.ErrQueueFull
	}
	wrs = slices.Clone(wrs)
	for i := range wrs {
		if wrs[i].Op != rdma.OpWriteImm {
			wrs[i].Local.Len += q.more
		}
	}
	return q.QueuePair.Post(wrs)
}

func spawn(fault string) child.Spawn {
	return func(role child.Role, cpus affinity.Set) *exec.Cmd {
		return exec.Command(os.Args[0], childArg, string(role), fault, cpus.String())
	}
}

// inside starts children at the ends of a network.
func inside(t *testing.T, l *netns.Link) child.Spawn {
	return func(role child.Role, cpus affinity.Set) *exec.Cmd {
		cmd := spawn("")(role, cpus)
		side := netns.Client
		if role == ServerRole {
			side = netns.Server
		}
		if err := l.Enter(side, cmd); err != nil {
			t.Error(err)
		}
		return cmd
	}
}

func measured(t *testing.T, cfg Config, spawn child.Spawn) []Row {
	t.Helper()
	var rows []Row
	err := Run(t.Context(), cfg, spawn, func(s string) { t.Log(s) }, func(r Row) error {
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		t.Fatalf("%s over %s: %v", cfg.Op, cfg.Transport, err)
	}
	return rows
}

// checkRows checks the properties of all rows.
func checkRows(t *testing.T, cfg Config, rows []Row) {
	t.Helper()
	if len(rows) != len(cfg.Sizes) {
		t.Fatalf("%s over %s: %d rows, want %d", cfg.Op, cfg.Transport, len(rows), len(cfg.Sizes))
	}
	for i, r := range rows {
		runs := max(1, cfg.Repeat)
		if r.Op != cfg.Op || r.Transport != cfg.Transport || r.Bytes != cfg.Sizes[i] || r.Device == "" {
			t.Errorf("row of something else: %+v", r)
		}
		if r.Count < least || r.Compared != int64(runs*r.Bytes) || len(r.Runs) != runs || !slices.Contains(r.Runs, r.MeanUs) {
			t.Errorf("%d requests, %d bytes compared, runs %v: %+v", r.Count, r.Compared, r.Runs, r)
		}
		if r.P50Us <= 0 || r.P50Us > r.P99Us || r.DurationS < cfg.Duration.Seconds() {
			t.Errorf("latencies %+v", r)
		}
		// One outstanding request: Little's law with one client. The mean is in
		// whole ns.
		if n := r.OpsPerS * r.MeanUs / 1e6; math.Abs(n-1) > 1e-3/r.MeanUs+1e-3 {
			t.Errorf("%v requests were outstanding: %+v", n, r)
		}
		if got := r.OpsPerS * float64(r.Bytes) / 1e6; got != r.MBPerS {
			t.Errorf("%v MB/s, want %v", r.MBPerS, got)
		}
		for name, v := range map[string]float64{"server": r.ServerUtil, "client": r.ClientUtil} {
			if v < 0 || v > 1 {
				t.Errorf("%s used %v of its cores", name, v)
			}
		}
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		op        Op
		transport string
	}{{TCP, "tcp"}, {Read, "shm"}, {Write, "shm"}, {Read, "soft"}, {Write, "soft"}, {OneWay, "shm"}, {OneWay, "soft"}} {
		t.Run(string(c.op)+"-"+c.transport, func(t *testing.T) {
			t.Parallel()
			cfg := Config{Op: c.op, Transport: c.transport, Sizes: []int{2, 1000, 256 << 10},
				Duration: 5 * time.Millisecond, Repeat: 3}
			checkRows(t, cfg, measured(t, cfg, spawn("")))
		})
	}
}

// The largest size fits in all transports.
func TestLargest(t *testing.T) {
	for op, transport := range map[Op]string{TCP: "tcp", Read: "soft", Write: "soft"} {
		cfg := Config{Op: op, Transport: transport, Sizes: []int{MaxBytes}, Duration: time.Millisecond}
		checkRows(t, cfg, measured(t, cfg, spawn("")))
	}
}

// pong takes 10 ms for its ways.
type pong struct{ requester }

func (pong) ways() int { return 2 }

func (pong) request(context.Context) error {
	time.Sleep(10 * time.Millisecond)
	return nil
}

// A ping-pong is two Writes, each of half its time.
func TestWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, elapsed, err := loop(t.Context(), pong{}, 100*time.Millisecond)
		if err != nil || seen.Count() != 20 || seen.Mean() != 5*time.Millisecond || elapsed != 100*time.Millisecond {
			t.Errorf("%d Writes of %v in %v, %v", seen.Count(), seen.Mean(), elapsed, err)
		}
	})
}

// The client waits for a full queue, which soft's can be although nothing is
// outstanding.
func TestFullQueue(t *testing.T) {
	for _, op := range []Op{Read, Write} {
		cfg := Config{Op: op, Transport: "shm", Sizes: []int{64}, Duration: time.Millisecond}
		checkRows(t, cfg, measured(t, cfg, spawn("full")))
	}
}

// passed is the number of bytes through the server's interface.
func passed(t *testing.T, l *netns.Link) float64 {
	t.Helper()
	sum := 0.
	for _, what := range []string{"rx_bytes", "tx_bytes"} {
		cmd := exec.Command("cat", "/sys/class/net/"+netns.Device+"/statistics/"+what)
		if err := l.Enter(netns.Server, cmd); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// A network carries no more than its bucket allows.
func TestNetwork(t *testing.T) {
	if err := netns.Available(t.Context()); err != nil {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	const rate = 100_000_000
	l, err := netns.New(t.Context(), rate)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for op, transport := range map[Op]string{TCP: "tcp", Read: "soft", Write: "soft"} {
		cfg := Config{Op: op, Transport: transport, Sizes: []int{2, 1 << 20}, Rate: rate,
			Duration: 200 * time.Millisecond, Listen: netns.ServerIP + ":0"}
		before := passed(t, l)
		rows := measured(t, cfg, inside(t, l))
		all := passed(t, l) - before
		checkRows(t, cfg, rows)
		moved := float64(rows[1].Count) * float64(rows[1].Bytes)
		if most := rate/8*rows[1].DurationS + float64(netns.Burst(rate)); moved > most {
			t.Errorf("%s: %.0f bytes in %v s, want at most %.0f", op, moved, rows[1].DurationS, most)
		}
		// The row's rates are of the time between two readings at the server, which
		// is longer than the requests took if the machine is busy.
		if all < moved || rows[1].NetIn <= 0 || rows[1].NetOut <= 0 {
			t.Errorf("%s: %.0f bytes passed the interfaces, %.0f were moved: %+v", op, all, moved, rows[1])
		}
	}
}

// A transport that moves too little or too much is detected, at the side where
// the bytes arrive.
func TestWrongBytes(t *testing.T) {
	for _, c := range []struct {
		op    Op
		fault string
		says  string
	}{
		{Read, "short", "(micro-client): rdmaprobe: wrong bytes arrived: request 0, byte 63 of the request's bytes"},
		{Read, "long", "byte 64 behind the request's bytes"},
		{Write, "short", "(micro-server): rdmaprobe: wrong bytes arrived: request 0, byte 63 of the request's bytes"},
		{Write, "long", "byte 64 behind the request's bytes"},
	} {
		// The first size fills the bytes that a longer one would change.
		cfg := Config{Op: c.op, Transport: "shm", Sizes: []int{64}, Duration: time.Millisecond}
		err := Run(t.Context(), cfg, spawn(c.fault), func(string) {}, func(Row) error { return nil })
		if !errors.Is(err, child.ErrFailed) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %s: %v", c.op, c.fault, err)
		}
	}
}

// A repeated request is answered from another place, so a socket that answers
// the wrong request is detected.
func TestSocketFindsWrongAnswer(t *testing.T) {
	l, err := listen(t.Context(), serverJob{Listen: "127.0.0.1:0", Bytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	s := newSocket(clientJob{Addr: l.addr(), Bytes: 100, Duration: time.Second, Patience: time.Minute})
	defer s.close()
	if err := s.begin(t.Context(), 100, 7); err != nil {
		t.Fatal(err)
	}
	for range 300 { // Around the byte.
		if err := s.request(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.end(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.asks[0]-- // As if the last answer were to the request before.
	if err := s.end(t.Context()); !errors.Is(err, rdmaprobe.ErrCorrupt) {
		t.Errorf("the answer to another request: %v", err)
	}
	// More bytes than the server has.
	bad := newSocket(clientJob{Addr: l.addr(), Bytes: 101, Duration: time.Second, Patience: time.Minute})
	defer bad.close()
	if err := bad.begin(t.Context(), 101, 7); err == nil {
		err = bad.request(t.Context())
		if err == nil {
			t.Error("the server answered with more than it has")
		}
	}
}

func TestRunFails(t *testing.T) {
	good := Config{Op: Read, Transport: "shm", Sizes: []int{64}, Duration: time.Millisecond}
	for says, change := range map[string]func(*Config){
		`operation "scan", want tcp, read, write or write-oneway`: func(c *Config) { c.Op = "scan" },
		`transport "tcp" of operation read`:                       func(c *Config) { c.Transport = "tcp" },
		`transport "shm" of operation tcp, want one of`:           func(c *Config) { c.Op = TCP },
		"size is 0, want 1 to 8388608":                            func(c *Config) { c.Sizes = []int{2, 0} },
		"size is 8388609, want 1 to 8388608":                      func(c *Config) { c.Sizes = []int{MaxBytes + 1} },
		"duration is 1us, want 1ms":                               func(c *Config) { c.Duration = time.Microsecond },
		"repeat is -1, want 1 to 1000":                            func(c *Config) { c.Repeat = -1 },
		"rate is -1 bit/s, want 0 or more":                        func(c *Config) { c.Rate = -1 },
		fmt.Sprintf("not available: %d", affinity.MaxCPU):         func(c *Config) { c.ClientCPUs = affinity.Set{affinity.MaxCPU} },
		fmt.Sprintf("not available: %d", affinity.MaxCPU-1):       func(c *Config) { c.ServerCPUs = affinity.Set{affinity.MaxCPU - 1} },
	} {
		cfg := good
		change(&cfg)
		err := Run(t.Context(), cfg, nil, nil, nil)
		if text := strings.ReplaceAll(fmt.Sprint(err), "µ", "u"); !errors.Is(err, harness.ErrConfig) || !strings.Contains(text, says) {
			t.Errorf("%v\n  does not say %q", err, says)
		}
	}
	// A row that cannot be stored ends the run.
	stop := errors.New("disk full")
	if err := Run(t.Context(), good, spawn(""), func(string) {}, func(Row) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	// A device that cannot be opened.
	bad := good
	bad.Transport, bad.Listen = "soft", "198.51.100.1:0" // An address without a host (RFC 5737).
	if err := Run(t.Context(), bad, spawn(""), func(string) {}, nil); !errors.Is(err, child.ErrFailed) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	long := good
	long.Duration, long.Sizes = time.Minute, []int{2, 4}
	why := errors.New("enough")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	if err := Run(ctx, long, spawn(""), func(string) {}, nil); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

// A row of several runs has the figures of one of them, the one in the middle.
func TestNewRow(t *testing.T) {
	var runs []outcome
	for _, us := range []int{30, 10, 20} {
		l := latency.New()
		for range us {
			l.Record(time.Duration(us) * time.Microsecond)
		}
		runs = append(runs, outcome{
			run: run{Bytes: 1000, Latency: l, Elapsed: time.Duration(us*us) * time.Microsecond, Util: 0.5},
			to:  harness.Usage{CPU: time.Second, Wall: 2 * time.Second, Cores: 1, NetIn: 2000, NetOut: 4000},
		})
	}
	r := newRow(Config{Op: Read, Transport: "shm"}, "d", runs)
	if r.Count != 20 || r.MeanUs != 20 || math.Abs(r.OpsPerS-50_000) > 1e-6 || math.Abs(r.MBPerS-50) > 1e-9 ||
		r.Compared != 3000 || !slices.Equal(r.Runs, []float64{30, 10, 20}) ||
		r.ServerUtil != 0.5 || r.ClientUtil != 0.5 || r.NetIn != 1000 || r.NetOut != 2000 {
		t.Errorf("%+v", r)
	}
}

func TestSizes(t *testing.T) {
	s := Sizes()
	if len(s) != 23 || s[0] != 2 || s[22] != 8<<20 {
		t.Errorf("sizes %v", s)
	}
	for _, n := range FewSizes() {
		if !slices.Contains(s, n) {
			t.Errorf("%d is none of all sizes", n)
		}
	}
	if err := (Config{Op: TCP, Transport: "tcp"}).Validate(); err != nil {
		t.Error(err)
	}
}

// Requests may take long through a narrow network.
func TestPatience(t *testing.T) {
	c := Config{Sizes: []int{2, 1_000_000}}
	if got := c.patience(); got != patience {
		t.Errorf("patience %v", got)
	}
	c.Rate = 8_000_000 // 1 s.
	if got := c.patience(); got != patience+4*time.Second {
		t.Errorf("patience %v", got)
	}
}

// late is a device whose Accept returns when the peer has written already.
type late struct {
	rdma.Device
	wrote func() bool
}

func (d late) Listen(addr string) (rdma.Listener, error) {
	l, err := d.Device.Listen(addr)
	return lateListener{l, d.wrote}, err
}

type lateListener struct {
	rdma.Listener
	wrote func() bool
}

func (l lateListener) Accept(ctx context.Context) (rdma.ConnRequest, error) {
	req, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return lateRequest{req, l.wrote}, nil
}

type lateRequest struct {
	rdma.ConnRequest
	wrote func() bool
}

func (r lateRequest) Accept(cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	qp, err := r.ConnRequest.Accept(cfg, private)
	for err == nil && !r.wrote() {
		runtime.Gosched()
	}
	return qp, err
}

// A client's first Write is answered, also when it arrives before the server looks.
func TestFirstOneWay(t *testing.T) {
	const size = 64
	var server *target
	ready := make(chan struct{})
	job := serverJob{Op: OneWay, Transport: "shm", Bytes: size, Patience: time.Minute}
	server, err := openTarget(t.Context(), job, func(transport string, f bench.Fabric) (rdma.Device, error) {
		d, err := bench.OpenDevice(transport, f)
		return late{d, func() bool { <-ready; return server.word().Load() != 0 }}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.close()
	close(ready)
	v, err := newVerbs(t.Context(), clientJob{Op: OneWay, Transport: "shm", Addr: server.ln.Addr(),
		Remote: server.mem.Remote(), Bytes: size, Patience: 10 * time.Second}, bench.OpenDevice)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	client := newOneWay(v)
	if err := client.begin(t.Context(), size, 2); err != nil {
		t.Fatal(err)
	}
	if err := client.request(t.Context()); err != nil {
		t.Error(err)
	}
}

// A request allocates nothing, so the garbage collector is not measured.
func TestRequestAllocatesNothing(t *testing.T) {
	job := serverJob{Op: Read, Transport: "shm", Bytes: 64, Patience: time.Minute}
	target, err := openTarget(t.Context(), job, bench.OpenDevice)
	if err != nil {
		t.Fatal(err)
	}
	defer target.close()
	for _, op := range []Op{Read, Write} {
		v, err := newVerbs(t.Context(), clientJob{Op: op, Transport: "shm", Addr: target.ln.Addr(),
			Remote: target.mem.Remote(), Bytes: 64, Patience: time.Minute}, bench.OpenDevice)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.begin(t.Context(), 64, 2); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(1000, func() {
			if err := v.request(t.Context()); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", op, n)
		}
		if err := v.end(t.Context()); err != nil {
			t.Error(err)
		}
		v.close()
	}
}
