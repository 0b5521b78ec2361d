package rfp

import (
	"fmt"

	"github.com/catfish-index/catfish/bench/sim"
	"github.com/catfish-index/catfish/bench/stats"
)

// The paper's curves, of which it prints few numbers: tables that compare nothing.

// inboundByClients is the paper's figure 1b: reads of 32 bytes by the number of the clients' threads.
func (l *lab) inboundByClients() Table {
	t := Table{Name: "inbound", Title: "Reads by client threads", Columns: []string{"in-bound, Mops"}, Text: []string{
		"Reads of 32 bytes of the server's memory, without a service; threads are spread over seven machines. The paper prints 11.26 for 35; with more its rate falls, as here.",
	}}
	for _, n := range clientThreads {
		t.row(fmt.Sprint(n), []string{"Mops"}, l.verbs(sim.Verbs{Op: sim.MicroRead, Bytes: 32, Threads: n}))
	}
	return t
}

// bySize is figure 7 with all three systems.
func (l *lab) bySize() Table {
	t := Table{Name: "sizes", Title: "Three systems by the size of values", Columns: []string{
		"Jakiro, fetches of 36, Mops", "trips", "ServerReply, 6 threads, Mops", "12 threads", "RDMA-Memcached, Mops",
	}, Text: []string{"At their peaks. The cost of RDMA-Memcached's requests does not depend on the size in the model."}}
	for _, bytes := range []int{32, 64, 128, 256, 512, 1024} {
		j := l.run(jakiroPeak.values(bytes))
		t.row(fmt.Sprintf("%d bytes", bytes), []string{"Mops", "", "Mops", "Mops", "Mops"}, j.Mops, j.Trips,
			l.run(replyPeak.values(bytes)).Mops, l.run(at(serverReply, 12, 28).values(bytes)).Mops, l.run(memcachedPeak.values(bytes)).Mops)
	}
	return t
}

// skewShares is figure 9: skewed keys by the share of GETs.
func (l *lab) skewShares() Table {
	t := Table{Name: "skewshares", Title: "Skewed keys by the share of GETs", Columns: []string{
		"Jakiro, Mops", "busiest thread by the idlest", "ServerReply, Mops", "RDMA-Memcached, Mops",
	}, Text: []string{"Zipf 0.99, at their peaks. What the paper prints is for 95 %, above."}}
	for _, get := range []int{5, 50, 95} {
		j := l.run(jakiroPeak.zipf().gets(get))
		t.row(fmt.Sprintf("%d %% GETs", get), []string{"Mops", "times", "Mops", "Mops"}, j.Mops, j.Busiest,
			l.run(replyPeak.zipf().gets(get)).Mops, l.run(memcachedPeak.zipf().gets(get)).Mops)
	}
	return t
}

// cdf is figure 5: the distribution of latencies.
func (l *lab) cdf() Table {
	t := Table{Name: "cdf", Title: "Distribution of latency", Columns: []string{"Jakiro, us", "ServerReply, us", "RDMA-Memcached, us"},
		Text: []string{"At the peaks: the latency that this share of the calls does not exceed."}}
	j, s, m := l.run(jakiroPeak.longer()), l.run(replyPeak.longer()), l.run(memcachedPeak.longer())
	for _, percent := range []float64{1, 5, 10, 15, 25, 50, 75, 90, 95, 99, 99.9} {
		q := percent / 100
		t.row(fmt.Sprintf("%g %%", percent), []string{"us", "us", "us"}, us(j, q), us(s, q), us(m, q))
	}
	return t
}

func us(r *sim.KVResult, q float64) float64 {
	if r.Latency == nil { // after an error
		return 0
	}
	return stats.Micros(r.Latency.Quantile(q))
}

// clientThreads are those of the curves by client threads.
var clientThreads = []int{7, 14, 21, 28, 35, 49, 70, 112}

// curves has the values between the paper's points.
func (l *lab) curves() Table {
	t := Table{Name: "clients", Title: "By client threads", Columns: []string{
		"Jakiro, Mops", "mean us", "ServerReply, Mops", "mean us", "RDMA-Memcached, Mops", "mean us",
	}, Text: []string{"4, 6 and 16 server threads. The paper prints 35 and 112, 28, and 21 of these. RDMA-Memcached's one cost is fitted to its peak."}}
	for _, n := range clientThreads {
		j, s, m := l.run(at(jakiro, 4, n)), l.run(at(serverReply, 6, n)), l.run(at(memcached, 16, n))
		t.row(fmt.Sprint(n), []string{"Mops", "us", "Mops", "us", "Mops", "us"}, j.Mops, j.MeanUs, s.Mops, s.MeanUs, m.Mops, m.MeanUs)
	}
	return t
}

func (l *lab) threads() Table {
	t := Table{Name: "threads", Title: "By server threads", Columns: []string{
		"Jakiro, Mops", "trips", "ServerReply, Mops", "RDMA-Memcached, Mops", "out-bound alone, Mops",
	}, Text: []string{"35, 28 and 21 client threads. The paper's peaks are at 4, 6 and 16."}}
	for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 12, 16} {
		j, s, m := l.run(at(jakiro, n, 35)), l.run(at(serverReply, n, 28)), l.run(at(memcached, n, 21))
		t.row(fmt.Sprint(n), []string{"Mops", "", "Mops", "Mops", "Mops"}, j.Mops, j.Trips, s.Mops, m.Mops, l.outbound(n, 7, 32))
	}
	return t
}
