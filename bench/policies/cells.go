package policies

import (
	"fmt"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
)

// Cells are all workloads of the comparison: first the real ones, with the
// server and its clients on these cores, then those of simulated clusters.
func Cells(server, client affinity.Set) []Cell {
	return append(realCells(server.String(), client.String()), simulatedCells()...)
}

// A closed loop's throughput gives its mean latency too: clients / throughput.
// So the mean is no metric of its own; the 99th percentile is.
var (
	searches = Metric{Unit: "searches/s", Of: throughput}
	calls    = Metric{Unit: "calls/s", Of: throughput}
	p99      = Metric{Label: "p99", Unit: "us", Of: latency99, Lower: true, Aside: true}
)

// afterStep are the metrics of a load step.
func afterStep() []Metric {
	over := func(label string, from, to time.Duration) Metric {
		return Metric{Label: label, Unit: "searches/s", Of: throughputOver, From: from, To: to}
	}
	return []Metric{
		over("0 to 0.1 s", 0, 100*time.Millisecond),
		over("0 to 1 s", 0, time.Second),
		over("after 1 s", time.Second, time.Hour),
	}
}

const (
	warm    = " --duration 1s --warmup 700ms"
	cold    = " --duration 1s --warmup 1ms"
	inserts = " --mix search=90,insert=10"
)

func realCells(server, client string) []Cell {
	onCores := " --in-flight 1 --server-cpus " + server + " --client-cpus " + client
	shm := onCores + " --transport shm"
	var cells []Cell
	add := func(name string, gbits int, args string, metrics ...Metric) {
		cells = append(cells, Cell{Name: "real, " + name, Gbits: gbits, Args: strings.Fields(args), Metrics: metrics})
	}
	scales := []string{"1e-5", "1e-2"}
	for _, scale := range scales {
		for _, n := range []string{"1", "8", "64"} {
			add("shm, "+clients(n)+", "+scale, 0,
				"bench run --scale "+scale+" --clients "+n+shm+warm, searches, p99)
		}
	}
	for _, scale := range scales {
		for _, n := range []string{"1", "64"} {
			add("shm, first second, "+clients(n)+", "+scale, 0,
				"bench run --scale "+scale+" --clients "+n+shm+cold, searches)
		}
	}
	for _, scale := range scales {
		add("shm, load step, 64 clients, "+scale, 0,
			"bench step --scale "+scale+" --clients 64"+shm+" --rest 10ms --at 1s --duration 4s --sample 50ms", afterStep()...)
	}
	for _, scale := range scales {
		add("shm, 10 % inserts, 64 clients, "+scale, 0,
			"bench run --scale "+scale+" --clients 64"+shm+warm+inserts, calls, p99)
	}
	for _, gbits := range []int{1, 10} {
		for _, scale := range scales {
			add(fmt.Sprintf("soft, %d Gbit/s, 64 clients, %s", gbits, scale), gbits,
				"bench run --scale "+scale+" --clients 64"+onCores+" --transport soft"+warm, searches, p99)
		}
	}
	return cells
}

func simulatedCells() []Cell {
	var cells []Cell
	add := func(name, args string, metrics ...Metric) {
		cells = append(cells, Cell{Name: "simulated, " + name, Simulated: true, Args: strings.Fields(args), Metrics: metrics})
	}
	// One call simulates both numbers of clients: most of the time of a
	// small one goes into the tree.
	both := func(unit Metric) []Metric {
		few, many, tail := unit, unit, p99
		few.Label, many.Label, tail.Label = "64 clients", "256 clients", "256 clients, p99"
		many.Row, tail.Row = 1, 1
		return []Metric{few, many, tail}
	}
	const cluster = "bench sim --cluster paper --clients 64,256 --warmup 400ms"
	for _, scale := range []string{"1e-5", "1e-2", "power"} {
		add("figures 10 and 11, "+scale, cluster+" --duration 150ms --scale "+scale, both(searches)...)
	}
	for _, scale := range []string{"1e-5", "1e-2", "power"} {
		add("figures 12 and 13, 10 % inserts, "+scale, cluster+" --duration 150ms --scale "+scale+inserts, both(calls)...)
	}
	for _, set := range []string{"QR1", "QR2", "QR3"} {
		add("figure 14, rea02-like "+set, cluster+" --duration 60ms --dataset rea02-like --scale "+set, both(searches)...)
	}
	add("load step from 16 to 256 clients, 1e-5",
		"bench sim --cluster paper --scale 1e-5 --clients 256 --first 16 --join-at 200ms --duration 1400ms --sample 10ms", afterStep()...)
	add("modern cluster, 10000 clients, 1e-5",
		"bench sim --cluster modern --scale 1e-5 --clients 10000 --warmup 100ms --duration 50ms", searches, p99)
	return cells
}

func clients(n string) string {
	if n == "1" {
		return "1 client"
	}
	return n + " clients"
}
