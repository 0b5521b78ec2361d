package catfish

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/rstar"
)

// service carries out requests. Each worker (and each plain-socket
// connection) has one of its own: its buffers are reused by the next
// request.
type service struct {
	s         *Server
	transport string // whose slab keys open answers with
	items     []rstar.Item
	out       []byte
	many      together

	// Of the recording only.
	via    querylog.Via
	client uint32         // whose request it is
	tap    *recording.Tap // a worker's; else nil
}

// keepBytes is the answer buffer that a service keeps between requests;
// one full scan shall not hold memory for ever.
const keepBytes = 1 << 20

// process returns the answer to a request. The bytes are valid until the
// next call. Whatever the payload holds, it does not panic.
func (v *service) process(kind fastmsg.Kind, p []byte) (fastmsg.Kind, []byte) {
	if cap(v.out) > keepBytes {
		v.out, v.items, v.many.out = nil, nil, nil
	}
	out, done, err := v.do(kind, p, v.out[:0])
	v.out = out
	if err != nil {
		v.out = appendFailure(v.out[:0], err, done)
		return kindFailure, v.out
	}
	return kindReply, v.out
}

func (v *service) do(kind fastmsg.Kind, p, out []byte) (_ []byte, done uint64, err error) {
	switch kind {
	case kindOpen:
		c, err := v.s.colls.byName(string(p))
		if err != nil {
			return out, 0, err
		}
		r := openReply{coll: c.num, nodeBytes: uint32(c.tree.NodeBytes()), slabBytes: uint64(len(c.tree.Memory())), bootID: v.s.bootID}
		if g := c.regions[v.transport]; g != nil {
			r.base = g.Remote()
		}
		return r.append(out), 0, nil
	case kindStats:
		b, err := json.Marshal(v.s.Stats())
		return append(out, b...), 0, err
	}
	if len(p) < headBytes {
		return out, 0, fmt.Errorf("%w: request kind %d of %d bytes", ErrProtocol, kind, len(p))
	}
	c, err := v.s.colls.byNumber(binary.LittleEndian.Uint32(p))
	if err != nil {
		return out, 0, err
	}
	arg := binary.LittleEndian.Uint32(p[4:])
	before := len(out)
	out, done, err = v.onTree(c.tree, kind, arg, p[headBytes:], out)
	if v.s.rec != nil {
		v.record(c.num, kind, arg, p[headBytes:], out[before:], done, err)
	}
	return out, done, err
}

// bodyBytes is the exact size of each request's body; insertMany and
// searchMany are checked against their counts.
func bodyBytes(kind fastmsg.Kind, arg uint32) int {
	switch kind {
	case kindSearch, kindCount:
		return rectBytes
	case kindNearest:
		return 16
	case kindInsert, kindDelete:
		return itemBytes
	case kindUpdate:
		return 2*rectBytes + 8
	case kindInsertMany:
		if arg <= maxBatch {
			return int(arg) * itemBytes
		}
		return -1
	case kindCheck:
		return 0
	case kindSearchMany:
		if arg > 0 && arg <= maxMany {
			return int(arg) * rectBytes
		}
	}
	return -1
}

func (v *service) onTree(t *rstar.Tree, kind fastmsg.Kind, arg uint32, p, out []byte) (_ []byte, done uint64, err error) {
	if want := bodyBytes(kind, arg); len(p) != want {
		return out, 0, fmt.Errorf("%w: request kind %d, argument %d, %d bytes of body, want %d",
			ErrProtocol, kind, arg, len(p), want)
	}
	switch kind {
	case kindSearch, kindCount:
		q := getRect(p)
		if err := q.Validate(); err != nil {
			return out, 0, err
		}
		if kind == kindCount {
			return binary.LittleEndian.AppendUint64(out, uint64(t.Count(q))), 0, nil
		}
		v.items = t.SearchAppend(v.items[:0], q, int(min(arg, 1<<31-1)))
		for _, it := range v.items {
			out = appendItem(out, it)
		}
	case kindNearest:
		x, y := f64(p), f64(p[8:])
		if err := (rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}).Validate(); err != nil {
			return out, 0, err
		}
		left := arg
		if left == 0 {
			return out, 0, nil
		}
		t.Nearest(x, y, func(r rstar.Rect, id uint64, _ float64) bool {
			out = appendItem(out, rstar.Item{Rect: r, ID: id})
			left--
			return left > 0
		})
	case kindInsert:
		it := getItem(p)
		return out, 0, t.Insert(it.Rect, it.ID)
	case kindDelete:
		it := getItem(p)
		ok, err := t.Delete(it.Rect, it.ID)
		return appendBool(out, ok), 0, err
	case kindUpdate:
		ok, err := t.Update(getRect(p), getRect(p[rectBytes:]), binary.LittleEndian.Uint64(p[2*rectBytes:]))
		return appendBool(out, ok), 0, err
	case kindInsertMany:
		for ; len(p) > 0; p = p[itemBytes:] {
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
		out, err := v.many.answer(t, p, out)
		return out, 0, err
	}
	return out, 0, nil
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
