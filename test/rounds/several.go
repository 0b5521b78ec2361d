//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/history"
	"github.com/catfish-index/catfish/internal/kv"
)

// Clients of several groups
//
// Boxes and HTTP are not on several groups. So each thing that is inserted once is a feature or a
// record in place of a box, and records are read and written, too: they are the keys from Job.Keys on.

// Collections of several groups: of features that are inserted once, of records that are written
// again and again, and of records that are inserted once.
const (
	onceName        = "once"
	recordsName     = "records"
	onceRecordsName = "once-records"
)

// standingFeatures are there before a round begins, so that slots are not empty.
const standingFeatures = 500

func (u *users) createSeveral(ctx context.Context) error {
	c := u.clients[pathWrite]
	for _, create := range []func() error{
		func() error { return c.CreateFeatures(ctx, onceName, catfish.FeaturesOptions{}) },
		func() error { return c.CreateRecords(ctx, recordsName, catfish.RecordsOptions{Keep: true}) },
		func() error { return c.CreateRecords(ctx, onceRecordsName, catfish.RecordsOptions{Keep: true}) },
	} {
		if err := create(); err != nil && !errors.Is(err, catfish.ErrCollectionExists) {
			return err
		}
	}
	return nil
}

// fill inserts what is there before a round begins.
func (u *users) fill(ctx context.Context) error {
	once, err := u.clients[pathWrite].Features(onceName)
	if err != nil {
		return err
	}
	var all []catfish.Feature
	for range standingFeatures {
		n := u.number()
		all = append(all, value(strconv.FormatUint(n, 10), n))
	}
	if _, err := once.PutMany(ctx, all); err != nil {
		return err
	}
	for _, f := range all {
		n, err := numberOf(f.Properties)
		if err != nil {
			return err
		}
		u.out <- Said{Box: &Box{ID: n, End: clock()}}
	}
	return nil
}

func (u *users) records(path, name string) *catfish.Records {
	r, _ := u.clients[path].Records(name) // The name is a good one.
	return r
}

// writeRecord stores or deletes a key that is a record.
func (u *users) writeRecord(ctx context.Context, o *Op) (err error) {
	r, id := u.records(pathWrite, recordsName), []byte(keyID(o.Key-u.job.Keys))
	if o.Remove {
		return r.Delete(ctx, id, catfish.Condition{})
	}
	o.Revision, err = r.Put(ctx, catfish.Record{Key: id, Value: strconv.AppendUint(nil, o.Value, 10)}, catfish.Condition{IfAbsent: o.IfAbsent})
	return err
}

// readRecord reads a key that is a record; 0: there is none.
func (u *users) readRecord(ctx context.Context, path string, key int) (uint64, error) {
	rec, err := u.records(path, recordsName).Get(ctx, []byte(keyID(key-u.job.Keys)), nil)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return strconv.ParseUint(string(rec.Value), 10, 64)
}

// insertOnce inserts a feature or a record of its own.
func (u *users) insertOnce(ctx context.Context, c *caller) {
	b := Box{ID: u.number()}
	id := strconv.FormatUint(b.ID, 10)
	var err error
	if c.r.IntN(2) == 0 {
		var once *catfish.Features
		if once, err = u.clients[pathWrite].Features(onceName); err == nil {
			_, _, err = once.Put(ctx, value(id, b.ID), catfish.Condition{IfAbsent: true})
		}
	} else {
		_, err = u.records(pathWrite, onceRecordsName).Put(ctx, catfish.Record{Key: []byte(id), Value: []byte(id)}, catfish.Condition{IfAbsent: true})
	}
	b.End = clock()
	switch {
	case err == nil:
	case errors.Is(err, catfish.ErrExists):
		u.out <- Said{Broken: fmt.Sprintf("%s, which is inserted once, exists: %v", id, err)}
	case catfish.RetrySafe(err):
		u.out <- Said{Failure: &Failure{pathWrite, b.End, err.Error()}}
		return
	default:
		b.Outcome = history.Unknown
	}
	u.out <- Said{Box: &b}
}

// onces are the ids of all that was inserted once.
func (u *users) onces(ctx context.Context) (ids []uint64, err error) {
	add := func(id string) error {
		n, err := strconv.ParseUint(id, 10, 64)
		ids = append(ids, n)
		return err
	}
	once, err := u.clients[pathWrite].Features(onceName)
	if err != nil {
		return nil, err
	}
	for f, err := range once.Search(ctx, catfish.FeatureQuery{}) {
		if err == nil {
			err = add(f.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	for rec, err := range u.records(pathWrite, onceRecordsName).Scan(ctx) {
		if err == nil {
			err = add(string(rec.Key))
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}
