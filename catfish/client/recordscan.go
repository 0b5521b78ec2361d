package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/wire"
)

// Scan yields all records, in no order, shard by shard. A record whose key has one during
// the whole scan comes at least once, as it was at a moment of the scan; a record that
// moves meanwhile may come twice. A record whose value is too long to be answered comes
// without it, and with ErrTooLarge; the loop may continue. Any other error ends the loop.
// cuckoo.ErrScanLost: too much was written between two steps of a slow loop, or
// the name now means another collection, or records have moved to another group of servers.
// Begin again.
func (r *Records) Scan(ctx context.Context) iter.Seq2[model.Record, error] {
	return func(yield func(model.Record, error) bool) {
		if k := r.several(); k != nil {
			k.scan(ctx, yield)
			return
		}
		for q := (scanQuery{}); !q.done; {
			if err := r.c.run(ctx, &q); err != nil {
				yield(model.Record{}, err)
				return
			}
			for _, rec := range q.part {
				var err error
				if rec.Value == nil { // The value was too long for the scan.
					var whole model.Record
					switch whole, err = r.Get(ctx, rec.Key, nil); {
					case err == nil:
						rec = whole
					case errors.Is(err, kv.ErrNotFound):
						continue // It was deleted since.
					}
				}
				if !yield(rec, err) || err != nil && !errors.Is(err, model.ErrTooLarge) {
					return
				}
			}
		}
	}
}

// scanQuery asks for the next part of a scan.
type scanQuery struct {
	read
	cursor cuckoo.Cursor
	shard  int    // the cursor's shard
	boot   uint64 // boot of the cursor's collection
	begun  bool
	done   bool // all shards were scanned
	part   []model.Record
}

func (q *scanQuery) again() {}

func (q *scanQuery) once(ctx context.Context, c *Client, s *session) error {
	if err := q.openAs(ctx, c, s, ofRecords, wire.KindScan); err != nil {
		return err
	}
	o := q.open
	boot := o.records.m.Space.Boot
	if q.begun && boot != q.boot {
		return fmt.Errorf("%w: %q is another collection since", cuckoo.ErrScanLost, c.collection)
	}
	q.begun, q.boot = true, boot
	shards := o.shards()
	if q.shard >= shards { // another server answered with fewer shards
		return fmt.Errorf("%w: %q has %d shards since", cuckoo.ErrScanLost, c.collection, shards)
	}
	o, err := s.shard(ctx, o, q.shard)
	if err != nil {
		return err
	}
	q.req = wire.AppendCursor(wire.AppendHead(q.req[:0], o.coll, 0), q.cursor)
	ans, err := s.callOf(ctx, o, wire.KindScan, q.req, nil) // The records refer to ans.
	if err != nil {
		return err
	}
	c.conn.counters.addMessage(len(q.req), len(ans))
	if q.part, q.cursor, err = wire.GetScan(ans); err == nil && q.cursor.Done {
		q.shard, q.cursor = q.shard+1, cuckoo.Cursor{}
		q.done = q.shard == shards
	}
	return err
}
