package catfish

import (
	"encoding/binary"
	"encoding/json"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/rstar"
)

// service carries out requests. Each worker, and each plain-socket connection,
// has its own: the buffers are reused by the next request.
type service struct {
	s         *Server
	transport string // open answers with its keys of slabs
	req       request
	items     []rstar.Item
	out       []byte
	batch     searchBatch
	peer      interface{ Peer() string } // of the request being served

	// For the recording.
	via    querylog.Via
	client uint32         // the client of the request being served
	tap    *recording.Tap // nil: the recorder's shared one
}

// keepBytes is the largest answer buffer that a service keeps between requests,
// so that one scan of everything does not hold memory for ever.
const keepBytes = 1 << 20

// process returns the answer to a request. The bytes are valid until the
// next call. Whatever the payload holds, it does not panic.
func (v *service) process(kind fastmsg.Kind, p []byte) (fastmsg.Kind, []byte) {
	if cap(v.out) > keepBytes {
		v.out, v.items, v.batch.out = nil, nil, nil
	}
	out, done, err := v.answer(kind, p, v.out[:0])
	v.out = out
	if err != nil {
		v.out = appendFailure(v.out[:0], err, done)
		return kindFailure, v.out
	}
	return kindReply, v.out
}

// answer appends the answer to out, which is empty. done is how much of a
// request that failed was carried out nevertheless.
func (v *service) answer(kind fastmsg.Kind, p, out []byte) (_ []byte, done uint64, err error) {
	switch kind {
	case kindOpen:
		out, err = v.open(string(p), out)
		return out, 0, err
	case kindStats:
		b, err := json.Marshal(v.s.Stats())
		return append(out, b...), 0, err
	case kindCreate, kindDrop:
		out, err = v.manage(kind == kindCreate, string(p), out)
		return out, 0, err
	}
	req := &v.req
	if err := v.s.decode(kind, p, req); err != nil {
		return out, 0, err
	}
	out, done, err = v.carryOutUnlessGone(req, out)
	v.record(req, out, done, err)
	return out, done, err
}

func (v *service) open(name string, out []byte) ([]byte, error) {
	c, err := v.s.colls.byName(name)
	if err != nil {
		return out, err
	}
	if err := c.ready(); err != nil {
		return out, err
	}
	r := openReply{coll: c.num, nodeBytes: uint32(c.tree.NodeBytes()), slabBytes: uint64(len(c.tree.Memory())), bootID: v.s.bootID}
	if g := c.regions[v.transport]; g != nil {
		r.base = g.Remote()
	}
	return r.append(out), nil
}

func (v *service) carryOut(req *request, out []byte) (_ []byte, done uint64, err error) {
	t := req.coll.tree
	switch req.kind {
	case kindSearch:
		v.items = t.SearchAppend(v.items[:0], req.rect, int(min(req.limit, 1<<31-1)))
		for _, it := range v.items {
			out = appendItem(out, it)
		}
	case kindCount:
		out = binary.LittleEndian.AppendUint64(out, uint64(t.Count(req.rect)))
	case kindNearest:
		left := req.limit
		if left == 0 {
			return out, 0, nil
		}
		t.Nearest(req.rect.MinX, req.rect.MinY, func(r rstar.Rect, id uint64, dist float64) bool {
			if dist > req.within {
				return false
			}
			out = appendItem(out, rstar.Item{Rect: r, ID: id})
			left--
			return left > 0
		})
	case kindInsert:
		return out, 0, t.Insert(req.rect, req.id)
	case kindDelete:
		ok, err := t.Delete(req.rect, req.id)
		return appendBool(out, ok), 0, err
	case kindUpdate:
		ok, err := t.Update(req.rect, req.to, req.id)
		return appendBool(out, ok), 0, err
	case kindInsertMany:
		for p := req.items; len(p) > 0; p = p[itemBytes:] {
			it := getItem(p)
			if err := t.Insert(it.Rect, it.ID); err != nil {
				return out, done, err
			}
			done++
		}
		return binary.LittleEndian.AppendUint64(out, done), done, nil
	case kindCheck:
		return out, 0, t.Check()
	case kindSearchMany:
		out = v.batch.appendAnswer(out, len(req.rects), v.batch.run(t, req.rects))
	}
	return out, 0, nil
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
