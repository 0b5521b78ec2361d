package server

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// meter counts a transport's requests by kind, and how long workers took for
// them, for monitoring. A nil meter counts nothing. Another reads the clock twice for a request, some 80 ns, and makes
// three additions; so a server has none unless Options.Meter is set.
//
// The time is that of the worker: from when it takes a request to when its answer
// is made. It includes neither the wait before nor the way to the client. Of a long
// request (more than 512 nodes) it includes only the first step. Of searches that are
// made together each has an equal part.
type meter struct{ kinds [meteredKinds]kindMeter }

// meteredKinds is more than the number of request kinds; those of replies begin
// here. A kind without a name in kindNames counts as kind 0.
const meteredKinds = int(wire.KindReply)

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
	0: "unknown", wire.KindOpen: "open", wire.KindSearch: "search", wire.KindCount: "count", wire.KindNearest: "nearest",
	wire.KindInsert: "insert", wire.KindDelete: "delete", wire.KindUpdate: "update", wire.KindInsertMany: "insert_many",
	wire.KindStats: "stats", wire.KindCheck: "check", wire.KindSearchMany: "search_many", wire.KindCreate: "create",
	wire.KindDrop: "drop", wire.KindWithin: "within", wire.KindCreateRecords: "create_records", wire.KindGet: "get",
	wire.KindPut: "put", wire.KindRemove: "remove", wire.KindScan: "scan", wire.KindRenew: "renew", wire.KindPart: "part",
	wire.KindCreateFeatures: "create_features", wire.KindFind: "find", wire.KindNear: "near", wire.KindCountFeatures: "count_features",
	wire.KindStore: "store", wire.KindErase: "erase", wire.KindPatch: "patch", wire.KindEraseWhere: "erase_where",
	wire.KindBackup: "backup", wire.KindCreateKept: "create_kept", wire.KindWatch: "watch", wire.KindDescribe: "describe", wire.KindPick: "pick",
	wire.KindSwap: "swap", wire.KindLease: "lease", wire.KindNamed: "named",
	wire.KindMap: "map", wire.KindSlotLoad: "slot_load", wire.KindSlotRequests: "slot_requests", wire.KindBoxSample: "box_sample",
	wire.KindAppend: "append", wire.KindAwait: "await",
}

// now is when a request begins, for count.
func (m *meter) now() (began time.Time) {
	if m != nil {
		began = time.Now()
	}
	return began
}

// count counts n requests that were carried out together.
func (m *meter) count(kind fastmsg.Kind, n int, began time.Time, failed bool) {
	if m != nil && n > 0 {
		m.observe(kind, n, time.Since(began), failed)
	}
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

// Requests returns the counts of requests, of the kinds that occurred; none
// without Options.Meter.
func (s *Server) Requests() []model.RequestStats {
	var l []model.RequestStats
	for transport, m := range s.meters {
		unknown := model.RequestStats{Transport: transport, Kind: kindNames[0]}
		for kind := range m.kinds {
			k := &m.kinds[kind]
			r := model.RequestStats{
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

func addRequests(r, o *model.RequestStats) {
	r.Count, r.Failed, r.Seconds = r.Count+o.Count, r.Failed+o.Failed, r.Seconds+o.Seconds
	if r.Buckets == nil {
		r.Buckets = make([]uint64, meterBuckets)
	}
	for i, n := range o.Buckets {
		r.Buckets[i] += n
	}
}

// newMeters returns none unless Options.Meter is set.
func newMeters(o *Options) map[string]*meter {
	if !o.Meter {
		return nil
	}
	m := map[string]*meter{model.TransportTCP: new(meter)}
	for _, t := range o.Transports {
		m[t] = new(meter)
	}
	return m
}
