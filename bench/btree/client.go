package btree

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/offload"
)

// Errors of a Client.
var (
	// ErrServer: the server refused a request.
	ErrServer = errors.New("btree: the server refused")
	// ErrProtocol: an answer has another form than expected.
	ErrProtocol = errors.New("btree: bad answer")
)

// Window is how many nodes a Client reads at once, as catfish's clients do.
const Window = 16

// Counts are what a Client's reads did.
type Counts struct {
	Reads     uint64 // range reads and gets
	Offloaded uint64 // of these, by RDMA Reads
	FellBack  uint64 // of these, by a message in the end: a node stayed torn
	Beats     uint64 // heartbeats that the policy took
	offload.Stats
}

// Client is a connection to a Server, for one goroutine at a time.
type Client struct {
	caller  *fastmsg.Caller
	channel *offload.Channel
	reader  *Reader
	engine  *policy.Engine
	mailbox mailbox
	counts  Counts
	request [itemBytes]byte
	answer  []byte
	items   []Item
}

// mailbox is a heartbeat.Mailbox as policies see it.
type mailbox struct{ *heartbeat.Mailbox }

func (m mailbox) Take() (policy.Load, bool) {
	b, ok := m.Mailbox.Take()
	if !ok {
		return policy.Load{}, false
	}
	return policy.LoadOf(b), true
}

// Dial connects to a server, with the policy of a scheme for a client of group g.
func Dial(ctx context.Context, dev rdma.Device, at Places, sch policy.Scheme, g *policy.Group, seed uint64) (_ *Client, err error) {
	c := &Client{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("btree: dialling: %w", err), c.Close())
		}
	}()
	if c.caller, err = fastmsg.Dial(ctx, dev, at.Rings, fastmsg.CallerConfig{InMemory: sch.InMemory, Placed: sch.Placed, Fetch: sch.Fetch}); err != nil {
		return nil, err
	}
	hello := c.caller.Hello()
	if len(hello) != helloBytes || word(hello, 2*wordBytes) > math.MaxUint32 {
		return nil, fmt.Errorf("%w: a hello of %d bytes, %x, want %d", ErrProtocol, len(hello), hello, helloBytes)
	}
	slab, chunks := rdma.Remote{Key: rdma.Key(word(hello, 0)), Addr: word(hello, wordBytes)}, uint32(word(hello, 2*wordBytes))
	if c.mailbox.Mailbox, err = heartbeat.NewMailbox(c.caller.Mailbox()); err != nil {
		return nil, err
	}
	window := Window
	if sch.Single {
		window = 1
	}
	if c.channel, err = offload.Dial(ctx, dev, at.Reads, offload.ChannelConfig{BlockBytes: NodeBytes, Window: window}); err != nil {
		return nil, err
	}
	c.reader = NewReader(c.channel, slab, chunks)
	c.engine = policy.NewEngine(sch.New(seed, g, policy.Backoff{}), seed, time.Now, g)
	return c, nil
}

// Counts are those since Dial.
func (c *Client) Counts() Counts {
	n := c.counts
	n.Beats = c.engine.Heartbeats()
	return n
}

// Get returns the value of a key.
func (c *Client) Get(ctx context.Context, key uint64) (value uint64, ok bool, err error) {
	c.items, err = c.Scan(ctx, key, key, c.items[:0])
	if err != nil || len(c.items) == 0 {
		return 0, false, err
	}
	return c.items[0].Value, true, nil
}

// Scan appends to dst the items with keys from from to to, both included, in the order of
// keys. Each key that is in the tree during all of the call is found once.
func (c *Client) Scan(ctx context.Context, from, to uint64, dst []Item) ([]Item, error) {
	path, began := c.engine.Choose(c.mailbox, nil)
	o := policy.Outcome{Path: path, Searches: 1, Trips: 1}
	before, n := c.counts.Stats, len(dst)
	c.counts.Reads++
	var err error
	if path == policy.Offload {
		c.counts.Offloaded++
		dst, err = c.reader.Scan(ctx, from, to, dst, &c.counts.Stats)
		o.Reads, o.Trips = int(c.counts.Stats.Reads-before.Reads), int(c.counts.RoundTrips-before.RoundTrips)
		o.Bytes = int(c.counts.Bytes - before.Bytes)
		if errors.Is(err, offload.ErrTorn) {
			c.counts.FellBack++
			path = policy.FastMessaging
		}
	}
	if path == policy.FastMessaging {
		dst, err = c.ask(ctx, from, to, dst)
		o.Bytes += itemBytes * (1 + len(dst) - n)
	}
	if err != nil {
		return dst[:n], err
	}
	if o.Results = len(dst) - n; !began.IsZero() {
		o.Took = time.Since(began)
	}
	c.engine.Done(began, o, path)
	return dst, nil
}

// ask reads a range by a message.
func (c *Client) ask(ctx context.Context, from, to uint64, dst []Item) ([]Item, error) {
	if err := c.call(ctx, kindScan, from, to); err != nil {
		return dst, err
	}
	if len(c.answer)%itemBytes != 0 {
		return dst, fmt.Errorf("%w: %d bytes, want a multiple of %d", ErrProtocol, len(c.answer), itemBytes)
	}
	for at := 0; at < len(c.answer); at += itemBytes {
		dst = append(dst, Item{word(c.answer, at), word(c.answer, at+wordBytes)})
	}
	return dst, nil
}

// Put sets the value of a key.
func (c *Client) Put(ctx context.Context, key, value uint64) error {
	return c.call(ctx, kindPut, key, value)
}

// Delete takes a key out. It reports whether the key existed.
func (c *Client) Delete(ctx context.Context, key uint64) (bool, error) {
	if err := c.call(ctx, kindDelete, key); err != nil {
		return false, err
	}
	if len(c.answer) != 1 {
		return false, fmt.Errorf("%w: %d bytes, want 1", ErrProtocol, len(c.answer))
	}
	return c.answer[0] != 0, nil
}

// call leaves the answer in c.answer.
func (c *Client) call(ctx context.Context, kind fastmsg.Kind, words ...uint64) error {
	b := c.request[:0]
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	c.counts.RoundTrips++
	answer, got, err := c.caller.Call(ctx, kind, b, c.answer[:0])
	if err != nil {
		return err
	}
	c.answer = answer
	switch got {
	case kindAnswer:
		return nil
	case kindError:
		return fmt.Errorf("%w: %s", ErrServer, answer)
	}
	return fmt.Errorf("%w: kind %d, want %d or %d", ErrProtocol, got, kindAnswer, kindError)
}

// Close ends the connection.
func (c *Client) Close() error {
	var err error
	if c.engine != nil {
		c.engine.Close()
	}
	if c.channel != nil {
		err = c.channel.Close()
	}
	if c.caller != nil {
		err = errors.Join(err, c.caller.Close())
	}
	return err
}
