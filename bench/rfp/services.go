package rfp

import (
	"github.com/catfish-index/catfish/bench/sim"
	ways "github.com/catfish-index/catfish/internal/fetch"
)

// A service is a scheme and the costs of its operations.
type service struct {
	scheme sim.KVScheme
	costs  sim.KVCosts
}

// The costs of a thread: a lookup in 128 million items misses the caches two or
// three times. All of them are assumed but for those marked.
const (
	getNs = 250
	putNs = 300
	// The kernel's clock: Ubuntu 14.04 has CONFIG_HZ=250. How long it keeps a
	// core is assumed, after a look at the trips of long calls ("seen").
	ticksPerS = 250
	tickNs    = 10_000
	// memcached's threads do more for a request, and PUTs hold a lock. Fitted:
	// to 1.3 million operations/s with 95 % GETs, and to a fourteenth of
	// Jakiro's with 5 %. Two costs give 1.3; this is the smaller one, where 16
	// threads contend for the card.
	memcachedNs = 3_500
	putLockNs   = 2_600
)

// blueFlameBytes is up to how many bytes an answer is posted under a lock that all threads share. The card's user-space driver
// copies work requests of inlined writes and of reads into the card's BlueFlame page, if they have
// at most 256 bytes, under one lock of the process; for all others it rings a doorbell, without a lock (libmlx4, qp.c,
// mlx4_post_send). 36 of the 256 bytes are the work request's own.
const blueFlameBytes = 220

var plain = sim.KVCosts{GetNs: getNs, PutNs: putNs, TicksPerS: ticksPerS, TickNs: tickNs}

// The services of the paper. Threads of a server that writes answers wait for
// the completion: so do those of its table I, see clusters/connectx3.toml.
var (
	jakiro      = service{sim.KVScheme{Name: "Jakiro", FetchBytes: 36}, plain}
	serverReply = service{sim.KVScheme{Name: "ServerReply", Written: true, Waits: true, Inlines: blueFlameBytes}, plain}
	memcached   = service{
		sim.KVScheme{Name: "RDMA-Memcached", Written: true, Waits: true, ByClient: true, Locks: true, Inlines: blueFlameBytes},
		sim.KVCosts{GetNs: memcachedNs, PutNs: memcachedNs, PutLockNs: putLockNs, TicksPerS: ticksPerS, TickNs: tickNs},
	}
)

// Services like Catfish: idle workers sleep, clients choose the size of a
// fetch; written answers go out without waiting for completions. Choice and
// fall-back are the code of Catfish's client, package internal/fetch.
var (
	fetched  = service{sim.KVScheme{Name: "fetch", Events: true}, plain}
	hybrid   = service{sim.KVScheme{Name: "fetch, falls back", Events: true, FallBack: ways.Retries}, plain}
	compares = service{sim.KVScheme{Name: "fetch, compares", Events: true, FallBack: ways.Retries, Compares: true}, plain}
	written  = service{sim.KVScheme{Name: "written", Events: true, Written: true}, plain}
)

func (v service) fetching(bytes int) service {
	v.scheme.FetchBytes = bytes
	return v
}

// locked posts all answers under the lock.
func locked(v service) service {
	v.scheme.Inlines = 0
	return v
}

func (v service) taking(ns float64) service {
	v.costs.GetNs, v.costs.PutNs = ns, ns
	return v
}

// keys is the paper's number of items.
const keys = 128_000_000

// The texts of the paper's Weibo workload: 1 to 899 bytes with a mean of 43, 331
// of 50,000,000 above 512. A logarithmic normal law with that mean and that
// share has these parameters, and would have 3 texts above 899, which are cut off.
const (
	weiboMu, weiboSigma = 3.573, 0.613
	weiboMax            = 899
)
