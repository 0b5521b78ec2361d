package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
)

// channels is a session's use of read channels, which it may share with the
// sessions of other clients (channelPool). It counts those that it has taken, so
// that the session's end stops only the session's own searches:
//
//	get --> a walk, which close stops --> put
//	close: get fails from now on; drained when all were put back
type channels struct {
	pool  *channelPool // nil: nothing is one-sided
	leave func()       // the pool
	open  func(ctx context.Context) (reader, error)

	stop    atomic.Bool   // ends the walks that run; set by close
	ended   chan struct{} // closed by close
	out     atomic.Int64  // read channels, and in-flight calls of get
	drained chan struct{} // closed when close was called and nothing is out
	drain   sync.Once
}

// errNoChannel: the server opens no read channel for this client, because
// it is about to end or has too many. The search takes fast messaging, whose
// answer shows which of the two is the cause.
var errNoChannel = errors.New("catfish: cannot open a read channel")

// init is called first.
func (u *channels) init() {
	u.ended, u.drained = make(chan struct{}), make(chan struct{})
}

// join is called before the first get. open opens a channel for the pool.
func (u *channels) join(p *channelPool, leave func(), open func(ctx context.Context) (reader, error)) {
	u.pool, u.leave, u.open = p, leave, open
}

// get returns a read channel, which the caller puts back. It waits for one if
// all are in use.
func (u *channels) get(ctx context.Context) (reader, error) {
	u.out.Add(1)
	if u.stop.Load() {
		u.done()
		return nil, offload.ErrStopped
	}
	r, err := u.pool.take(ctx, u.ended)
	for r != nil && r.Err() != nil { // The channel was lost while it was free.
		u.pool.put(r)
		r, err = u.pool.take(ctx, u.ended)
	}
	if r == nil && err == nil {
		if r, err = u.open(ctx); err != nil {
			u.pool.put(nil)
			if ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", errNoChannel, err)
			}
		}
	}
	if err != nil {
		u.done()
		return nil, err
	}
	r.StopBy(&u.stop)
	return r, nil
}

// put takes a channel back.
func (u *channels) put(r reader) {
	r.StopBy(nil)
	u.pool.put(r)
	u.done()
}

// openFirst opens a read channel if the pool has none.
func (u *channels) openFirst(ctx context.Context) error {
	if !u.pool.empty() {
		return nil
	}
	r, err := u.get(ctx)
	if err == nil {
		u.put(r)
	}
	return err
}

func (u *channels) done() {
	// A call of get after the end counts, too, but has not touched the pool.
	if u.out.Add(-1) == 0 && u.stop.Load() {
		u.drain.Do(u.over)
	}
}

// close ends the walks that run and turns away all callers of get. A second
// call does nothing.
func (u *channels) close() {
	if u.stop.Swap(true) {
		return
	}
	close(u.ended)
	if u.out.Load() == 0 {
		u.drain.Do(u.over)
	}
}

func (u *channels) over() {
	if u.pool != nil {
		u.leave()
	}
	close(u.drained)
}

// answerLimits bound the results of offloading by the bytes that messages may have.
var answerLimits = remote.Limits{Items: wire.MaxReply / wire.ItemBytes, Batch: wire.ManyBytes / wire.ItemBytes}

// openReadChannel dials a read channel to the session's server. The end of
// the client ends the dial, too.
func (c *connection) openReadChannel(ctx context.Context, s *session, block int) (*offload.Channel, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	return offload.Dial(ctx, s.dev, s.addr, offload.ChannelConfig{
		BlockBytes: block, Window: s.window, Private: wire.AppendTicket(wire.ReadChannelPrivate(s.hello.BootID), s.hello.Ticket),
	})
}

// openTreeReader opens a channel whose blocks are nodes.
func (c *connection) openTreeReader(ctx context.Context, s *session) (reader, error) {
	ch, err := c.openReadChannel(ctx, s, wire.MaxNode)
	if err != nil {
		return nil, err
	}
	return remote.NewReader(ch, answerLimits), nil
}

// joinChannels makes the session use the read channels that clients of the same
// Shared have to the same server: some for trees and some for records, since the
// blocks that are read differ in size, and large buffers are slower. They are
// opened by the device that these clients share; a session with a device of its own
// has channels of its own.
func (c *connection) joinChannels(s *session, key deviceKey) {
	c.joinPool(&s.channels, poolKey{key, s.addr, s.hello.BootID, s.window, wire.MaxNode, s.hello.Ticket},
		func(ctx context.Context) (reader, error) { return c.openTreeReader(ctx, s) })
	c.joinPool(&s.recordChannels, poolKey{key, s.addr, s.hello.BootID, s.window, maxRecordRead, s.hello.Ticket},
		func(ctx context.Context) (reader, error) { return c.openRecordReader(ctx, s) })
}

func (c *connection) joinPool(u *channels, k poolKey, open func(ctx context.Context) (reader, error)) {
	pool, leave := new(channelPool), func() {}
	if c.opts.hooks.Wrap == nil {
		pool, leave = c.opts.Shared.channels.join(k)
	}
	pool.admit(c.opts.ReadChannels)
	u.join(pool, func() {
		pool.admit(-c.opts.ReadChannels)
		leave()
	}, open)
}
