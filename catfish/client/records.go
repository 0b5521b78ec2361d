package client

import (
	"context"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/wire"
)

// Records reads and changes a collection of records: values by key. All methods
// are safe for concurrent use; they use the connection of the Client that returned
// the Records.
//
// A Get returns the state of its key at a moment of the call; it sees every write
// that was acknowledged before it began, whichever path it takes.
type Records struct{ c *Client }

// Records returns a Records for a collection, over the same connection. Its first
// operation shows whether the collection exists, and is one of records (ErrKind).
func (c *Client) Records(name string) (*Records, error) {
	other, err := c.Collection(name)
	if err != nil {
		return nil, err
	}
	return &Records{other}, nil
}

// Get returns the record of a key, whose value is appended to dst. ErrNotFound:
// there is none. The Record's Key is the caller's. ErrTooLarge: a program that embeds
// the server has put a larger value than the server sends. ErrBusy: the server has no
// room for the value now.
//
// The server copies a value of more than 1 MiB whole before it sends it: the value
// is always that of one Put.
func (r *Records) Get(ctx context.Context, key, dst []byte) (model.Record, error) {
	if k := r.several(); k != nil {
		return k.get(ctx, key, dst)
	}
	g := gets.Get().(*getQuery)
	defer g.release()
	g.one.keys[0], g.one.records[0].Value = key, dst
	g.keys, g.records, g.appends = g.one.keys[:], g.one.records[:], len(dst)
	if err := r.c.run(ctx, g); err != nil {
		return model.Record{}, err
	}
	rec := g.one.records[0]
	if rec.Revision == 0 {
		return model.Record{}, fmt.Errorf("%w: %q", kv.ErrNotFound, key)
	}
	rec.Key = key
	return rec, nil
}

// Explain does what Get does, and explains how.
func (r *Records) Explain(ctx context.Context, key []byte) (model.Record, *model.Explanation, error) {
	if k := r.several(); k != nil {
		return k.explain(ctx, key)
	}
	x, done := r.c.conn.explain(r.c.conn.engines[ofRecords].Policy())
	g := gets.Get().(*getQuery)
	defer g.release()
	g.one.keys[0], g.one.records[0].Value = key, nil
	g.keys, g.records, g.appends, g.explain = g.one.keys[:], g.one.records[:], 0, x
	if err := r.c.run(ctx, g); err != nil {
		return model.Record{}, &x.Explanation, err
	}
	rec := g.one.records[0]
	done()
	if rec.Revision != 0 {
		rec.Key, x.Results = key, 1
	}
	return rec, &x.Explanation, nil
}

// GetMany returns the records of keys, in their order; for a key without a record
// Revision is 0. It reuses dst, and the values in it. The records together are no
// snapshot. Up to 256 keys travel in one message, or are read at the same time,
// which is faster than one by one. A value of more than 1 MiB takes a separate
// answer. ErrTooLarge: a value is larger than Get returns; then all fail.
func (r *Records) GetMany(ctx context.Context, keys [][]byte, dst []model.Record) ([]model.Record, error) {
	if k := r.several(); k != nil {
		return k.getMany(ctx, keys, dst)
	}
	return r.c.getMany(ctx, ofRecords, keys, nil, dst)
}

func (c *Client) getMany(ctx context.Context, of kind, keys [][]byte, fields *feature.Selection, dst []model.Record) ([]model.Record, error) {
	for len(dst) < len(keys) {
		dst = append(dst, model.Record{})
	}
	dst = dst[:len(keys)]
	g := gets.Get().(*getQuery)
	g.of, g.fields = of, fields
	defer g.release()
	for n := 0; n < len(keys); n += wire.MaxKeys {
		end := min(n+wire.MaxKeys, len(keys))
		g.keys, g.records, g.appends = keys[n:end], dst[n:end], 0
		if err := c.run(ctx, g); err != nil {
			if len(keys) > wire.MaxKeys {
				err = fmt.Errorf("keys %d to %d of %d: %w", n, end-1, len(keys), err)
			}
			return dst[:0], err
		}
	}
	for i := range dst {
		dst[i].Key = keys[i]
	}
	return dst, nil
}

// CreateRecords adds a collection of records, unless one of that name exists
// (ErrKind: of another kind; ErrCollectionExists: o.Keep is set, and the existing one is
// not kept, or it has another number of shards, or limit). See
// CreateCollection.
func (c *Client) CreateRecords(ctx context.Context, name string, o model.RecordsOptions) error {
	if err := wire.CheckName(name); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	if k := c.conn.cluster; k != nil {
		return k.everywhere(ctx, func(c *Client) error { return c.CreateRecords(ctx, name, o) })
	}
	const kind, what = wire.KindCreateRecords, "create collections of records"
	payload := append(wire.AppendRecordsOptions(nil, o), name...)
	if !o.Keep && o.MaxBytes == 0 {
		_, err := c.manage(ctx, kind, what, string(payload))
		return err
	}
	_, err := c.request(ctx, kind, func(s *session) (*openSlab, []byte, error) {
		if o.Keep && !s.hello.KeepsRecords {
			return nil, nil, s.cannot(what + " that are kept")
		}
		if o.MaxBytes > 0 && !s.hello.LimitsRecords {
			return nil, nil, s.cannot(what + " with a limit")
		}
		return nil, payload, nil
	})
	return err
}

var gets = sync.Pool{New: func() any {
	g := &getQuery{of: ofRecords}
	g.part.work = g.work
	return g
}}
