package catfish

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/kv"
)

// Scan is all records, in no order, one shard after the other. One whose key has a record during all of the
// scan is given at least once, as it was at a moment of the scan; one that is
// moved meanwhile perhaps twice. A record whose value is too long to be answered
// comes without it, and with ErrTooLarge; the loop may go on. Any other error ends
// it. cuckoo.ErrScanLost: too much was written between two steps of a slow loop, or
// the collection is another one of that name. Begin again.
func (r *Records) Scan(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for q := (scanQuery{}); !q.done; {
			if err := r.c.run(ctx, &q); err != nil {
				yield(Record{}, err)
				return
			}
			for _, rec := range q.part {
				var err error
				if rec.Value == nil { // It was too long for the scan.
					var whole Record
					switch whole, err = r.Get(ctx, rec.Key, nil); {
					case err == nil:
						rec = whole
					case errors.Is(err, kv.ErrNotFound):
						continue // It is gone since.
					}
				}
				if !yield(rec, err) || err != nil && !errors.Is(err, ErrTooLarge) {
					return
				}
			}
		}
	}
}

// scanQuery asks for the next part of a scan.
type scanQuery struct {
	cursor cuckoo.Cursor
	shard  int    // that the cursor is of
	boot   uint64 // of the collection that the cursor is of
	begun  bool
	done   bool // of all shards
	part   []Record

	open *openSlab
	req  []byte
}

func (q *scanQuery) begin()                  {}
func (q *scanQuery) again()                  {}
func (q *scanQuery) opened() *openSlab       { return q.open }
func (q *scanQuery) explained() *Explanation { return nil }

func (q *scanQuery) once(ctx context.Context, c *Client, s *session) error {
	o, err := s.openChecked(ctx, c.collection, kindScan)
	q.open = o
	if err == nil {
		err = o.isOf(KindRecords)
	}
	if err != nil {
		return err
	}
	boot := o.records.m.Space.Boot
	if q.begun && boot != q.boot {
		return fmt.Errorf("%w: %q is another collection since", cuckoo.ErrScanLost, c.collection)
	}
	q.begun, q.boot = true, boot
	shards := o.shards()
	if q.shard >= shards { // as another server's answer has it
		return fmt.Errorf("%w: %q has %d shards since", cuckoo.ErrScanLost, c.collection, shards)
	}
	if o, err = s.shard(ctx, o, q.shard); err != nil {
		return err
	}
	q.req = appendCursor(appendHead(q.req[:0], o.coll, 0), q.cursor)
	ans, err := s.callOf(ctx, o, kindScan, q.req, nil) // The records are in it.
	if err != nil {
		return err
	}
	c.conn.counters.addMessage(len(q.req), len(ans))
	if q.part, q.cursor, err = getScan(ans); err == nil && q.cursor.Done {
		q.shard, q.cursor = q.shard+1, cuckoo.Cursor{}
		q.done = q.shard == shards
	}
	return err
}
