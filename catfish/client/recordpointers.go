package client

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	table "github.com/catfish-index/catfish/internal/cuckoo/remote"
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
)

// recordsAt is where the records of a collection are, as far as a session knows.
type recordsAt struct {
	m        records.Map
	pointers *records.Pointers // references that clients keep together; nil: none
	leave    func()            // stops sharing pointers
	clock    time.Duration     // the server's clock minus monotonic
}

// maxRecordRead is the block size of read channels for records: any record of up to
// this size takes one read.
const maxRecordRead = record.MaxBlockBytes

// recordReader is a reader of records.
type recordReader struct {
	*records.Reader
	*offload.Channel
	clock time.Duration // recordsAt.clock of the query that uses the reader
}

// openRecordReader opens a read channel for records.
func (c *connection) openRecordReader(ctx context.Context, s *session) (reader, error) {
	ch, err := c.openReadChannel(ctx, s, maxRecordRead)
	if err != nil {
		return nil, err
	}
	r := &recordReader{Channel: ch}
	r.Reader = records.NewReader(ch, wire.Monotonic, func() time.Duration { return r.clock + wire.Monotonic() })
	return r, nil
}

// openedRecords takes the answer to an open that was sent at time asked, of a
// collection of records, or with f of features.
func (s *session) openedRecords(name string, r *wire.OpenRecords, f *wire.OpenFeatures, asked time.Time) (*openSlab, error) {
	if r.BootID != s.hello.BootID {
		return nil, fmt.Errorf("%w: boot id %#x, said hello with %#x", remote.ErrServerChanged, r.BootID, s.hello.BootID)
	}
	// The server read its clock between asked and now: clock is wrong by half a round
	// trip at most, which moves a record's expiry here by the same time.
	clock := r.Now - (asked.Sub(wire.ClockBase)+wire.Monotonic())/2
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.slabs[name]
	switch {
	case old == nil:
	case !old.stale():
		return old, nil // Another call has opened it meanwhile.
	case old.coll != r.Coll:
		old.release() // The name now means another collection.
		delete(s.slabs, name)
		old = nil
	}
	p := s.newShard(r.Shard)
	if old != nil {
		p = old.part // It has the other shards.
	}
	at := &recordsAt{
		m: records.Map{
			Table: &table.Table{Base: r.Index, Bytes: r.IndexBytes, BootID: r.Space.Boot},
			Seed:  r.Seed, Space: r.Space, Records: r.Records, Block: maxRecordRead,
		},
		clock: clock, leave: func() {},
	}
	switch {
	case old != nil && old.records != nil:
		at.pointers, at.leave = old.records.pointers, old.records.leave
	case s.canOffload() && !s.ended && s.cacheKey.Bytes > 0:
		at.pointers, at.leave = s.shared.pointers.Share(records.PointersKey{
			Addr: s.cacheKey.Addr, BootID: s.hello.BootID, Collection: r.Coll,
			Bytes: max(s.cacheKey.Bytes/int64(max(r.Shard.Of, 1)), 1), // for a shard: its share
			File:  s.pointers,
		})
		s.startRenewals()
	}
	o := &openSlab{name: name, coll: r.Coll, records: at, part: p}
	leaveCache := s.openedTree(o, f, old)
	if f != nil && s.canOffload() {
		o.until = asked.Sub(wire.ClockBase) + cmp.Or(s.nameLease, wire.NameLease)
	}
	again := time.AfterFunc(clockLasts, func() { o.outgrown.Store(true) })
	o.release = func() {
		again.Stop()
		at.leave()
		leaveCache()
	}
	s.slabs[name] = o
	return o, nil
}

// clockLasts is how long a client relies on its difference from the server's clock:
// two clocks diverge by up to 100 us in a second, so by 60 ms in this time.
const clockLasts = 10 * time.Minute

// renewEvery is how often a session looks for leases to renew: often against the
// shortest, of a second.
const renewEvery = 100 * time.Millisecond

// startRenewals starts renew once, for a session that keeps references.
func (s *session) startRenewals() { s.renewals.Do(func() { s.background.Go(s.renew) }) }

// renew renews the leases of popular records in the session's collections, until
// the session ends.
func (s *session) renew() {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	var due []records.Renewal
	for {
		select {
		case <-s.caller.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		ended := s.ended
		var all []*openSlab
		for _, o := range s.slabs {
			if o.records != nil && o.records.pointers != nil {
				all = append(all, o)
			}
		}
		s.mu.Unlock()
		if ended {
			return
		}
		for _, o := range all {
			// Ticks of one session may be a little closer together than those of others.
			if !o.records.pointers.Turn(wire.Monotonic(), renewEvery*3/4) {
				continue
			}
			for more := true; more; {
				due = o.records.pointers.Due(wire.Monotonic(), due[:0], wire.MaxRenewals)
				more = len(due) > 0 && s.renewLeases(o, due) == nil && len(due) == wire.MaxRenewals
			}
		}
	}
}

// renewLeases asks for leases. After an error the leases end, and lookups find the
// records again.
func (s *session) renewLeases(o *openSlab, due []records.Renewal) error {
	b := wire.AppendHead(nil, o.coll, uint32(len(due)))
	for _, d := range due {
		b = binary.LittleEndian.AppendUint64(b, uint64(d.Ref))
	}
	ctx, cancel := context.WithTimeout(context.Background(), rdma.PeerTimeout)
	defer cancel()
	sent := wire.Monotonic()
	ans, err := s.callOf(ctx, o, wire.KindRenew, b, nil)
	if err != nil {
		return err
	}
	if len(ans) != 2*len(due) {
		return fmt.Errorf("%w: %d renewals answered with %d bytes", model.ErrProtocol, len(due), len(ans))
	}
	for i, d := range due {
		lease := time.Duration(binary.LittleEndian.Uint16(ans[2*i:])) * time.Second
		if lease == 0 {
			o.records.pointers.Forget(d.Hash, d.Ref)
			continue
		}
		o.records.pointers.Renewed(d, wire.Monotonic(), sent+lease)
	}
	return nil
}
