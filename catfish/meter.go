package catfish

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
)

// meter counts a transport's requests by kind, and how long workers took for
// them, for monitoring. It reads the clock twice for a request, some 80 ns, and makes
// three additions; so a server has none unless ServerOptions.Meter is set.
//
// The time is that of the worker: from when it takes a request to when its answer
// is made. It includes neither the wait before nor the way to the client. Of a long
// request (more than 512 nodes) it includes only the first step. Of searches that are
// made together each has an equal part.
type meter struct{ kinds [meteredKinds]kindMeter }

// meteredKinds is more than the number of request kinds; those of replies begin
// here. A kind without a name in kindNames counts as kind 0.
const meteredKinds = int(kindReply)

type kindMeter struct {
	failed atomic.Uint64
	ns     atomic.Uint64
	// buckets count requests of up to 2^i us; the last one all others.
	buckets [meterBuckets + 1]atomic.Uint64
}

// meterBuckets end at 2^19 us, half a second: steps take 0.1 ms, writes that wait
// for a bulk load seconds.
const meterBuckets = 20

// kindNames are the names of request kinds in metrics.
var kindNames = map[fastmsg.Kind]string{
	0: "unknown", kindOpen: "open", kindSearch: "search", kindCount: "count", kindNearest: "nearest",
	kindInsert: "insert", kindDelete: "delete", kindUpdate: "update", kindInsertMany: "insert_many",
	kindStats: "stats", kindCheck: "check", kindSearchMany: "search_many", kindCreate: "create",
	kindDrop: "drop", kindWithin: "within", kindCreateRecords: "create_records", kindGet: "get",
	kindPut: "put", kindRemove: "remove", kindScan: "scan", kindRenew: "renew", kindPart: "part",
	kindCreateFeatures: "create_features", kindFind: "find", kindNear: "near", kindCountFeatures: "count_features",
	kindStore: "store", kindErase: "erase", kindPatch: "patch", kindEraseWhere: "erase_where",
	kindBackup: "backup", kindCreateKept: "create_kept", kindWatch: "watch", kindDescribe: "describe", kindPick: "pick",
	kindSwap: "swap",
}

// observe counts n requests that took d together.
func (m *meter) observe(kind fastmsg.Kind, n int, d time.Duration, failed bool) {
	if int(kind) >= meteredKinds {
		kind = 0
	}
	k := &m.kinds[kind]
	each := d / time.Duration(n)
	// The smallest i with each <= 2^i us.
	i := bits.Len64(uint64(max((each+time.Microsecond-1)/time.Microsecond-1, 0)))
	k.buckets[min(i, meterBuckets)].Add(uint64(n))
	k.ns.Add(uint64(d))
	if failed {
		k.failed.Add(uint64(n))
	}
}

// RequestStats counts the requests of one kind by messages of one transport, since
// the server's start. Searches that clients make by reading are not included.
type RequestStats struct {
	Transport, Kind string
	Count, Failed   uint64
	Seconds         float64 // of workers, for all of them
	// Buckets count the requests that took a worker up to 2^i us each. Requests that
	// took longer than the last one are in Count alone.
	Buckets []uint64
}

// Requests returns the counts of requests, of the kinds that occurred; none
// without ServerOptions.Meter.
func (s *Server) Requests() []RequestStats {
	var l []RequestStats
	for transport, m := range s.meters {
		unknown := RequestStats{Transport: transport, Kind: kindNames[0]}
		for kind := range m.kinds {
			k := &m.kinds[kind]
			r := RequestStats{
				Transport: transport, Kind: kindNames[fastmsg.Kind(kind)], Failed: k.failed.Load(),
				Seconds: time.Duration(k.ns.Load()).Seconds(), Buckets: make([]uint64, meterBuckets),
			}
			for i := range r.Buckets {
				r.Buckets[i] = k.buckets[i].Load()
				r.Count += r.Buckets[i]
			}
			r.Count += k.buckets[meterBuckets].Load()
			switch {
			case r.Count == 0:
			case kind == 0 || r.Kind == "":
				addRequests(&unknown, &r)
			default:
				l = append(l, r)
			}
		}
		if unknown.Count > 0 {
			l = append(l, unknown)
		}
	}
	return l
}

func addRequests(r, o *RequestStats) {
	r.Count, r.Failed, r.Seconds = r.Count+o.Count, r.Failed+o.Failed, r.Seconds+o.Seconds
	if r.Buckets == nil {
		r.Buckets = make([]uint64, meterBuckets)
	}
	for i, n := range o.Buckets {
		r.Buckets[i] += n
	}
}

// newMeters returns none unless ServerOptions.Meter is set.
func newMeters(o *ServerOptions) map[string]*meter {
	if !o.Meter {
		return nil
	}
	m := map[string]*meter{TransportTCP: new(meter)}
	for _, t := range o.Transports {
		m[t] = new(meter)
	}
	return m
}
