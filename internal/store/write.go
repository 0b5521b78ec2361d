package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Put stores a feature in place of the one of its id, if there is one, and returns
// its id and revision. It is durable when Put returns, as far as Options.Sync says.
// kv.ErrExists, kv.ErrConflict: the condition does not hold, and nothing was
// changed.
func (c *Collection) Put(ctx context.Context, f Feature, cond kv.Condition) (id string, revision uint64, err error) {
	if f.ID == "" {
		f.ID = query.NewID(c.st.now())
	}
	value, err := f.Encode(c.o.Space)
	if err != nil {
		return "", 0, err
	}
	revision, err = c.wait(ctx, &write{coll: c, kind: disk.Put, id: f.ID, value: value, cond: cond, expiry: query.Expiry(f.Expires)})
	return f.ID, revision, err
}

// PutEncoded is Put of bytes that feature.Append has made, which then belong to
// the collection. done is called when it is durable, perhaps before PutEncoded
// returns, and may not wait.
func (c *Collection) PutEncoded(id string, value []byte, expires int64, cond kv.Condition, done func(revision uint64, err error)) {
	c.st.submit(&write{coll: c, kind: disk.Put, id: id, value: value, cond: cond, expiry: time.Duration(expires), done: done})
}

// Patch changes properties by a JSON merge patch (RFC 7396), and returns the new
// revision. kv.ErrNotFound: there is no such feature.
func (c *Collection) Patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (revision uint64, err error) {
	p, err := parsePatch(patch)
	if err != nil {
		return 0, err
	}
	return c.wait(ctx, c.patch(id, p, cond))
}

// PatchLater is Patch, whose done is called as PutEncoded's is.
func (c *Collection) PatchLater(id string, patch []byte, cond kv.Condition, done func(revision uint64, err error)) {
	c.PatchAs(Name{}, id, patch, cond, done)
}

// PatchAs is PatchLater of a write that may be repeated.
func (c *Collection) PatchAs(as Name, id string, patch []byte, cond kv.Condition, done func(revision uint64, err error)) {
	p, err := parsePatch(patch)
	if err != nil {
		done(0, err)
		return
	}
	w := c.patch(id, p, cond)
	w.as, w.done = as, done
	c.st.submit(w)
}

func (c *Collection) patch(id string, p mergePatch, cond kv.Condition) *write {
	w := &write{coll: c, kind: disk.Put, id: id, cond: cond}
	w.patch = func(old *Found) ([]byte, error) {
		w.expiry = old.Expiry
		properties, err := p.apply(old.View.Properties())
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrFeature, id, err)
		}
		return old.View.AppendReplacing(nil, properties)
	}
	return w
}

// Delete removes a feature. kv.ErrNotFound: there is none.
func (c *Collection) Delete(ctx context.Context, id string, cond kv.Condition) (revision uint64, err error) {
	return c.wait(ctx, &write{coll: c, kind: disk.Delete, id: id, cond: cond})
}

// DeleteLater is Delete, whose done is called as PutEncoded's is.
func (c *Collection) DeleteLater(id string, cond kv.Condition, done func(revision uint64, err error)) {
	c.DeleteAs(Name{}, id, cond, done)
}

// DeleteAs is DeleteLater of a write that may be repeated.
func (c *Collection) DeleteAs(as Name, id string, cond kv.Condition, done func(revision uint64, err error)) {
	c.st.submit(&write{as: as, coll: c, kind: disk.Delete, id: id, cond: cond, done: done})
}

// wait submits a write and waits for it. If the context ends first, the write may or
// may not be carried out.
func (c *Collection) wait(ctx context.Context, w *write) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("store: %q was not written: %w", w.id, err)
	}
	ended := make(chan struct{})
	var revision uint64
	var err error
	w.done = func(r uint64, e error) {
		revision, err = r, e
		close(ended)
	}
	c.st.submit(w)
	select {
	case <-ended:
		if err != nil {
			return 0, err
		}
		return revision, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("store: whether %q was written is unknown: %w", w.id, ctx.Err())
	}
}

// deleteAtOnce is how many features DeleteWhere and expiry delete together.
const deleteAtOnce = 256

// deletePiece is how many bytes of ids DeleteWhere holds at a time: 50,000 ids of 40
// bytes. Each piece is a search of its own, which takes up to half of the time that
// deleting its features takes (2,000,000 features that are looked at: 0.4 s).
const deletePiece = 4 << 20

// DeleteWhere deletes the features that a query wants, and returns how many. Each is
// deleted if it is as it was found; one that is written meanwhile is looked at again.
// Many are deleted piece by piece, and features that are put between two pieces are
// deleted, too. After an error, those that were counted stay deleted.
//
// fault.ErrMoved: the store's slots changed meanwhile, and another group may have some of
// the features now.
func (c *Collection) DeleteWhere(ctx context.Context, q Query) (deleted int, err error) {
	reading, err := c.st.readAll()
	if err != nil {
		return 0, err
	}
	for again := true; again && err == nil; {
		var n int
		n, again, err = c.deleteFound(ctx, q)
		if deleted += n; q.Limit > 0 {
			if q.Limit -= n; q.Limit <= 0 {
				break
			}
		}
	}
	return deleted, reading.end(err)
}

func (c *Collection) deleteFound(ctx context.Context, q Query) (deleted int, again bool, err error) {
	type found struct {
		id       string
		revision uint64
	}
	var all []found
	k, searching := kept{hold: q.Hold}, int64(0)
	defer k.end()
	q.Hold = func(bytes int64) error {
		more := bytes - searching
		searching = bytes
		return k.keep(more)
	}
	ids := int64(0)
	if err = c.Search(ctx, q, func(f *Found) (bool, error) {
		all = append(all, found{string(f.ID), f.Revision})
		n := int64(len(f.ID)) + foundBytes
		ids += n
		again = ids >= deletePiece
		return !again, k.keep(n)
	}); err != nil {
		return 0, false, err
	}
	if q.Rest != nil && len(all) > 0 {
		q.Rest()
	}
	type result struct{ err error }
	for len(all) > 0 && err == nil {
		n := min(len(all), deleteAtOnce)
		results := make(chan result, n)
		for _, f := range all[:n] {
			c.DeleteLater(f.id, kv.Condition{IfRevision: f.revision}, func(_ uint64, err error) { results <- result{err} })
		}
		for range n {
			switch r := <-results; {
			case r.err == nil:
				deleted++
			case errors.Is(r.err, kv.ErrConflict), errors.Is(r.err, kv.ErrNotFound):
				again = true
			default:
				err = errors.Join(err, r.err)
			}
		}
		all = all[n:]
		err = errors.Join(err, ctx.Err())
	}
	return deleted, again, err
}

// NewID returns an id like those that Put makes.
func (c *Collection) NewID() string { return query.NewID(c.st.now()) }
