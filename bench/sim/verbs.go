package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/catfish-index/catfish/bench/harness"
)

// Verbs is a loop of threads that start operations sequentially, each when the
// previous one is complete: table I of RFP, and its figure of in-bound reads.
// No service takes part.
type Verbs struct {
	Cluster *Cluster
	// FromServer: the server's threads start the operations, on the client
	// machines round robin. Otherwise the clients' threads do, on the server.
	FromServer bool
	Op         MicroOp // MicroRead or MicroWrite
	Bytes      int
	Threads    int // all of them
	Machines   int // client machines; 0: the cluster's
	Seed       uint64
}

// verbsNs is the simulated time: thousands of operations.
const verbsNs = 4e6

// The events of a verbs simulation.
const (
	verbPost  kind = iota // thread: the operation goes to its card
	verbThere             // thread: it is at the other card
	verbDone              // thread: it was served
	verbBack              // thread: the answer or acknowledgement is at its card
)

// Mops simulates v, and returns million operations a second. Errors wrap
// harness.ErrConfig.
func (v Verbs) Mops() (float64, error) {
	if err := v.Cluster.Validate(); err != nil {
		return 0, err
	}
	if v.Machines == 0 {
		v.Machines = v.Cluster.Client.Machines
	}
	if err := cmp.Or(harness.CheckRange("threads", v.Threads, 1, 1<<16), harness.CheckRange("machines", v.Machines, 1, 4096),
		harness.CheckRange("bytes", v.Bytes, 1, maxMicroBytes)); err != nil {
		return 0, err
	}
	if v.Op != MicroRead && v.Op != MicroWrite {
		return 0, fmt.Errorf("%w: operation %q, want read or write", harness.ErrConfig, v.Op)
	}
	k := &v.Cluster.Client
	server := newCard(v.Cluster.Server.NIC, v.Threads)
	clients := make([]card, v.Machines)
	for i := range clients {
		clients[i] = newCard(k.NIC, (v.Threads+v.Machines-1)/v.Machines)
	}
	// near is the thread's card, far that of the memory it reads or writes.
	near := func(id uint32) (near, far *card) {
		c := &clients[int(id)%v.Machines]
		if v.FromServer {
			return &server, c
		}
		return c, &server
	}
	var q queue
	rng := rand.New(rand.NewPCG(v.Seed, 0x766572))
	for i := range v.Threads {
		q.schedule(rng.Int64N(2000), verbPost, uint32(i), 0)
	}
	there, back := float64(v.Bytes), float64(ackBytes)
	if v.Op == MicroRead {
		there, back = readRequestBytes, float64(v.Bytes)
	}
	far := int64(v.Cluster.Fabric.LatencyNs)
	warm, done := int64(verbsNs/10), 0
	for {
		e, ok := q.next(verbsNs)
		if !ok {
			break
		}
		mine, other := near(e.id)
		switch e.kind {
		case verbPost:
			q.schedule(ns(mine.start(q.now, there))+far, verbThere, e.id, 0)
		case verbThere:
			q.schedule(ns(other.serve(q.now, there)), verbDone, e.id, 0)
		case verbDone:
			q.schedule(ns(other.reply(float64(q.now), back))+far, verbBack, e.id, 0)
		case verbBack:
			if q.now > warm {
				done++
			}
			at := mine.receive(q.now, back) + k.CompletionNs + k.PostNs + mine.posts.move(e.id)
			q.schedule(ns(at), verbPost, e.id, 0)
		}
	}
	return float64(done) * 1e3 / (verbsNs - float64(warm)), nil
}
