package paper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/bench/sim"
)

var net1G, net40G = Network{"1g", 1e9}, Network{"40g", 4e10}

// microPoint is a point of a closed loop of one request.
func microPoint(n Network, op micro.Op, transport string, bytes int, us float64) MicroPoint {
	return MicroPoint{
		Key:     MicroCell{Network: n, Op: op, Transport: transport}.Key(bytes),
		Network: n, Measured: time.Unix(1e9, 0).UTC(), Settings: settings(),
		Row: micro.Row{
			Op: op, Transport: transport, Bytes: bytes, Count: 1000, Compared: int64(bytes), MeanUs: us,
			P50Us: us, P99Us: us, OpsPerS: 1e6 / us, MBPerS: float64(bytes) / us, Runs: []float64{us},
			DurationS: us * 1e-3,
		},
	}
}

// microPoints are of a host and two networks, as they might be.
func microPoints() map[string]MicroPoint {
	m := map[string]MicroPoint{}
	add := func(n Network, op micro.Op, transport string, byteUs, us float64) {
		for _, bytes := range []int{2, 64, 2 << 10, 8 << 20} {
			p := microPoint(n, op, transport, bytes, us+byteUs*float64(bytes))
			m[p.Key] = p
		}
	}
	add(Host, micro.TCP, "tcp", 3e-4, 20)
	add(Host, micro.Read, "shm", 1e-5, 0.3)
	add(Host, micro.Write, "shm", 1e-5, 0.2)
	for _, n := range []Network{net1G, net40G} {
		add(n, micro.TCP, "tcp", 9e9/float64(n.Rate)*1e-3, 20)
		add(n, micro.Read, "soft", 9e9/float64(n.Rate)*1e-3, 30)
	}
	return m
}

func TestMicroCells(t *testing.T) {
	all, err := Select([]string{"all"})
	if err != nil {
		t.Fatal(err)
	}
	cells := MicroCells(all, []Network{Host, net1G}, []string{"soft", "ofi"}, []int{2, 4})
	var keys []string
	for _, c := range cells {
		keys = append(keys, c.Key(4))
	}
	if want := []string{
		"micro/host/tcp/tcp/4", "micro/host/shm/read/4", "micro/host/shm/write/4", "micro/host/shm/write-oneway/4", "micro/1g/tcp/tcp/4",
		"micro/1g/soft/read/4", "micro/1g/soft/write/4", "micro/1g/soft/write-oneway/4", "micro/1g/ofi/read/4", "micro/1g/ofi/write/4",
		"micro/1g/ofi/write-oneway/4",
	}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	search, err := Select([]string{"10"})
	if err != nil {
		t.Fatal(err)
	}
	if c := MicroCells(search, []Network{Host}, nil, []int{2}); len(c) > 0 {
		t.Errorf("figure 10 needs %v", c)
	}
}

func TestMicroConfig(t *testing.T) {
	s := settings()
	s.Repeat, s.ServerCPUs, s.ClientCPUs, s.FabricProvider = 3, "0", "1", "tcp"
	for limit, want := range map[time.Duration]time.Duration{
		0: 200 * time.Millisecond, 5 * time.Second: 200 * time.Millisecond, 50 * time.Millisecond: 50 * time.Millisecond,
	} {
		s.Duration = limit
		cfg, err := MicroCell{net1G, micro.Read, "ofi", []int{2}}.config(s)
		if err != nil || cfg.Duration != want {
			t.Errorf("--duration %v: %v, want %v, %v", limit, cfg.Duration, want, err)
		}
		if cfg.Repeat != 3 || cfg.Rate != 1e9 || cfg.Listen != "198.18.0.1:0" || cfg.Fabric.Provider != "tcp" ||
			cfg.Fabric.Device != "wire" || cfg.ServerCPUs.String() != "0" || cfg.ClientCPUs.String() != "1" {
			t.Errorf("%+v", cfg)
		}
	}
	if cfg, err := (MicroCell{Host, micro.Read, "shm", nil}).config(s); err != nil || cfg.Listen != "" || cfg.Rate != 0 {
		t.Errorf("on the host: %+v, %v", cfg, err)
	}
}

// The same rules as for the other points.
func TestMicroStore(t *testing.T) {
	dir := t.TempDir()
	st, torn, err := OpenMicro(dir, settings(), false)
	if err != nil || torn {
		t.Fatal(err)
	}
	p := microPoint(Host, micro.Read, "shm", 64, 1)
	if err := st.Add(p); err != nil {
		t.Fatal(err)
	}
	st.Close()
	f, err := os.OpenFile(filepath.Join(dir, MicroFile), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"key":"mi`)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	st, torn, err = OpenMicro(dir, settings(), false)
	if err != nil || !torn || st.All()[p.Key].Row.MeanUs != 1 || len(st.All()) != 1 {
		t.Fatalf("%v, torn %v, %v", st, torn, err)
	}
	r := MicroRunner{Store: st}
	if n := r.Missing([]MicroCell{{Host, micro.Read, "shm", []int{2, 64, 128}}}); n != 2 {
		t.Errorf("%d are missing, want 2", n)
	}
	st.Close()
	s := settings()
	s.Seed = 7
	if _, _, err := OpenMicro(dir, s, false); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), "micro/host/shm/read/64 has seed 1, here 7") {
		t.Errorf("got %v", err)
	}
	st, _, err = OpenMicro(dir, s, true)
	if err != nil || len(st.All()) != 0 {
		t.Fatalf("fresh kept %v, %v", st, err)
	}
	st.Close()
}

// Each broken result has its failure, and good ones pass.
func TestCheckMicro(t *testing.T) {
	if n, failed := CheckMicro(microPoints()); n < 60 || len(failed) > 0 {
		t.Errorf("%d tests, failed %q", n, failed)
	}
	for says, c := range map[string]struct {
		key    string
		change func(*micro.Row)
	}{
		"shm/read/64: figures":             {"micro/host/shm/read/64", func(r *micro.Row) { r.Count = 0 }},
		"shm/write/64: figures":            {"micro/host/shm/write/64", func(r *micro.Row) { r.P50Us = r.P99Us + 1 }},
		"63 bytes compared in 1 runs":      {"micro/host/shm/read/64", func(r *micro.Row) { r.Compared = 63 }},
		"in 2 runs, want":                  {"micro/host/shm/read/64", func(r *micro.Row) { r.Runs = []float64{1, 1} }},
		"belong to no closed loop":         {"micro/host/tcp/tcp/64", func(r *micro.Row) { r.OpsPerS *= 1.1 }},
		"tcp/2: 1000000 requests/s, mean":  {"micro/host/tcp/tcp/2", func(r *micro.Row) { r.MBPerS, r.OpsPerS, r.MeanUs = 3, 1e6, 1 }},
		"8388608000 bytes in 1.000 s, wan": {"micro/1g/tcp/tcp/8388608", func(r *micro.Row) { r.DurationS = 1 }},
		"takes 20.01 us, 64 bytes take":    {"micro/host/tcp/tcp/8388608", func(r *micro.Row) { r.P50Us = 20.01 }},
		"read/64: takes 25.00 us, tcp 20":  {"micro/host/shm/read/64", func(r *micro.Row) { r.P50Us, r.P99Us = 25, 25 }},
		"write/2: takes 25.00 us, tcp 20":  {"micro/host/shm/write/2", func(r *micro.Row) { r.P50Us, r.P99Us = 25, 25 }},
	} {
		m := microPoints()
		p, ok := m[c.key]
		if !ok {
			t.Fatalf("no %s", c.key)
		}
		c.change(&p.Row)
		m[c.key] = p
		if _, failed := CheckMicro(m); len(failed) != 1 || !strings.Contains(failed[0], says) {
			t.Errorf("failed %q, want %q", failed, says)
		}
	}
	// Software that carries bytes through a network may be slower than tcp.
	m := microPoints()
	p := m["micro/1g/soft/read/2"]
	if tcp := m["micro/1g/tcp/tcp/2"]; p.Row.P50Us <= tcp.Row.P50Us {
		t.Fatal("the example is not what it should be")
	}
}

func TestLimitOfMicro(t *testing.T) {
	s := settings()
	s.ServerCPUs, s.ClientCPUs = "0", "1"
	for want, change := range map[string]func(*MicroPoint){
		"one request outstanding (server CPU 60 %, client CPU 50 %, network 20 %)": func(p *MicroPoint) {},
		"network (server CPU 60 %, client CPU 50 %, network 95 %)":                 func(p *MicroPoint) { p.Row.NetOut = 0.95e9 / 8 },
		"client CPU (server CPU 60 %, client CPU 98 %, network 20 %)":              func(p *MicroPoint) { p.Row.ClientUtil = 0.98 },
	} {
		p := microPoint(net1G, micro.TCP, "tcp", 64, 20)
		p.Settings = s
		p.Row.ServerUtil, p.Row.ClientUtil, p.Row.NetIn = 0.6, 0.5, 0.2e9/8
		change(&p)
		if got := LimitOfMicro(p).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Figure 9 in the report: the paper's figure, each network's, the simulated
// one, and the paper's claims.
func TestMicroDocument(t *testing.T) {
	cl, err := sim.Open("paper")
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := PredictMicro(cl, []int{2, 4096})
	if err != nil {
		t.Fatal(err)
	}
	r := Report{Settings: settings(), Micro: microPoints(), Simulated: simulated}
	d := r.Document()
	if len(d.Sections) != 3 { // Not requested, but measured.
		t.Fatalf("%d sections", len(d.Sections))
	}
	if !strings.Contains(fmt.Sprint(d.Facts), "28 points") {
		t.Errorf("facts %v", d.Facts)
	}
	s := d.Sections[2]
	drawn := s.Plots
	for _, part := range d.Sections[0].Parts {
		for _, row := range part.Rows {
			drawn = append(drawn, row...)
		}
	}
	var plots []string
	for _, p := range drawn {
		var names []string
		for _, l := range p.Lines {
			names = append(names, l.Name)
		}
		plots = append(plots, fmt.Sprintf("%s %v: %s", p.Name, p.Simulated, strings.Join(names, ", ")))
	}
	want := []string{
		"figure-9-host-latency false: TCP/IP, RDMA Read, shm, RDMA Write, shm",
		"figure-9-host-throughput false: TCP/IP, RDMA Read, shm, RDMA Write, shm",
		"figure-9-1g-latency false: TCP/IP, RDMA Read, soft",
		"figure-9-1g-throughput false: TCP/IP, RDMA Read, soft",
		"figure-9-40g-latency false: TCP/IP, RDMA Read, soft",
		"figure-9-40g-throughput false: TCP/IP, RDMA Read, soft",
		"figure-9-latency false: RDMA Read, RDMA Write, TCP/IP-1G, TCP/IP-40G",
		"figure-9-throughput false: RDMA Read, RDMA Write, TCP/IP-1G, TCP/IP-40G",
		"figure-9-latency true: TCP/IP-1G, TCP/IP-40G, RDMA Read, RDMA Write",
		"figure-9-throughput true: TCP/IP-1G, TCP/IP-40G, RDMA Read, RDMA Write",
	}
	if !slices.Equal(plots, want) {
		t.Errorf("plots\n%s\nwant\n%s", strings.Join(plots, "\n"), strings.Join(want, "\n"))
	}
	// Latency in us, throughput in MB/s, over bytes.
	read := r.Micro["micro/host/shm/read/2"].Row
	if got := s.Plots[0].Lines[1].Points[0]; got != [2]float64{2, read.MeanUs} {
		t.Errorf("latency %v", got)
	}
	if got := s.Plots[1].Lines[1].Points[0]; got != [2]float64{2, 2 / read.MeanUs} {
		t.Errorf("throughput %v", got)
	}
	if len(s.Tables) != 4 || len(s.Tables[0].Rows) != 12 {
		t.Fatalf("%d tables, %d rows", len(s.Tables), len(s.Tables[0].Rows))
	}
	claims := fmt.Sprint(s.Tables[3].Rows)
	for _, says := range []string{"RDMA Write has the lowest latency. too close to tell: 2.66 us, Read 2.67, TCP/IP 61.5 at 2 bytes holds: 0.2 us, Read 0.3, TCP/IP 20", "not measured"} {
		if !strings.Contains(claims, says) {
			t.Errorf("the claims lack %q: %s", says, claims)
		}
	}
	if lines := JudgeMicro(r.Micro); len(lines) < 4 || !strings.HasPrefix(lines[0], "host over shm, figure 9: RDMA Write has the lowest latency. ") {
		t.Errorf("judged %q", lines)
	}
	// Missing measurements are named.
	for key := range r.Micro {
		if strings.HasPrefix(key, "micro/40g/") {
			delete(r.Micro, key)
		}
	}
	if part, _ := r.microFigure(); len(part.Rows) != 2 || !strings.Contains(fmt.Sprint(part.Text), "Not measured: TCP/IP-40G.") {
		t.Errorf("without 40 Gbit/s: %d rows, %q", len(part.Rows), part.Text)
	}
	if err := report.Write(t.TempDir(), r.Document()); err != nil {
		t.Error(err)
	}
	none, err := Select([]string{"9"})
	if err != nil {
		t.Fatal(err)
	}
	empty := Report{Settings: settings(), Experiments: none}.Document()
	if text := fmt.Sprint(empty.Sections[2]); !strings.Contains(text, "No point") {
		t.Errorf("without points: %s", text)
	}
}

// Simulated rows survive writing and reading, and are ordered as on the
// paper's cluster: tcp slower than the card, 40 Gbit/s faster than 1.
func TestPredictMicro(t *testing.T) {
	cl, err := sim.Open("paper")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := PredictMicro(cl, []int{2, 8 << 20})
	if err != nil || len(rows) != 8 {
		t.Fatalf("%v, %v", rows, err)
	}
	var b, table strings.Builder
	us := map[string]float64{}
	for _, r := range rows {
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		us[fmt.Sprint(r.Series, r.X)] = r.Value
	}
	back, err := ReadSimulated(strings.NewReader(b.String()))
	if err != nil || !slices.Equal(back, rows) {
		t.Errorf("read back %v, %v", back, err)
	}
	if !(us["read2"] < us["tcp-40g2"] && us["tcp-40g2"] < us["tcp-1g2"] && us["tcp-1g8.388608e+06"] > 10*us["tcp-40g8.388608e+06"]) {
		t.Errorf("%v", us)
	}
	if err := WriteMicro(&table, cl, rows); err != nil || !strings.Contains(table.String(), "TCP/IP-40G, us") ||
		!strings.Contains(table.String(), fmt.Sprintf("\n| 8388608 | %.4g |", us["tcp-1g8.388608e+06"])) {
		t.Errorf("%v\n%s", err, table.String())
	}
	if _, err := PredictMicro(cl, []int{0}); !errors.Is(err, harness.ErrConfig) {
		t.Error("a request of no bytes")
	}
}

// Over the faster of the paper's two Ethernets scheme tcp is quicker.
func TestSimulatedEthernets(t *testing.T) {
	cl, err := sim.Open("paper")
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t.Context(), sim.Config{Cluster: cl, Duration: 5 * time.Millisecond, Seed: 1}, new(sim.Cache), 10_000, func(string) {})
	slow, ok1 := l.At("search", "1e-5", tcp.Name, 1)
	fast, ok2 := l.At("search", "1e-5", tcp40.Name, 1)
	if !ok1 || !ok2 || fast.MeanUs >= slow.MeanUs {
		t.Errorf("mean us of one client: %+v and %+v, %v", slow, fast, l.err)
	}
}
