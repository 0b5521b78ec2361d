package sim

import (
	"math/rand/v2"
	"time"

	ways "github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/policy"
)

// The kinds of events, by the path of a request.
const (
	evThought      kind = iota // call, a caller's first: its pause ends
	evRan                      // call: its work on a client core is done
	evAtServer                 // call: the request is at the server's card
	evArrived                  // call: it is in the server's memory
	evWoken                    // worker: it may queue for a core
	evServed                   // worker: a request is answered
	evPolled                   // thread, sub generation: the same, of a polling thread
	evSlice                    // core: a polling thread's slice ends
	evPosted                   // call: the server's card sends its answer, of scheme fetch
	evAnswer                   // call: the answer is at the client's card
	evTaken                    // call: it is in the client's memory
	evNoticed                  // call: its caller sees it
	evRead                     // call, sub node: a read is at the server's card
	evBlock                    // call, sub node: its bytes are at the client's card
	evTorn                     // the same, but a writer was changing them
	evMoved                    // the same, but the node moved since the search began
	evStale                    // the same, of a line of a node that changed since it was cached
	evHere                     // call, sub node: the bytes are in the client's memory
	evHereTorn                 // the same
	evHereMoved                // the same
	evHereStale                // the same
	evHeartbeatDue             // host: a heartbeat is due
	evTicked                   // host: its work for it is done
	evHeartbeat                // client, sub slot: it is in the client's mailbox
	evAcked                    // call: its request's acknowledgement is at the client's card
	evFetch                    // call: a fetch, or a request for a written answer, is at the server's card
	evFetchServed              // call: the server's card has done it
	evFetched                  // call: the bytes are at the client's card
	evFetchHere                // call: it is in the client's memory
	evSample                   // an interval of a watched run ends
)

// sim is one simulation. Each run makes a new one, used by one goroutine.
type sim struct {
	queue
	cfg Config
	cl  *Cluster
	w   *Workload
	sch policy.Scheme

	fetches bool // scheme fetch
	rng     *rand.Rand

	calls    []call   // of each caller one for each host, see hosts.go
	callers  []caller // as many as clients have requests in flight
	clients  []client
	machines []machine
	hosts    []host
	workers  int    // of each host
	writer   writer // with one host
	series   series
	shown    shown // a policy's view of a search

	clock   func() time.Time // the clock of policies
	latency time.Duration    // one way, see Fabric
	inserts int              // next of the workload's
	n       counts
	all     *latency.Distribution
	byOp    [2]*latency.Distribution // searches, inserts
}

// counts counts since the warm-up.
type counts struct {
	ways                  [2]uint64 // searches finished, by path, of each group
	searches              uint64
	inserts               uint64
	reads, torn, restarts uint64
	lines, repairs        uint64 // of cached nodes
	trips                 uint64
	results               uint64
	bytes                 float64 // messages and blocks, without headers
	fellBack              uint64
	written               uint64 // answers of scheme fetch
	trials, moves         uint64 // of its clients' rules
	heartbeats            uint64
	busyNs, clientNs      float64 // of cores
	writerNs              float64
	outBytes              float64 // payload of answers
	sentAtStart           float64
}

// client is one connection. Its policy decides for all of its calls.
type client struct {
	engine  *policy.Engine
	load    policy.Load // the newest heartbeat
	pending bool        // the engine has not taken it
	knows   int64       // time of the newest header that a walk of it has read
	sent    uint64      // sequence number of the latest heartbeat
	answer  float64     // ns that it announced for a message
	walks   uint64      // begun, in schemes that cache nodes
	reads   int         // since the last yield
	fetcher *fetcher    // of scheme fetch
}

func newSim(cfg Config, w *Workload) (*sim, error) {
	cl := cfg.Cluster
	sch, err := policy.SchemeByName(cfg.Scheme)
	if err != nil {
		return nil, err
	}
	s := &sim{
		cfg: cfg, cl: cl, w: w, sch: sch, fetches: sch.Fetch,
		rng:     rand.New(rand.NewPCG(cfg.Seed, 0x73696d)),
		hosts:   make([]host, max(len(w.parts), 1)),
		callers: make([]caller, cfg.Clients*cfg.InFlight),
		latency: time.Duration(cl.Fabric.LatencyNs),
		all:     latency.New(),
		byOp:    [2]*latency.Distribution{latency.New(), latency.New()},
	}
	s.clock = func() time.Time { return time.Unix(0, s.now) }
	serverNIC, clientNIC := cl.Server.NIC, cl.Client.NIC
	if sch.TCP {
		nic, err := cl.tcpNIC(cfg.TCPGbits)
		if err != nil {
			return nil, err
		}
		serverNIC, clientNIC = nic, nic
		s.latency = time.Duration(cl.TCP.LatencyNs)
	}
	n := len(s.hosts)
	s.clients, s.calls = make([]client, n*cfg.Clients), make([]call, n*len(s.callers))
	for i := range s.hosts {
		s.hosts[i].card = newCard(serverNIC, cl.serverThreads(cfg.Clients))
		s.hosts[i].w = w.part(i)
	}
	for range min(cl.Client.Machines, cfg.Clients) {
		s.machines = append(s.machines, machine{
			cores: cores{free: cl.Client.Cores}, card: newCard(clientNIC, cl.Client.Cores), groups: newGroups(n),
		})
	}
	for i := range s.clients {
		c := &s.clients[i]
		g, seed := s.machines[i/n%len(s.machines)].groups[i%n], cfg.Seed+uint64(i)
		p := sch.New(seed, g, cfg.Backoff)
		if cfg.byAnswers(sch) {
			p = &quicker{client: c}
		}
		c.engine = policy.NewEngine(p, seed, s.clock, g)
		if sch.Fetch {
			c.fetcher = newFetcher(0, cfg.FetchAll, seed, &s.now)
		}
	}
	s.writer.movedAt = make([]int64, w.Chunks)
	s.makeCaches()
	for i := range s.hosts {
		s.hosts[i].server.init(s, i)
	}
	s.workers = len(s.hosts[0].server.workers)
	for i := range s.callers {
		client := i / cfg.InFlight
		next := s.rng.Uint32N(uint32(len(w.searches)))
		for h := range s.hosts {
			c := &s.calls[i*n+h]
			c.client, c.host = uint32(client*n+h), uint32(h)
			c.machine = uint32(client % len(s.machines))
			c.worker = uint32(h*s.workers + client%s.workers)
			c.next = next
			if sch.Fetch {
				c.fetch = &fetch{client: s.clients[c.client].fetcher, tries: ways.Tries{Limit: ways.Retries}}
			}
		}
		// Callers begin within a tenth of a millisecond, not at once.
		at := s.rng.Int64N(1e5)
		if cfg.JoinAt > 0 && client >= cfg.First {
			at += int64(cfg.Warmup + cfg.JoinAt)
		}
		s.schedule(at, evThought, uint32(i*n), 0)
	}
	if !sch.TCP && !sch.Fetch { // Clients fetch the heartbeat's data with answers.
		for i := range s.hosts {
			s.schedule(int64(cl.Heartbeat.IntervalNs), evHeartbeatDue, uint32(i), 0)
		}
	}
	return s, nil
}

// run handles events until a time.
func (s *sim) run(until int64) {
	for {
		e, ok := s.queue.next(until)
		if !ok {
			return
		}
		s.handle(&e)
	}
}

func (s *sim) handle(e *event) {
	switch e.kind {
	case evThought:
		s.begin(e.id)
	case evRan:
		s.ran(e.id)
	case evAtServer:
		s.atServer(e.id)
	case evArrived:
		s.arrived(e.id)
	case evWoken:
		s.line(e.id)
	case evServed:
		s.served(e.id)
	case evPolled:
		s.polled(e.id, e.sub)
	case evSlice:
		s.slice(e.id)
	case evPosted:
		s.sendWritten(e.id, e.sub)
	case evAnswer:
		s.answer(e.id, e.sub)
	case evTaken:
		s.taken(e.id, e.sub)
	case evNoticed:
		s.wake(e.id)
	case evRead:
		s.read(e.id, e.sub)
	case evBlock, evTorn, evMoved, evStale:
		s.block(e.id, e.sub, e.kind)
	case evHere, evHereTorn, evHereMoved, evHereStale:
		s.here(e.id, e.sub, e.kind)
	case evHeartbeatDue:
		s.sendHeartbeats(e.id)
	case evTicked:
		s.ticked(e.id)
	case evHeartbeat:
		s.heartbeatArrived(e.id, e.sub)
	case evAcked:
		s.fetchFirst(e.id)
	case evFetch:
		s.fetchAt(e.id)
	case evFetchServed:
		s.fetchServed(e.id)
	case evFetched:
		s.fetchBack(e.id)
	case evFetchHere:
		s.wake(e.id)
	case evSample:
		s.sample()
	}
}

// reset forgets what was measured so far.
func (s *sim) reset() {
	s.n = counts{sentAtStart: s.sent()}
	s.all.Reset()
	s.byOp[0].Reset()
	s.byOp[1].Reset()
	s.watch()
}
