package server

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
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
	places    store.Buffer // of searches of features
	finds     findBatch    // of searches that are made together
	cut       []byte       // the wanted fields of a feature
	writes    store.Writes // made in this turn
	name      store.Name   // of the request that is processed, if it is a write that has one
	meter     *meter       // of the transport, nil: nothing is counted

	// For the recording.
	via querylog.Via
	tap *recording.Tap // nil: the recorder's shared one
}

// result is the outcome of a request: its answer, or the task that gives it.
type result struct {
	out  []byte
	task *task
	done uint64 // how much of a failed request was carried out
	err  error
}

func answered(out []byte, err error) result { return result{out: out, err: err} }

func later(t *task, err error) result { return result{task: t, err: err} }

// process returns the answer to a request of a client, or the task that gives it
// (task.go). The bytes are valid until the next call. It does not panic, whatever the
// payload holds.
func (v *service) process(from *peer, kind fastmsg.Kind, p []byte) (fastmsg.Kind, []byte, *task) {
	began := v.meter.now()
	v.out, v.name = v.out[:0], store.Name{}
	var r result
	if kind == wire.KindNamed {
		kind, p, r.err = v.named(p)
	}
	read := v.reading(from, kind)
	if r.err == nil {
		r.err = read.moved()
	}
	if r.err == nil {
		r = v.answer(from, kind, p, v.out)
	}
	if r.task != nil {
		r.task.read = read
	} else if r.err == nil {
		if err := read.Err(); err != nil {
			r = result{err: err}
		}
	}
	v.meter.count(kind, 1, began, r.err != nil)
	if r.out != nil {
		v.out = r.out
	}
	switch {
	case r.err != nil:
		v.out = wire.AppendFailure(v.out[:0], r.err, r.done)
		return wire.KindFailure, v.out, nil
	case r.task != nil:
		return 0, nil, r.task
	}
	return wire.KindReply, v.out, nil
}

// named unpacks a request with a name.
func (v *service) named(p []byte) (kind fastmsg.Kind, payload []byte, err error) {
	n, kind, payload, err := wire.GetNamed(p)
	v.name = store.Name(n)
	return kind, payload, err
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

// answer checks the client's key, and carries out a request. It appends to out, which is
// empty.
func (v *service) answer(from *peer, kind fastmsg.Kind, p, out []byte) result {
	if v.s.access != nil {
		if err := from.guard.check(v.s, kind, p); err != nil {
			return result{err: err}
		}
	}
	if test := v.s.opts.later; test != nil {
		if t := test(kind, p); t != nil {
			return result{task: t}
		}
	}
	switch kind {
	case wire.KindOpen:
		return answered(v.open(string(p), out))
	case wire.KindStats:
		st := v.s.Stats()
		if from.guard != nil {
			from.guard.hide(&st)
		}
		b, err := json.Marshal(st)
		return answered(append(out, b...), err)
	case wire.KindLease:
		return answered(v.standing(from, p, out))
	case wire.KindMap:
		return answered(v.tellMap(from, p, out))
	case wire.KindBackup:
		return later(v.backup(from, string(p)), nil)
	case wire.KindSlotLoad:
		return later(v.slotLoad(from, p))
	case wire.KindSlotRequests:
		return answered(v.slotRequests(p, out))
	case wire.KindBoxSample:
		return later(v.boxSample(from, string(p)), nil)
	case wire.KindSwap:
		return later(v.swap(from, p))
	case wire.KindCreate, wire.KindCreateKept, wire.KindCreateRecords, wire.KindCreateFeatures, wire.KindDrop:
		return later(v.manage(from, kind, p))
	}
	if wire.IsRecords(kind) {
		return v.answerRecords(from, kind, p, out)
	}
	if isFeatures(kind) {
		return v.answerFeatures(from, kind, p, out)
	}
	req := &v.req
	if err := v.s.decode(kind, p, req); err != nil {
		return result{err: err}
	}
	r := v.carryOutUnlessGone(from, req, out)
	if r.task == nil {
		v.as(from).record(req, r.out, r.done, r.err)
	}
	return r
}

func (v *service) open(name string, out []byte) ([]byte, error) {
	c, err := v.s.store.LookupShard(name)
	if err != nil {
		return out, err
	}
	if err := c.Ready(); err != nil {
		return out, err
	}
	switch {
	case c.Features != nil:
		if opened(c, v.transport); c.Ended() {
			return v.open(name, out) // The name was swapped, or the collection dropped.
		}
		return v.openFeatures(c).Append(out), nil
	case c.Records != nil:
		return v.openRecords(c).Append(out), nil
	}
	region, size := slabOf(c, store.TreePart).reach(v.transport)
	r := wire.OpenReply{Coll: c.Number, NodeBytes: uint32(c.Tree.NodeBytes()), SlabBytes: uint64(size), BootID: v.s.bootID}
	if region != nil {
		r.Base = region.Remote()
	}
	return r.Append(out), nil
}

func (v *service) carryOut(from *peer, req *request, out []byte) result {
	t := req.coll.Tree
	switch req.kind {
	case wire.KindInsert, wire.KindInsertMany, wire.KindUpdate:
		if err := v.s.CheckMemory(); err != nil {
			return result{err: err}
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
			return later(v.newScan(from, req, rest), nil)
		}
		if len(v.items) > v.s.opts.MaxResults {
			return result{err: v.s.tooLarge()}
		}
		for _, it := range v.items {
			out = wire.AppendItem(out, it)
		}
	case wire.KindCount:
		n, rest := t.CountSome(req.rect, soonNodes)
		if rest != nil {
			return later(v.newScan(from, req, rest), nil)
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(n))
	case wire.KindNearest:
		var rest *rstar.Browse
		v.near, rest = t.NearestSome(v.near[:0], req.rect.MinX, req.rect.MinY, int(req.limit), soonNodes)
		if rest != nil {
			return later(v.newScan(from, req, newNearestScan(rest, v.near, req)), nil)
		}
		for _, n := range v.near {
			if n.Dist > req.within {
				break
			}
			out = wire.AppendItem(out, n.Item)
		}
	case wire.KindInsert, wire.KindDelete, wire.KindUpdate, wire.KindInsertMany:
		if err := v.s.mayWriteBoxes(req); err != nil {
			return result{err: err}
		}
		if req.coll.Boxes != nil {
			return later(v.writeKept(from, req), nil)
		}
		if v.name.Again { // Boxes in memory alone have no names.
			return result{err: fmt.Errorf("%w: a write to %q again, which is in memory alone", model.ErrNotPermitted, req.coll.Name)}
		}
		return v.write(from, req, out)
	case wire.KindCheck:
		coll := req.coll
		return later(v.newWork(from, func(*task) ([]byte, error) {
			err := v.s.checks.run(coll.Tree)
			if gone := coll.Gone(); gone != nil {
				err = gone
			}
			return nil, err
		}), nil)
	case wire.KindSearchMany:
		n, rest := v.batch.search(t, req.rects)
		switch {
		case n > 0 && rest != nil:
			rest.Close() // The client will repeat that search alone.
		case n == 0:
			return later(v.newScan(from, req, rest), nil)
		}
		out = v.batch.appendAnswer(out, len(req.rects), n)
	}
	return result{out: out}
}
