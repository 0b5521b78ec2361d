package rfp

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/bench/sim"
)

// The paper's numbers and the simulated ones. A table's rows are in the order
// of the page.

// rows collects a table's values.
type rows struct {
	name string
	all  []Value
}

func (r *rows) add(what, unit string, printed, simulated float64, m Mark, why string) {
	v := Value{Table: r.name, What: what, Unit: unit, Printed: printed, Value: simulated, Mark: m}
	if v.Off() {
		v.Why = why
	}
	r.all = append(r.all, v)
}

func (l *lab) card() Table {
	r := rows{name: "card"}
	for _, row := range []struct {
		threads int
		printed [4]float64
	}{
		{1, [4]float64{0.62, 0.61, 0.61, 0.61}}, {2, [4]float64{1.12, 1.13, 1.12, 1.12}},
		{4, [4]float64{2.17, 2.13, 2.11, 2.11}}, {8, [4]float64{1.46, 1.46, 1.51, 1.50}},
	} {
		for i, machines := range []int{1, 3, 5, 7} {
			mark := Fitted
			if machines > 1 {
				mark = Follows
			}
			r.add(fmt.Sprintf("out-bound, server threads: %d, client machines: %d", row.threads, machines), "Mops",
				row.printed[i], l.outbound(row.threads, machines, 32), mark, "")
		}
	}
	r.add("in-bound, 35 client threads", "Mops", 11.26, l.inbound(32), Given, "")
	r.add("in-bound by the best out-bound", "times", 5, l.inbound(32)/l.outbound(4, 7, 32), Given, "")
	r.add("both equally fast from", "bytes", 1536, l.crossover(), Fitted, "")
	return Table{Name: r.name, Title: "The card", Values: r.all, Text: []string{
		"Operations of 32 bytes (table I of the paper and the figure of in-bound reads). Four parameters are fitted to table I's" +
			" column of one client machine, so the column says only that the model can do it; what tests them is in the tables below." +
			" Reads and writes are equally fast when they differ by no more than 5 %, in steps of 256 bytes, with the best of 4, 5 and 6" +
			" threads that write.",
	}}
}

func (l *lab) peaks() Table {
	r := rows{name: "peaks"}
	j, s, m := l.run(jakiroPeak.longer()), l.run(replyPeak.longer()), l.run(memcachedPeak.longer())
	r.add("Jakiro, 4 server threads, 35 client threads", "Mops", 5.5, j.Mops, Follows, "")
	r.add("ServerReply, 6, 28", "Mops", 2.1, s.Mops, Follows, "")
	r.add("RDMA-Memcached, 16, 21", "Mops", 1.3, m.Mops, Fitted, "")
	r.add("Jakiro by ServerReply", "times", 2.6, j.Mops/s.Mops, Follows, "")
	r.add("Jakiro, 112 client threads", "Mops", 3.1, l.run(at(jakiro, 4, 112)).Mops, Predicted, "")
	r.add("ServerReply, best number of server threads", "", 6, l.bestThreads(), Predicted, "")
	r.add("Jakiro, round trips", "a call", 2.005, j.Trips, Seen, "")
	r.add("Jakiro, calls with more than 2", "%", 0.2, 100*j.Longer, Seen,
		"Of calls that take long the model has somewhat more than the paper, and shorter ones: it has one reason for them, the"+
			" kernel's clock at each thread of the server, which takes 10 us from all that wait there.")
	r.add("these have at least (5th percentile)", "trips", 4, float64(j.LongerLow), Seen, r.why())
	r.add("and at most (95th)", "trips", 6, float64(j.LongerHigh), Seen, r.why())
	r.add("and take, 15 to 17 (median)", "us", 16, j.LongerUs, Seen, r.why())
	return Table{Name: r.name, Title: "Peak throughput and round trips", Values: r.all, Text: []string{
		fmt.Sprintf("95 %% GETs, values of 32 bytes, 128 million keys drawn uniformly. Jakiro's server starts %s operations"+
			" a call; its card serves in-bound operations for %.0f %% of the time, and is the limit. Its threads are busy for %.0f %%.",
			number(j.ServerPosts), 100*j.In, 100*j.Busy),
		"112 client threads are 16 a machine: by the contention that table I shows for a server's threads, their cards start" +
			" fewer operations than 5 do. No parameter was chosen by that number.",
	}}
}

// bestThreads is the number of server threads with which ServerReply's 28 clients
// get the most.
func (l *lab) bestThreads() float64 {
	best, most := 0, 0.0
	for n := 1; n <= 8; n++ {
		if m := l.run(at(serverReply, n, 28)).Mops; m > most {
			best, most = n, m
		}
	}
	return float64(best)
}

// why is the reason of the latest row that is off.
func (r *rows) why() string {
	for i := len(r.all) - 1; i >= 0; i-- {
		if w := r.all[i].Why; w != "" {
			return w
		}
	}
	return ""
}

func (l *lab) latencies() Table {
	r := rows{name: "latencies"}
	j, s, m := l.run(jakiroPeak.longer()), l.run(replyPeak.longer()), l.run(memcachedPeak.longer())
	r.add("Jakiro, mean", "us", 5.78, j.MeanUs, Fitted, "")
	r.add("ServerReply, mean", "us", 12.06, s.MeanUs, Follows, "")
	r.add("RDMA-Memcached, mean", "us", 14.76, m.MeanUs, Follows, "")
	const why = "Shares below 7 us depend on how unevenly waiting is dealt. In the model threads of ServerReply fall behind by chance" +
		" of the keys, and all calls to such a thread wait; RDMA-Memcached's constant cost leaves no call short."
	r.add("Jakiro, below 7 us", "%", 99, 100*j.Below7, Predicted, why)
	r.add("ServerReply, below 7 us", "%", 45, 100*s.Below7, Predicted, why)
	r.add("RDMA-Memcached, below 7 us", "%", 10, 100*m.Below7, Predicted, why)
	cross := 0.0
	for q := 0.01; q < 1; q += 0.01 {
		if s.Latency.Quantile(q) > j.Latency.Quantile(q) {
			cross = 100 * q
			break
		}
	}
	r.add("ServerReply is faster below the percentile", "", 15, cross, Predicted,
		"The percentile at which the curves cross moves with the share above.")
	return Table{Name: r.name, Title: "Latency at the peak", Values: r.all, Text: []string{
		"At these peaks. By Little's law 35 clients at 5.5 Mops have 6.36 us for a call, 0.58 more than the latency" +
			" printed: the pause between two calls (client.think_ns) is taken from that, so that Jakiro's mean comes out. The means of the" +
			" others follow from their rates beside, by the same law.",
	}}
}

func (l *lab) shares() Table {
	r := rows{name: "shares"}
	for _, get := range []int{5, 50, 95} {
		r.add(fmt.Sprintf("Jakiro, %d %% GETs", get), "Mops", 5.5, l.run(jakiroPeak.gets(get)).Mops, Follows, "")
	}
	for _, get := range []int{5, 50, 95} {
		r.add(fmt.Sprintf("ServerReply, %d %% GETs", get), "Mops", 2.1, l.run(replyPeak.gets(get)).Mops, Follows, "")
	}
	r.add("Jakiro by RDMA-Memcached, 5 % GETs", "times", 14,
		l.run(jakiroPeak.gets(5)).Mops/l.run(memcachedPeak.gets(5)).Mops, Fitted, "")
	return Table{Name: r.name, Title: "Share of GETs", Values: r.all, Text: []string{
		fmt.Sprintf("RDMA-Memcached at 50 %%: %s Mops simulated; its PUTs hold one lock for %.1f us each, which is what the last row is"+
			" fitted by.", number(l.run(memcachedPeak.gets(50)).Mops), float64(putLockNs)/1e3),
	}}
}

func (l *lab) values() Table {
	r := rows{name: "values"}
	for _, bytes := range []int{64, 128, 256, 512} {
		r.add(fmt.Sprintf("Jakiro, fetches of 36, values of %d", bytes), "Mops", 0.68*5.5, l.run(jakiroPeak.values(bytes)).Mops, Follows, "")
	}
	r.add("the same, trips of a GET", "", 3, l.run(jakiroPeak.values(64).gets(100)).Trips, Follows, "")
	r.add("Jakiro, values of 1024", "Mops", 3.1, l.run(jakiroPeak.values(1024)).Mops, Predicted, "")
	for _, bytes := range []int{32, 64, 128} {
		r.add(fmt.Sprintf("Jakiro, fetches of 132, values of %d", bytes), "Mops", 5.5,
			l.run(jakiroPeak.values(bytes).fetching(132)).Mops, Follows, "")
	}
	r.add("ServerReply, 12 server threads, values of 512", "Mops", 2.1, l.run(at(serverReply, 12, 28).values(512)).Mops, Seen, "")
	return Table{Name: r.name, Title: "Size of values", Values: r.all, Text: []string{
		"\"-32 %\" of 5.5 is 3.74. At 1024 bytes the link is full.",
		fmt.Sprintf("ServerReply with 12 threads: by table I eight threads send less than four, since inlined writes are posted under a lock of the process. Answers of more"+
			" than %d bytes are not: the card's user-space driver rings a doorbell for them, without that lock (libmlx4, mlx4_post_send), and so twelve threads have what the card"+
			" starts. Reads take the lock, whatever their size, and so 112 clients contend. That was looked up after the number was seen: with the lock for all answers it is %s.",
			blueFlameBytes, number(l.run(at(locked(serverReply), 12, 28).values(512)).Mops)),
	}}
}

func (l *lab) skew() Table {
	r := rows{name: "skew"}
	z := l.run(jakiroPeak.zipf())
	r.add("Jakiro", "Mops", 5.5, z.Mops, Follows, "")
	r.add("ServerReply", "Mops", 2.1, l.run(replyPeak.zipf()).Mops, Follows, "")
	r.add("RDMA-Memcached", "Mops", 2.1, l.run(memcachedPeak.zipf()).Mops, Predicted,
		"RDMA-Memcached gains by skew in the paper, from 1.3 to 2.1. Popular items stay in the processor's caches; the model"+
			" has no caches, and its 16 threads cannot send 2.1 whatever a lookup costs.")
	r.add("Jakiro, busiest of 4 threads by the idlest", "times", 1.2, z.Busiest, Predicted,
		"How uneven four threads are is chance of the hash: the most popular key alone has 5 % of the calls.")
	return Table{Name: r.name, Title: "Skewed keys", Values: r.all, Text: []string{"Zipf 0.99 over 128 million keys, 95 % GETs."}}
}

func (l *lab) texts() Table {
	r := rows{name: "texts"}
	for _, get := range []int{5, 50, 95} {
		r.add(fmt.Sprintf("Jakiro, fetches of 512, %d %% GETs", get), "Mops", 5.4,
			l.run(jakiroPeak.sizes(l.weibo).fetching(512).gets(get)).Mops, Follows, "")
	}
	r.add("mean size of a text", "bytes", 43, l.weibo.Mean(), Fitted, "")
	r.add("texts of 50 million above 512", "", 331, 50e6*l.weibo.Above(512), Fitted, "")
	return Table{Name: r.name, Title: "Texts of Weibo", Values: r.all, Text: []string{
		"Sizes by a logarithmic normal law from 1 to 899 bytes, keys drawn uniformly from 128 million.",
	}}
}

// row adds a row of a table that compares nothing.
func (t *Table) row(what string, units []string, values ...float64) {
	for i, v := range values {
		t.Values = append(t.Values, Value{Table: t.Name, What: what, Column: t.Columns[i], Unit: units[i], Value: v})
	}
}

// newLab makes a lab that simulates on a cluster.
func newLab(ctx context.Context, cl *sim.Cluster, seed uint64, note func(string)) (*lab, error) {
	weibo, err := sim.NewLogNormal(weiboMu, weiboSigma, 1, weiboMax)
	if err != nil {
		return nil, err
	}
	mixed, err := sim.NewLogNormal(mixedMu, mixedSigma, 1, mixedMax)
	if err != nil {
		return nil, err
	}
	return &lab{ctx: ctx, cl: cl, seed: seed, note: note, results: map[point]*sim.KVResult{}, weibo: weibo, mixed: mixed}, nil
}
