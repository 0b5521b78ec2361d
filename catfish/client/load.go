package client

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// loadAhead in-flight messages hide the round trip. The server has one
// writer for each tree, so more gain nothing.
const loadAhead = 4

// loadBatch is one message of a Load.
type loadBatch struct {
	items []rstar.Item
	n     int // are certainly stored
	err   error
	done  chan struct{}
}

// Load inserts all items, in messages of 256, some at once, and returns how
// many are certainly stored. After an error these are the first n, and of the
// next 1,024 some may be stored, too. progress, if not nil, is called
// with n as it grows, on the caller's goroutine. items is not read further
// after an error. Errors are: the first bad rectangle, and a server that restarts
// meanwhile (ErrRestarted), which has lost the stored items unless the collection
// is kept.
//
// Server.Collection's tree has a Load of its own, which is faster and packs
// better, for a server that loads its data itself.
func (c *Client) Load(ctx context.Context, items iter.Seq[rstar.Item], progress func(n int)) (n int, err error) {
	insert := c.inserter()
	var under []*loadBatch // in flight, oldest first
	spare := []rstar.Item(nil)
	stored := false // something, though perhaps not the first ones
	settle := func() {
		b := under[0]
		under = under[1:]
		<-b.done
		stored = stored || b.err == nil || !RetrySafe(b.err)
		if err == nil {
			n, err = n+b.n, b.err
			if err == nil && progress != nil {
				progress(n)
			}
		}
		spare = b.items[:0]
	}
	send := func(batch []rstar.Item) {
		b := &loadBatch{items: batch, done: make(chan struct{})}
		under = append(under, b)
		go func() {
			defer close(b.done)
			b.n, b.err = insert(ctx, batch)
		}()
	}
	var batch []rstar.Item
	read := 0
	for it := range items {
		if bad := it.Rect.Validate(); bad != nil {
			bad = fmt.Errorf("item %d (id %d): %w", read, it.ID, bad)
			for len(under) > 0 {
				settle()
			}
			if err == nil {
				err = bad
			}
			break
		}
		read++
		if batch = append(batch, it); len(batch) < wire.MaxBatch {
			continue
		}
		send(batch)
		if batch = nil; len(under) == loadAhead {
			settle()
			batch = spare
		}
		if err != nil {
			break
		}
	}
	if err == nil && len(batch) > 0 {
		send(batch)
	}
	for len(under) > 0 {
		settle()
	}
	if err != nil && stored {
		err = &wire.PartlyDone{Done: n, Err: err}
	}
	return n, err
}

// replicated reports whether all members of a group have the objects of the collection.
// Those of collections in memory alone are lost with their server.
func (c *Client) replicated(ctx context.Context, s *session) bool {
	if s.hello.Group == nil {
		return false
	}
	var st model.ServerStats
	b, err := s.call(ctx, wire.KindStats, nil, nil)
	return err == nil && json.Unmarshal(b, &st) == nil && slices.Contains(st.Kept, c.collection)
}

// inserter returns what inserts batches of up to wire.MaxBatch items one after the other, or
// some at once, and returns how many of the first are certainly stored.
func (c *Client) inserter() func(ctx context.Context, batch []rstar.Item) (n int, err error) {
	if r := c.severalBoxes(); r != nil {
		return r.inserter()
	}
	var boot atomic.Uint64
	return func(ctx context.Context, batch []rstar.Item) (n int, err error) {
		err = c.insertBatch(ctx, batch, &boot)
		var r *wire.RemoteError
		switch {
		case err == nil:
			n = len(batch)
		case errors.As(err, &r):
			n = int(min(r.Done, uint64(len(batch))))
		}
		return n, err
	}
}

// insertBatch inserts up to wire.MaxBatch items. boot is the boot id of the server that
// must insert them, 0: the present one.
func (c *Client) insertBatch(ctx context.Context, batch []rstar.Item, boot *atomic.Uint64) error {
	b, err := c.request(ctx, wire.KindInsertMany, func(s *session) (*openSlab, []byte, error) {
		if !boot.CompareAndSwap(0, s.hello.BootID) && boot.Load() != s.hello.BootID && !c.replicated(ctx, s) {
			return nil, nil, fmt.Errorf("%w: boot id %#x at %s, was %#x: what was stored before is lost, unless the collection is kept",
				model.ErrRestarted, s.hello.BootID, s.server, boot.Load())
		}
		o, err := s.openChecked(ctx, c.collection, wire.KindInsertMany)
		if err != nil {
			return nil, nil, err
		}
		b := wire.AppendHead(make([]byte, 0, wire.HeadBytes+len(batch)*wire.ItemBytes), o.coll, uint32(len(batch)))
		for _, it := range batch {
			b = wire.AppendItem(b, it)
		}
		return o, b, nil
	})
	if err == nil && (len(b) != 8 || binary.LittleEndian.Uint64(b) != uint64(len(batch))) {
		err = fmt.Errorf("%w: insertMany of %d answered %x", model.ErrProtocol, len(batch), b)
	}
	return err
}
