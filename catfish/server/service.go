package server

import (
	"encoding/binary"
	"encoding/json"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store"
)

// service carries out requests. Each worker, and each plain socket while it
// answers, has its own: the next request reuses the buffers.
type service struct {
	s         *Server
	transport string // open answers with its keys of slabs
	owner     int    // this worker's number as an owner of shards, from 1 on; 0: it owns none
	req       request
	items     []rstar.Item
	near      []rstar.Neighbor
	out       []byte
	batch     searchBatch
	records   recordScratch
	places    store.Buffer               // of searches of features
	finds     findBatch                  // of searches that are made together
	cut       []byte                     // the wanted fields of a feature
	rest      *long                      // of the request being served, if it takes long
	pending   pending                    // the request being served, if it is answered later
	peer      interface{ Peer() string } // of the request being served
	uploads   *uploadSet                 // the peer's, nil: there is no connection
	watches   *watchSet                  // the peer's, nil: there is no connection
	guard     *guard                     // the peer's, if the server has keys
	meter     *meter                     // of the transport, nil: nothing is counted

	// For the recording.
	via    querylog.Via
	client uint32         // the client of the request being served
	tap    *recording.Tap // nil: the recorder's shared one
}

// process returns the answer to a request, or the rest of its work, or leaves the
// request in v.pending (later.go). The bytes are valid until the next call. It does
// not panic, whatever the payload holds.
func (v *service) process(kind fastmsg.Kind, p []byte) (fastmsg.Kind, []byte, *long) {
	var began time.Time
	if v.meter != nil {
		began = time.Now()
	}
	out, done, err := v.answer(kind, p, v.out[:0])
	v.out = out
	if v.meter != nil {
		v.meter.observe(kind, 1, time.Since(began), err != nil)
	}
	if l := v.rest; l != nil {
		v.rest = nil
		return 0, nil, l
	}
	if v.pending != nil {
		return 0, nil, nil
	}
	if err != nil {
		v.out = wire.AppendFailure(v.out[:0], err, done)
		return wire.KindFailure, v.out, nil
	}
	return wire.KindReply, v.out, nil
}

// trim gives back large buffers, after the answer has been sent.
func (v *service) trim() {
	if cap(v.out) > wire.KeepBytes || cap(v.records.out) > wire.KeepBytes || cap(v.items)*wire.ItemBytes > wire.KeepBytes || cap(v.batch.out) > wire.KeepBytes ||
		cap(v.finds.out) > wire.KeepBytes {
		v.release()
	}
}

func (v *service) release() {
	v.out, v.items, v.near, v.batch.out, v.records.out = nil, nil, nil, nil, nil
	v.places, v.finds, v.cut = store.Buffer{}, findBatch{}, nil
}

// buffered is how many bytes the buffers hold.
func (v *service) buffered() int64 {
	return int64(cap(v.out)+cap(v.items)*wire.ItemBytes+cap(v.batch.out)+cap(v.records.out)+cap(v.finds.out)) + int64(cap(v.near))*int64(unsafe.Sizeof(rstar.Neighbor{}))
}

// answer appends the answer to out, which is empty. done is how much of a
// failed request was carried out nevertheless.
func (v *service) answer(kind fastmsg.Kind, p, out []byte) (_ []byte, done uint64, err error) {
	if v.s.access != nil {
		if err := v.guard.check(v.s, kind, p); err != nil {
			return out, 0, err
		}
	}
	if later := v.s.opts.later; later != nil {
		if v.pending = later(kind, p); v.pending != nil {
			return out, 0, nil
		}
	}
	switch kind {
	case wire.KindOpen:
		out, err = v.open(string(p), out)
		return out, 0, err
	case wire.KindStats:
		st := v.s.Stats()
		if v.guard != nil {
			v.guard.hide(&st)
		}
		b, err := json.Marshal(st)
		return append(out, b...), 0, err
	case wire.KindBackup:
		v.pending = &backupWork{v.s, string(p)}
		return out, 0, nil
	case wire.KindSwap:
		a, b, err := wire.GetNames(p)
		if err == nil {
			err = v.swap(a, b)
		}
		return out, 0, err
	case wire.KindCreateFeatures:
		return out, 0, v.createFeatures(p)
	case wire.KindCreateKept:
		return out, 0, v.createKept(p)
	case wire.KindCreate, wire.KindCreateRecords, wire.KindDrop:
		return out, 0, v.manage(kind, p)
	}
	if wire.IsRecords(kind) {
		out, err = v.answerRecords(kind, p, out)
		return out, 0, err
	}
	if isFeatures(kind) {
		out, err = v.answerFeatures(kind, p, out)
		return out, 0, err
	}
	req := &v.req
	if err := v.s.decode(kind, p, req); err != nil {
		return out, 0, err
	}
	out, done, err = v.carryOutUnlessGone(req, out)
	if v.rest != nil {
		v.rest.req = *req
		v.rest.req.items = v.rest.items
		return out, 0, nil
	}
	if v.pending != nil {
		return out, 0, nil
	}
	v.record(req, out, done, err)
	return out, done, err
}

func (v *service) open(name string, out []byte) ([]byte, error) {
	c, err := v.s.lookUp(name, v.s.colls.shardByName)
	if err != nil {
		return out, err
	}
	if err := c.ready(); err != nil {
		return out, err
	}
	switch {
	case c.features != nil:
		if c.open(v.transport); c.dropped.Load() {
			return v.open(name, out) // The name was swapped, or the collection dropped.
		}
		return v.openFeatures(c).Append(out), nil
	case c.records != nil:
		return v.openRecords(c).Append(out), nil
	}
	region, size := c.slab.reach(v.transport)
	r := wire.OpenReply{Coll: c.num, NodeBytes: uint32(c.tree.NodeBytes()), SlabBytes: uint64(size), BootID: v.s.bootID}
	if region != nil {
		r.Base = region.Remote()
	}
	return r.Append(out), nil
}

func (v *service) carryOut(req *request, out []byte) (_ []byte, done uint64, err error) {
	t := req.coll.tree
	switch req.kind {
	case wire.KindInsert, wire.KindInsertMany, wire.KindUpdate:
		if err := v.s.CheckMemory(); err != nil {
			return out, 0, err
		}
	}
	switch req.kind {
	case wire.KindSearch:
		limit := v.s.opts.MaxResults + 1 // distinguishes a full answer from one that is too large
		if req.limit > 0 {
			limit = min(limit, int(req.limit))
		}
		var rest *rstar.Scan
		if v.items, rest = t.SearchSome(v.items[:0], req.rect, limit, soonNodes); rest != nil {
			v.rest = &long{scan: rest}
			return out, 0, nil
		}
		if len(v.items) > v.s.opts.MaxResults {
			return out, 0, v.s.tooLarge()
		}
		for _, it := range v.items {
			out = wire.AppendItem(out, it)
		}
	case wire.KindCount:
		n, rest := t.CountSome(req.rect, soonNodes)
		if rest != nil {
			v.rest = &long{scan: rest}
			return out, 0, nil
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(n))
	case wire.KindNearest:
		var rest *rstar.Browse
		v.near, rest = t.NearestSome(v.near[:0], req.rect.MinX, req.rect.MinY, int(req.limit), soonNodes)
		if rest != nil {
			v.rest = &long{scan: newNearestScan(rest, v.near, req)}
			return out, 0, nil
		}
		for _, n := range v.near {
			if n.Dist > req.within {
				break
			}
			out = wire.AppendItem(out, n.Item)
		}
	case wire.KindInsert, wire.KindDelete, wire.KindUpdate, wire.KindInsertMany:
		if req.coll.boxes != nil {
			return out, 0, v.writeKept(req)
		}
		r := v.write(req, out)
		return r.out, r.done, r.err
	case wire.KindCheck:
		if v.transport != model.TransportTCP { // a plain socket has its own goroutine
			v.rest = &long{apart: func() result { return result{err: v.s.checks.run(t)} }}
			return out, 0, nil
		}
		return out, 0, v.s.checks.run(t)
	case wire.KindSearchMany:
		n, rest := v.batch.run(t, req.rects)
		switch {
		case n > 0 && rest != nil:
			rest.Close() // The client will repeat that search alone.
		case n == 0:
			v.rest = &long{scan: rest, many: len(req.rects)}
			return out, 0, nil
		}
		out = v.batch.appendAnswer(out, len(req.rects), n)
	}
	return out, 0, nil
}
