// Package sim simulates Catfish on clusters that are not at hand. All its
// figures are simulated, and say so.
//
// Real are the policies (package catfish), the tree, the searches and the
// inserts (package rstar on package datasets): which nodes each reads or
// changes, how many objects it finds, how many bytes travel. Simulated is
// time: an engine of discrete events in virtual ns, in which cores, cards and
// links take the time that a cluster's file says.
//
// # Model
//
//	client machine (some)                       server
//	+-----------------------------+   latency   +--------------------------+
//	| callers --> cores --> card  |  --------   | card --> inbox --> cores |
//	|   policy    FIFO    out|tx =|=>        |=>|rx|in     |       FIFO   |
//	|   mailbox            in|rx <|=         =|=|tx|out    worker --> tree |
//	+-----------------------------+             |    |             writer  |
//	                                            |    +--> nodes (reads)    |
//	                                            +--------------------------+
//
// A caller has one request in flight: it gets a core, asks the policy, sends,
// waits, gets a core again, takes the answer, pauses, and begins again (a
// closed loop). Connections are assigned to the machines round robin.
//
// A card starts operations at one rate (out-bound), serves those of others
// at another (in-bound), and its link carries bytes each way, with headers
// for each packet. Messages are RDMA Writes: an out-bound operation here,
// an in-bound one there. A read is an in-bound one at the server, whose
// bytes leave by its link and take neither an out-bound operation nor a
// core; at the client its completion costs time of a core.
//
// Workers of the server are event-driven or poll:
//
//	event-driven  asleep --request, latency--> in line --core--> serving
//	              serves all requests, then sleeps
//	polling       never sleeps; threads that outnumber the cores
//	              run in time slices (polling.go), and so do their
//	              callers, where these poll (turns.go)
//
// An insert holds the tree's one writer; a worker that waits for it keeps its
// core. While a node is being published reads of it are torn and repeated;
// reads of nodes that moved since the search began restart it, as in package
// offload.
//
// Schemes that keep internal nodes have a cache for each machine, with room
// for all. A search descends through it, then reads leaves, nodes that are not
// cached and one line of each node that it used, all at once up to the window
// (cache.go). A line that an insert changed since costs a read of its node and
// one more trip; which nodes an insert changes comes from the real tree. One
// walk in eight of a client reads the slab's header, and leaves in which
// hardly a hit is expected are read by their heads. Not modelled: new children
// of a repaired node, and limits of the cache's size. Line and descent costs
// of all clusters are assumptions.
//
// The decision engine of package policy runs unchanged, in simulated time, one
// for each client; a policy that estimates a search before it decides pays for
// the descent. A plan takes no time in the simulation. Clients of a machine
// are one process, and so one group. Where offloading keeps its core
// (client.spins), a client lets other calls run after policy.YieldReads reads,
// as package catfish does.
//
// Threads of one host contend for the operations that their card starts (posts.go):
// only on cluster connectx3, where a paper has measured it. Workers of the tree do
// not wait for the card; operations that wait there count as waiting threads.
//
// Answers of scheme fetch stay in the server's memory, and clients read them
// (fetch.go): the server's card starts nothing, and serves more. Each client
// compares that with written answers, by the real rule of package fastmsg
// (package internal/fetch).
//
// Scheme tcp has a card, CPU costs and a latency of its own, and no heartbeats;
// Config.TCPGbits gives its card another rate. MicroUs is the time of one
// request by its bytes, without load. In all other schemes a heartbeat goes to
// each client every interval, with the utilisation of the simulated cores;
// spinning is not counted.
//
// # A key-value service
//
// RunKV simulates another service over the same cards: RFP's Jakiro and its
// competitors, without a store (kv.go). Verbs is a loop of operations without
// any service, for RFP's table I. Package rfp has the figures.
//
// # Several groups
//
// A workload may be divided among groups of one server each (Spec.Groups, groups.go): by
// package placement, so that a search asks the groups that it would really ask, and reads of
// each what its own tree has. A caller asks them at the same time (hosts.go). Inserts are
// simulated in one group only.
//
// # Left out
//
// Congestion in switches, losses, limits of a card's caches, memory bandwidth,
// frequencies of processors, other programs, ring buffers that fill up,
// searches by the server that meet a writer. Costs of requests vary only with
// the nodes read and the objects found.
//
// # Reading order
//
// engine.go is the clock, the queue of events, cores and meters; sim.go has
// the events; client.go, offload.go, cache.go, server.go, polling.go, turns.go and
// heartbeat.go handle them; answers.go is a trial, answer times in heartbeats;
// series.go watches a run over time; workload.go is
// the real tree; cluster.go the parameters; run.go, row.go the input and
// output; micro.go is the paper's figure 9; fit.go finds free parameters. hosts.go and
// groups.go are several groups, scaleout.go is a table of them.
// posts.go is the contention of threads, fetch.go scheme fetch, verbs.go and
// kv*.go are RFP's. Packages paper and rfp simulate papers' figures with it.
package sim
