package client

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Insert adds an object. It is found by every search that begins after
// Insert returned nil.
func (c *Client) Insert(ctx context.Context, r rstar.Rect, id uint64) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if s := c.severalBoxes(); s != nil {
		return s.insert(ctx, r, id)
	}
	_, err := c.write(ctx, wire.KindInsert, 0, func(b []byte) []byte {
		return wire.AppendItem(b, rstar.Item{Rect: r, ID: id})
	})
	return err
}

// Delete removes one object with this rectangle and id and reports whether it
// existed.
func (c *Client) Delete(ctx context.Context, r rstar.Rect, id uint64) (bool, error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	if s := c.severalBoxes(); s != nil {
		return s.delete(ctx, r, id)
	}
	return boolAnswer(c.write(ctx, wire.KindDelete, 0, func(b []byte) []byte {
		return wire.AppendItem(b, rstar.Item{Rect: r, ID: id})
	}))
}

// Update moves an object from one rectangle to another and reports
// whether it existed. A search sees it at one of the two. If they belong to two groups, it is put
// at new, and then deleted at old: a search meanwhile may see it at both, and one that began before
// and ends after both writes, at neither. If the deletion's outcome is unknown
// (ErrUnknownOutcome), it may stay at both.
func (c *Client) Update(ctx context.Context, old, new rstar.Rect, id uint64) (bool, error) {
	for _, r := range []rstar.Rect{old, new} {
		if err := r.Validate(); err != nil {
			return false, err
		}
	}
	if s := c.severalBoxes(); s != nil {
		return s.update(ctx, old, new, id)
	}
	return boolAnswer(c.write(ctx, wire.KindUpdate, 0, func(b []byte) []byte {
		return binary.LittleEndian.AppendUint64(wire.AppendRect(wire.AppendRect(b, old), new), id)
	}))
}

// InsertMany adds objects in order, in messages of up to 256, and returns
// how many are certainly inserted: after an error the first n of items are,
// and up to 256 more may be if the error is ErrUnknownOutcome, as it is if one of several
// groups has failed and another has not. With ErrRestarted the
// first n are lost, unless the collection is kept: the server restarted before it
// had all items.
func (c *Client) InsertMany(ctx context.Context, items []rstar.Item) (n int, err error) {
	for i, it := range items {
		if err := it.Rect.Validate(); err != nil {
			return 0, fmt.Errorf("item %d (id %d): %w", i, it.ID, err)
		}
	}
	insert := c.inserter()
	for n < len(items) {
		done, err := insert(ctx, items[n:min(n+wire.MaxBatch, len(items))])
		if n += done; err != nil {
			if n > 0 {
				err = &wire.PartlyDone{Done: n, Err: err}
			}
			return n, err
		}
	}
	return n, nil
}

// Stats returns the server's state. If several groups have the store together, it is that of
// all: ServerStats.Groups.
func (c *Client) Stats(ctx context.Context) (model.ServerStats, error) {
	var st model.ServerStats
	if k := c.conn.cluster; k != nil {
		return k.stats(ctx)
	}
	b, err := c.request(ctx, wire.KindStats, func(*session) (*openSlab, []byte, error) { return nil, nil, nil })
	if err != nil {
		return st, err
	}
	if err := json.Unmarshal(b, &st); err != nil {
		return st, fmt.Errorf("%w: stats: %w", model.ErrProtocol, err)
	}
	return st, nil
}

// Check makes the server check a tree, of boxes or features. Writers wait meanwhile. The
// error wraps rstar.ErrCheck if the tree is damaged.
func (c *Client) Check(ctx context.Context) error {
	if k := c.conn.cluster; k != nil {
		return k.check(ctx, c.collection)
	}
	_, err := c.write(ctx, wire.KindCheck, 0, func(b []byte) []byte { return b })
	return err
}

func boolAnswer(b []byte, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	if len(b) != 1 || b[0] > 1 {
		return false, fmt.Errorf("%w: answer %x, want one byte 0 or 1", model.ErrProtocol, b)
	}
	return b[0] == 1, nil
}

// write sends a request about this collection.
func (c *Client) write(ctx context.Context, kind fastmsg.Kind, arg uint32, body func([]byte) []byte) ([]byte, error) {
	return c.request(ctx, kind, func(s *session) (*openSlab, []byte, error) {
		o, err := s.openChecked(ctx, c.collection, kind)
		if err != nil {
			return o, nil, err
		}
		return o, body(wire.AppendHead(nil, o.coll, arg)), nil
	})
}

// request sends the request that build makes for the present session, and again on
// the next session if it certainly was not sent, or only reads, or if another member of the
// group is the primary, or if it has a name (repeat.go). build returns the request's collection, if it has one: if that was dropped, another may have its
// name.
func (c *Client) request(ctx context.Context, kind fastmsg.Kind, build func(*session) (*openSlab, []byte, error)) ([]byte, error) {
	return c.requestAppend(ctx, nil, kind, build)
}

// requestAppend is request that appends the answer to dst, which is empty.
func (c *Client) requestAppend(ctx context.Context, dst []byte, kind fastmsg.Kind, build func(*session) (*openSlab, []byte, error)) ([]byte, error) {
	var w attempt
	return c.requestAs(ctx, &w, dst, kind, build)
}

// requestAs is requestAppend of a write that may have been sent before.
func (c *Client) requestAs(ctx context.Context, w *attempt, dst []byte, kind fastmsg.Kind, build func(*session) (*openSlab, []byte, error)) ([]byte, error) {
	defer c.conn.others.wrote()
	broken := 0 // A refusal breaks no connection.
	for {
		if err := ctx.Err(); err != nil {
			return nil, w.outcome(fmt.Errorf("%w: %w", model.ErrNotSent, err))
		}
		s, err := c.conn.session(ctx)
		if err == nil {
			err = w.refuses(s)
		}
		if err != nil {
			if errors.Is(err, model.ErrSeveralGroups) {
				err = notRoutedKind(kind)
			}
			return nil, w.outcome(err)
		}
		o, b, err := build(s)
		if err == nil {
			var ans []byte
			as, named := kind, s.takes(kind)
			if named {
				as, b = wire.KindNamed, w.pack(c.conn, kind, b)
			}
			ans, err = s.callOf(ctx, o, as, b, dst)
			if named && errors.Is(err, model.ErrUnknownOutcome) && w.lost(ctx, c.conn, s) {
				c.conn.counters.retried.Add(1)
				continue
			}
			if err == nil {
				c.conn.counters.addMessage(len(b), len(ans))
				return ans, nil
			}
			if errors.Is(err, model.ErrUnknownCollection) && o != nil {
				s.forget(o)
				continue
			}
		} else if errors.Is(err, fastmsg.ErrTooLarge) {
			return nil, w.outcome(err) // waiting for another connection is useless
		} else if errors.Is(err, model.ErrUnknownOutcome) {
			// Opening the collection failed, not the write.
			err = fmt.Errorf("%w: opening collection %q: %s", model.ErrNotSent, c.collection, err.Error())
		}
		if w.waits.again(ctx, c.conn, err) {
			continue
		}
		broken++
		again := errors.Is(err, model.ErrNotSent) || onlyReads(kind) && errors.Is(err, model.ErrUnknownOutcome) && broken < maxLost
		if !again || ctx.Err() != nil || errors.Is(err, fastmsg.ErrTooLarge) {
			return nil, w.outcome(err)
		}
		select {
		case <-s.left:
			c.conn.counters.retried.Add(1)
		case <-s.caller.Done():
			c.conn.counters.retried.Add(1)
		case <-ctx.Done():
			return nil, w.outcome(err)
		}
	}
}

// onlyReads reports whether a request changes nothing, and costs the server little.
func onlyReads(k fastmsg.Kind) bool {
	return k == wire.KindOpen || k == wire.KindStats || k == wire.KindDescribe || k == wire.KindAwait
}
