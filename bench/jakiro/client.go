package jakiro

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Counts are a client's operations.
type Counts struct {
	Calls uint64
	Reads uint64 // of answers, all
	Vain  uint64 // of these, that found no answer
	Rests uint64 // of these, that brought the rest of one
	// Bytes by Writes and Reads.
	Sent, Fetched uint64
	Received      uint64 // bytes of answers that the server wrote
}

// Client is a client thread: one goroutine uses it.
type Client struct {
	cq      rdma.CompletionQueue
	lanes   []lane
	size    fetch.Size // RFP's F, in bytes; indicators do not use it
	maxBody int
	proto   protocol
	counts  Counts
	wr      [1]rdma.WorkRequest
	got     [1]rdma.Completion
}

// lane is a client thread's side of its buffers at one server thread.
type lane struct {
	qp       rdma.QueuePair
	mem      rdma.Region // the request, then the fetched bytes
	answer   rdma.Region // with indicators: the response buffer
	requests rdma.Remote
	answers  rdma.Remote
	current  int // CRBP
}

// Dial connects a client thread to all threads of a server. fetchBytes is F.
func Dial(ctx context.Context, dev rdma.Device, addr string, threads, fetchBytes int) (*Client, error) {
	if fetchBytes < headerBytes || fetchBytes > headerBytes+MaxBody {
		return nil, fmt.Errorf("%w: fetches of %d bytes, want %d to %d", ErrConfig, fetchBytes, headerBytes, headerBytes+MaxBody)
	}
	c := &Client{proto: rfp{}}
	if err := c.dialAll(ctx, dev, addr, threads); err != nil {
		return nil, err
	}
	c.size = fetch.FixedSize(fetchBytes, bufferBytes(c.maxBody))
	return c, nil
}

// DialIndicators connects a client thread to all threads of a server with Config.Indicators and this
// MaxBody.
func DialIndicators(ctx context.Context, dev rdma.Device, addr string, threads, maxBody int) (*Client, error) {
	if err := checkBody(maxBody); err != nil {
		return nil, err
	}
	c := &Client{proto: indicators{}, maxBody: maxBody}
	if err := c.dialAll(ctx, dev, addr, threads); err != nil {
		return nil, err
	}
	return c, nil
}

// dialAll dials all threads, or closes the client.
func (c *Client) dialAll(ctx context.Context, dev rdma.Device, addr string, threads int) (err error) {
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	if c.cq, err = dev.CreateCQ(4); err != nil {
		return err
	}
	for i := range threads {
		if err := c.dial(ctx, dev, addr, i); err != nil {
			return fmt.Errorf("jakiro: dial thread %d at %s: %w", i, addr, err)
		}
	}
	return nil
}

func (c *Client) dial(ctx context.Context, dev rdma.Device, addr string, thread int) (err error) {
	c.lanes = append(c.lanes, lane{})
	l := &c.lanes[thread]
	private, err := c.proto.ask(dev, l, c.maxBody)
	if err != nil {
		return err
	}
	private = append([]byte{byte(thread)}, private...)
	if l.qp, err = dev.Dial(ctx, addr, rdma.QPConfig{SendCQ: c.cq, RecvCQ: c.cq}, private); err != nil {
		return err
	}
	b := l.qp.PrivateData()
	if len(b) != privateBytes {
		return fmt.Errorf("%w: %d bytes at the connection's start, want %d", ErrProtocol, len(b), privateBytes)
	}
	l.requests, l.answers = remoteAt(b), remoteAt(b[remoteBytes:])
	c.maxBody = int(binary.LittleEndian.Uint32(b[2*remoteBytes:]))
	if c.maxBody < 1 || c.maxBody > MaxBody {
		return fmt.Errorf("%w: bodies of at most %d bytes, want 1 to %d", ErrProtocol, c.maxBody, MaxBody)
	}
	l.mem, err = dev.Register(c.proto.laneBytes(c.maxBody), rdma.LocalWrite)
	return err
}

// Counts are totals since Dial.
func (c *Client) Counts() Counts { return c.counts }

// Close ends the connections.
func (c *Client) Close() (err error) {
	for i := range c.lanes {
		if l := &c.lanes[i]; l.qp != nil {
			err = errors.Join(err, l.qp.Close())
		}
	}
	if c.cq != nil {
		err = errors.Join(err, c.cq.Close())
	}
	for i := range c.lanes {
		for _, r := range []rdma.Region{c.lanes[i].mem, c.lanes[i].answer} {
			if r != nil {
				err = errors.Join(err, r.Close())
			}
		}
	}
	return err
}

// Call makes one call to a thread of the server, and appends the result to dst.
func (c *Client) Call(ctx context.Context, thread int, dst, body []byte) ([]byte, error) {
	if len(body) > c.maxBody {
		return dst, fmt.Errorf("%w: a request of %d bytes, at most %d go", ErrConfig, len(body), c.maxBody)
	}
	l := &c.lanes[thread]
	if err := c.send(ctx, l, body); err != nil {
		return dst, err
	}
	for tries := 1; ; tries++ {
		var there bool
		var err error
		if dst, there, err = c.proto.take(ctx, c, l, dst); err != nil || there {
			return dst, err
		}
		if err := ctx.Err(); err != nil {
			return dst, err
		}
		rest(tries, false)
	}
}

// send writes a request.
func (c *Client) send(ctx context.Context, l *lane, body []byte) error {
	n := c.proto.put(l.mem.Bytes(), body)
	c.counts.Calls++
	c.counts.Sent += uint64(n)
	c.wr[0] = rdma.WorkRequest{Op: rdma.OpWrite, Local: rdma.Buffer{Region: l.mem, Len: n}, Remote: l.requests}
	return c.post(ctx, l)
}

// post posts a request and waits for its completion.
func (c *Client) post(ctx context.Context, l *lane) error {
	return post(ctx, l.qp, c.cq, c.wr[:], c.got[:])
}

func post(ctx context.Context, qp rdma.QueuePair, cq rdma.CompletionQueue, wr []rdma.WorkRequest, got []rdma.Completion) error {
	for {
		_, err := qp.Post(wr)
		if err == nil {
			break
		}
		if !errors.Is(err, rdma.ErrQueueFull) {
			return err
		}
		if err := cq.Wait(ctx, rdma.PeerTimeout); err != nil {
			return err
		}
	}
	for cq.Poll(got) == 0 {
		if err := cq.Wait(ctx, rdma.PeerTimeout); err != nil {
			return fmt.Errorf("jakiro: %s: %w", wr[0].Op, err)
		}
	}
	return got[0].Err()
}
