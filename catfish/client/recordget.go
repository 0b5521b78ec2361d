package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// getQuery is a Get or GetMany of up to maxKeys keys, by either path. Pooled.
//
// By offloading, a key whose reference this process keeps takes one read; other
// keys take a lookup, or a message that brings the reference (recordlease.go). Records that cannot be read so, because they are too long or
// change too quickly, are asked for by fast messaging afterwards.
type getQuery struct {
	read
	of      kind // of the collection
	keys    [][]byte
	fields  *feature.Selection // of features; nil: all
	records []model.Record     // the caller's: Value is where to append to
	appends int                // len of records[0].Value that is kept: Get's dst

	hashes  []uint64
	kept    []records.Kept // from the pointer cache
	answers []records.Answer
	left    []int         // keys that have no answer yet
	asks    bool          // messages ask for leases
	sent    time.Duration // when the present message was sent

	sharded shardedGet // of a divided collection
	part    shardGet   // if this is the Get of one shard

	one struct {
		keys    [1][]byte
		records [1]model.Record
	}
}

func (g *getQuery) release() {
	g.one.keys[0], g.one.records[0] = nil, model.Record{}
	clear(g.answers[:min(len(g.keys), len(g.answers))])
	g.read.release()
	g.of, g.keys, g.records, g.fields = ofRecords, nil, nil, nil
	gets.Put(g)
}

// again forgets the answers so far.
func (g *getQuery) again() {
	for i := range g.records {
		g.set(i, nil, wire.Found{})
	}
	g.leaveAll()
}

// leaveAll says that no key has an answer.
func (g *getQuery) leaveAll() {
	g.left = g.left[:0]
	for i := range g.keys {
		g.left = append(g.left, i)
	}
}

// set copies an answer into the caller's record i.
func (g *getQuery) set(i int, value []byte, f wire.Found) {
	r := &g.records[i]
	keep := 0
	if i == 0 {
		keep = g.appends
	}
	*r = model.Record{Value: append(r.Value[:keep], value...), Revision: f.Revision, Flags: f.Flags}
	r.Expires = wire.Expires(f.Expiry)
}

func (g *getQuery) once(ctx context.Context, c *Client, s *session) error {
	if err := g.openAs(ctx, c, s, g.of, wire.KindGet); err != nil {
		return err
	}
	for _, k := range g.keys {
		if err := checkKey(k); err != nil {
			return err
		}
	}
	if g.open.part != nil {
		return g.byShard(ctx, c, s)
	}
	return g.onceOpen(ctx, c, s)
}

// onceOpen is once for an open collection: the one that has the keys.
func (g *getQuery) onceOpen(ctx context.Context, c *Client, s *session) error {
	g.leaveAll()
	if err := g.asksLeases(c, s); err != nil {
		return err
	}
	return c.byPath(ctx, s, g)
}

func (g *getQuery) size() (searches, results int) { return len(g.keys), len(g.keys) }

// Estimate knows nothing: what a kept reference saves shows in the cost of Gets.
func (g *getQuery) Estimate(*Estimate) bool { return false }

// offload reads the records that it can, and leaves the other keys in g.left.
func (g *getQuery) offload(ctx context.Context, c *Client, s *session) (left int, err error) {
	at := g.open.records
	kept := g.lookUpKept(at)
	if g.asks && !anyKept(kept) {
		return len(g.left), nil
	}
	u, err := s.recordChannels.get(ctx)
	if err != nil {
		return len(g.left), err
	}
	defer s.recordChannels.put(u)
	g.explain.step("get a read channel")
	r := u.(*recordReader)
	r.clock = at.clock
	for len(g.answers) < len(g.keys) {
		g.answers = append(g.answers, records.Answer{})
	}
	answers := g.answers[:len(g.keys)]
	if g.asks {
		err = r.GetOnlyKept(ctx, &at.m, g.keys, kept, answers)
	} else {
		err = r.GetKept(ctx, &at.m, g.keys, kept, answers)
	}
	st := r.Stats()
	g.count(c, &st)
	if err == nil {
		g.take(c, at, answers)
	}
	return len(g.left), err
}

// lookUpKept looks up the keys in the pointer cache, nil: there is none.
func (g *getQuery) lookUpKept(at *recordsAt) []records.Kept {
	g.kept, g.hashes = g.kept[:0], g.hashes[:0]
	if at.pointers == nil {
		return nil
	}
	now := wire.Monotonic()
	for _, k := range g.keys {
		h := cuckoo.Hash(at.m.Seed, k)
		var p records.Kept
		p.Ref, p.Until, _ = at.pointers.Get(h, now)
		g.kept, g.hashes = append(g.kept, p), append(g.hashes, h)
	}
	return g.kept
}

// youngRecord: the reference of a younger record is not kept. Without a lease it is
// valid for a second, and a key that changed in the last second will likely change
// in the next; an invalid reference costs as much as a valid one saves.
const youngRecord = record.DefaultGrace

// take copies answers into the caller's records, and keeps their references.
func (g *getQuery) take(c *Client, at *recordsAt, answers []records.Answer) {
	g.left = g.left[:0]
	hits, invalid := uint64(0), uint64(0)
	now := wire.Monotonic()
	for i := range answers {
		a := &answers[i]
		switch {
		case a.Err == nil:
			v := &a.View
			g.set(i, v.Value, wire.Found{Revision: v.Revision, Expiry: time.Duration(v.Expiry), Flags: v.Flags})
		case errors.Is(a.Err, kv.ErrNotFound):
			g.set(i, nil, wire.Found{})
		default:
			g.left = append(g.left, i)
		}
		if at.pointers == nil {
			continue
		}
		if a.Invalid {
			invalid++
			at.pointers.Forget(g.hashes[i], g.kept[i].Ref)
		}
		switch {
		case a.Kept:
			hits++
		case a.Err == nil && (a.View.Age(now+at.clock) > youngRecord || c.conn.opts.hooks.KeepYoung):
			at.pointers.Put(g.hashes[i], a.Ref, now, a.Until)
		}
	}
	if at.pointers != nil {
		c.conn.counters.addPointers(hits, invalid)
		g.explain.pointers(hits, invalid)
	}
}

// message asks for the keys in g.left.
func (g *getQuery) message(ctx context.Context, c *Client, s *session) (asked int, err error) {
	asked = len(g.left)
	for len(g.left) > 0 && err == nil {
		err = g.messageSome(ctx, c, s)
	}
	return asked, err
}

// messageSome asks for the keys in g.left, as many as fit, and leaves the keys in it
// that are not answered.
func (g *getQuery) messageSome(ctx context.Context, c *Client, s *session) (err error) {
	most := s.mostPayload()
	g.req = wire.AppendHead(g.req[:0], g.open.coll, 0)
	kind, n := wire.KindGet, 0
	if g.fields != nil && s.knows(wire.KindPick) {
		kind = wire.KindPick
		if g.req, err = wire.AppendSelection(g.req, g.fields); err != nil {
			return err
		}
	}
	for _, i := range g.left {
		if n > 0 && len(g.req)+2+len(g.keys[i]) > most {
			break
		}
		g.req = wire.AppendKey(g.req, g.keys[i])
		n++
	}
	arg := uint32(n)
	if g.asks {
		arg |= wire.WithLeases
	}
	wire.PutArgument(g.req, arg)
	g.sent = wire.Monotonic()
	if err := g.ask(ctx, c, s, kind); err != nil {
		return err
	}
	return g.takeAnswer(g.ans, n)
}

// takeAnswer decodes the answer to a get of the first n keys of g.left.
func (g *getQuery) takeAnswer(b []byte, n int) error {
	left, all := g.left[:0], len(b)
	for j, i := range g.left {
		if j >= n {
			left = append(left, i)
			continue
		}
		if len(b) < wire.FoundBytes {
			return fmt.Errorf("%w: get of %d keys answered %d bytes", model.ErrProtocol, n, all)
		}
		f := wire.GetFound(b)
		if b = b[wire.FoundBytes:]; f.ValueBytes == wire.Unanswered {
			if j == 0 {
				return fmt.Errorf("%w: none of %d keys is answered", model.ErrProtocol, n)
			}
			left = append(left, i)
			continue
		}
		if f.Lease > 0 {
			var err error
			if b, err = g.keepLease(i, f.Lease, b); err != nil {
				return err
			}
		}
		if uint64(f.ValueBytes) > uint64(len(b)) {
			return fmt.Errorf("%w: value of %d bytes, %d are left of the answer", model.ErrProtocol, f.ValueBytes, len(b))
		}
		g.set(i, b[:f.ValueBytes], f)
		b = b[f.ValueBytes:]
	}
	if len(b) > 0 {
		return fmt.Errorf("%w: get of %d keys answered with %d bytes too many", model.ErrProtocol, n, len(b))
	}
	g.left = left
	return nil
}

// checkKey refuses a key that no server would take.
func checkKey(k []byte) error {
	if len(k) == 0 || len(k) > record.MaxKeyBytes {
		return fmt.Errorf("%w: key of %d bytes, want 1 to %d", model.ErrOption, len(k), record.MaxKeyBytes)
	}
	return nil
}
