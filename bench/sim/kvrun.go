package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// The events of a kvSim, by the path of a call.
const (
	kvThought     kind = iota // client: its pause ends
	kvPost                    // client: its operation goes to its card
	kvThere                   // client: the operation is at the server's card
	kvServed                  // client: the server's card has done it
	kvBack                    // client: its acknowledgement or bytes are at the client's card
	kvComplete                // client: its thread sees the completion
	kvWoken                   // thread: it may look for requests
	kvDone                    // thread: a request is answered
	kvReply                   // thread: the answer that it writes goes to the card
	kvReplied                 // client: the answer is at the client's card
	kvAnswer                  // client: it is in the client's memory
	kvReplyBack               // thread: its acknowledgement is at the server's card
	kvFree                    // thread: it sees the completion
	kvTick                    // thread: the kernel interrupts it
	kvLogged                  // thread: the writes to secondaries go to the card
	kvAtReplica               // client: its PUT is at a secondary's card
	kvReplicaDone             // client: a secondary has done it, and answers
	kvAckBack                 // client: an acknowledgement is at the primary's card
	kvAcked                   // client: it is in the primary's memory
	kvHanded                  // client: its request is in the queue of a thread
)

// kvSim is one simulation of a key-value service. Each run makes a new one,
// used by one goroutine.
type kvSim struct {
	queue
	cfg      *KVConfig
	cl       *Cluster
	far      int64 // latency one way
	machines []card
	hosts    []*card // the servers'
	clients  []kvClient
	threads  []kvThread
	replicas []kvReplica
	pointers *KVPointers // of KVScheme.Pointers

	dispatchers []meter // of all instances
	locks       []meter // of KVScheme.Locks, one for each instance
	latency     *latency.Distribution
	n           kvCounts
}

// kvCounts counts since the warm-up.
type kvCounts struct {
	calls, trips     uint64
	longer           []longerCall
	below7           uint64
	written, posts   uint64
	fetches, fetched uint64 // first ones, and their bytes
	inVain           uint64
	busyNs           float64
	served           uint64 // operations by the servers' cards
	gets, hits, dead uint64 // of KVScheme.Pointers
	sentAtStart      float64
}

// longerCall took more than two round trips.
type longerCall struct {
	trips int
	took  time.Duration
}

func newKVSim(cfg *KVConfig) (*kvSim, error) {
	cl := cfg.Cluster
	s := &kvSim{
		cfg: cfg, cl: cl, far: int64(cl.Fabric.LatencyNs), latency: latency.New(),
		machines: make([]card, min(cl.Client.Machines, cfg.Clients)),
		clients:  make([]kvClient, cfg.Clients), threads: make([]kvThread, max(cfg.Servers, 1)*cfg.Threads),
	}
	n := len(s.machines)
	for i := range s.machines { // The threads of the fullest machine.
		s.machines[i] = newCard(cl.Client.NIC, (cfg.Clients+n-1)/n)
	}
	s.makeHosts()
	s.makeStages()
	if p := cfg.Scheme.Pointers; p != nil {
		s.pointers = p.clone()
	}
	for range cfg.Scheme.Secondaries {
		s.replicas = append(s.replicas, kvReplica{card: newCard(cl.Server.NIC, 1)})
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x6b76))
	for i := range s.clients {
		c := &s.clients[i]
		ops, err := cfg.ycsb().Ops(i)
		if err != nil {
			return nil, err
		}
		c.ops, c.machine = ops, uint32(i%n)
		if !cfg.Scheme.Written {
			c.fetcher = newFetcher(cfg.Scheme.FetchBytes, !cfg.Scheme.Compares, cfg.Seed+uint64(i), &s.now)
			c.tries.Limit = cfg.Scheme.FallBack
		}
		s.schedule(rng.Int64N(1e4), kvThought, uint32(i), 0)
	}
	for i := range s.threads {
		s.threads[i].idle, s.threads[i].since = true, -1<<62
		if cfg.Costs.TicksPerS > 0 && cfg.Costs.TickNs > 0 {
			s.schedule(rng.Int64N(int64(1e9/cfg.Costs.TicksPerS)), kvTick, uint32(i), 0)
		}
	}
	s.reset()
	return s, nil
}

// run handles events until a time.
func (s *kvSim) run(until int64) {
	for {
		e, ok := s.next(until)
		if !ok {
			return
		}
		switch e.kind {
		case kvThought:
			s.begin(e.id)
		case kvPost:
			s.posted(e.id)
		case kvThere:
			s.there(e.id)
		case kvServed:
			s.servedBy(e.id)
		case kvBack:
			s.back(e.id)
		case kvComplete:
			s.complete(e.id)
		case kvWoken:
			s.look(e.id)
		case kvDone:
			s.done(e.id)
		case kvReply:
			s.reply(e.id)
		case kvReplied:
			s.replied(e.id, e.sub)
		case kvAnswer:
			s.answer(e.id, e.sub)
		case kvReplyBack:
			s.replyBack(e.id)
		case kvFree:
			s.free(e.id)
		case kvTick:
			s.tick(e.id)
		case kvLogged:
			s.logged(e.id)
		case kvAtReplica:
			s.atReplica(e.id, e.sub)
		case kvReplicaDone:
			s.replicaDone(e.id, e.sub)
		case kvAckBack:
			s.ackBack(e.id)
		case kvAcked:
			s.acked(e.id)
		case kvHanded:
			s.arrive(e.id)
		}
	}
}

// reset forgets what was counted so far.
func (s *kvSim) reset() {
	s.n = kvCounts{sentAtStart: s.sent()}
	for i := range s.threads {
		s.threads[i].calls = 0
	}
	s.latency.Reset()
}

// hashOf spreads keys: FNV-1a of 64 bits, mixed once more.
func hashOf(k *ycsb.Key) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range k {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func (s *kvSim) result() *KVResult {
	n, d := &s.n, s.cfg.Duration
	took := float64(d)
	calls, hosts := float64(n.calls), float64(len(s.hosts))
	r := &KVResult{
		Calls: n.calls, Mops: calls * 1e3 / took, MeanUs: stats.Micros(s.latency.Mean()), Latency: s.latency,
		Trips: stats.Ratio(float64(n.trips), calls), Longer: stats.Ratio(float64(len(n.longer)), calls),
		Below7: stats.Ratio(float64(n.below7), calls), Written: stats.Ratio(float64(n.written), calls),
		ServerPosts: stats.Ratio(float64(n.posts), calls),
		Busy:        n.busyNs / (took * float64(len(s.threads))),
		In:          float64(float64(n.served)*s.hosts[0].inNs) / (took * hosts),
		Out:         float64((s.sent()-n.sentAtStart)*s.hosts[0].byteNs) / (took * hosts),
		Hits:        stats.Ratio(float64(n.hits), float64(n.gets)), Dead: stats.Ratio(float64(n.dead), float64(n.gets)),
		FetchBytes:  stats.Ratio(float64(n.fetched), float64(n.fetches)),
		WastedReads: stats.Ratio(float64(n.inVain), calls),
		Events:      s.queue.done, Simulated: d, Warmup: s.cfg.Warmup,
	}
	least, most := ^uint64(0), uint64(0)
	for i := range s.threads {
		least, most = min(least, s.threads[i].calls), max(most, s.threads[i].calls)
	}
	r.Busiest = stats.Ratio(float64(most), float64(least))
	if k := len(n.longer); k > 0 {
		slices.SortFunc(n.longer, func(a, b longerCall) int { return int(a.took - b.took) })
		r.LongerUs = stats.Micros(n.longer[k/2].took)
		slices.SortFunc(n.longer, func(a, b longerCall) int { return a.trips - b.trips })
		r.LongerLow, r.LongerHigh = n.longer[k/20].trips, n.longer[k-1-k/20].trips
	}
	return r
}
