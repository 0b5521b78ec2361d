package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/cuckoo"
)

// clusterRecords is a collection of records that several groups have.
type clusterRecords struct {
	k    *cluster
	name string
}

// several is the collection if several groups have it, nil: there is one group.
func (r *Records) several() *clusterRecords {
	if k := r.c.conn.cluster; k != nil {
		return &clusterRecords{k, r.c.collection}
	}
	return nil
}

// at is the part of the collection that a group has.
func (r *clusterRecords) at(c *connection) *Records {
	return &Records{&Client{conn: c, collection: r.name}}
}

func (r *clusterRecords) get(ctx context.Context, key, dst []byte) (rec model.Record, err error) {
	err = r.k.readID(ctx, key, func(c *connection) (err error) {
		rec, err = r.at(c).Get(ctx, key, dst)
		return err
	})
	return rec, err
}

func (r *clusterRecords) explain(ctx context.Context, key []byte) (rec model.Record, x *model.Explanation, err error) {
	err = r.k.readID(ctx, key, func(c *connection) (err error) {
		rec, x, err = r.at(c).Explain(ctx, key)
		return err
	})
	return rec, x, err
}

func (r *clusterRecords) shard(ctx context.Context, key []byte) (at *model.ShardAt, err error) {
	err = r.k.readID(ctx, key, func(c *connection) (err error) {
		at, err = r.at(c).Shard(ctx, key)
		return err
	})
	return at, err
}

func (r *clusterRecords) put(ctx context.Context, rec model.Record, cond model.Condition) (revision uint64, err error) {
	err = r.k.ofID(ctx, rec.Key, func(c *connection) (err error) {
		revision, err = r.at(c).Put(ctx, rec, cond)
		return err
	})
	return revision, err
}

func (r *clusterRecords) append(ctx context.Context, rec model.Record, cond model.Condition) (revision uint64, err error) {
	err = r.k.ofID(ctx, rec.Key, func(c *connection) (err error) {
		revision, err = r.at(c).Append(ctx, rec, cond)
		return err
	})
	return revision, err
}

func (r *clusterRecords) waitFor(ctx context.Context, key, value []byte) (rec model.Record, err error) {
	err = r.k.readID(ctx, key, func(c *connection) (err error) {
		rec, err = r.at(c).WaitFor(ctx, key, value)
		return err
	})
	return rec, err
}

func (r *clusterRecords) delete(ctx context.Context, key []byte, cond model.Condition) error {
	return r.k.ofID(ctx, key, func(c *connection) error { return r.at(c).Delete(ctx, key, cond) })
}

// getMany asks each group for its keys, at the same time.
func (r *clusterRecords) getMany(ctx context.Context, keys [][]byte, dst []model.Record) ([]model.Record, error) {
	for len(dst) < len(keys) {
		dst = append(dst, model.Record{})
	}
	dst = dst[:len(keys)]
	err := r.k.byMap(ctx, func(v *view) error {
		parts := v.divide(len(keys), func(n int) []byte { return keys[n] })
		return r.k.askAll(ctx, v, parts.groups, true, func(ctx context.Context, n int, c *connection) error {
			at := parts.at[n]
			of, records := make([][]byte, len(at)), make([]model.Record, len(at))
			for j, i := range at {
				of[j], records[j] = keys[i], dst[i]
			}
			records, err := r.at(c).GetMany(ctx, of, records)
			if err != nil {
				return err
			}
			for j, i := range at {
				dst[i] = records[j]
			}
			return nil
		})
	})
	if err != nil {
		return dst[:0], err
	}
	return dst, nil
}

// scan scans the groups in order. If the map changes, a record may have moved from a group that
// comes later to one that was scanned: the scan is lost.
func (r *clusterRecords) scan(ctx context.Context, yield func(model.Record, error) bool) {
	begun := false
	lost := func(v *view, err error) error {
		if begun && (moved(err) || err == nil && !r.k.stands(v)) {
			return fmt.Errorf("%w: slots have moved between groups", cuckoo.ErrScanLost)
		}
		return err
	}
	ended := errors.New("ended")
	err := r.k.byMap(ctx, func(v *view) error {
		for _, g := range v.having() {
			c, err := r.k.conn(ctx, v, g)
			if err != nil {
				return err
			}
			for rec, err := range r.at(c).Scan(ctx) {
				single := errors.Is(err, model.ErrTooLarge) // of this record alone
				if err = lost(v, err); err != nil && !single {
					return groupError(v.names[g], err)
				}
				begun = true
				if !yield(rec, err) {
					return ended
				}
			}
			if err := lost(v, nil); err != nil {
				return err
			}
			if !r.k.stands(v) {
				return errOldMap
			}
			begun = true
		}
		return nil
	})
	if err != nil && !errors.Is(err, ended) {
		yield(model.Record{}, err)
	}
}
