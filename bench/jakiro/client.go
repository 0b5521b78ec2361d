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
}

// Client is a client thread: one goroutine uses it.
type Client struct {
	cq      rdma.CompletionQueue
	lanes   []lane
	size    fetch.Size // RFP's F, in bytes
	maxBody int
	counts  Counts
	wr      [1]rdma.WorkRequest
	got     [1]rdma.Completion
}

// lane is a client thread's side of its buffers at one server thread.
type lane struct {
	qp       rdma.QueuePair
	mem      rdma.Region // the request, then the fetched bytes
	requests rdma.Remote
	answers  rdma.Remote
	current  int // CRBP
}

// Dial connects a client thread to all threads of a server. fetchBytes is F.
func Dial(ctx context.Context, dev rdma.Device, addr string, threads, fetchBytes int) (_ *Client, err error) {
	if fetchBytes < headerBytes || fetchBytes > headerBytes+MaxBody {
		return nil, fmt.Errorf("%w: fetches of %d bytes, want %d to %d", ErrConfig, fetchBytes, headerBytes, headerBytes+MaxBody)
	}
	c := &Client{}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	if c.cq, err = dev.CreateCQ(4); err != nil {
		return nil, err
	}
	for i := range threads {
		if err := c.dial(ctx, dev, addr, i); err != nil {
			return nil, fmt.Errorf("jakiro: dial thread %d at %s: %w", i, addr, err)
		}
	}
	c.size = fetch.FixedSize(fetchBytes, bufferBytes(c.maxBody))
	return c, nil
}

func (c *Client) dial(ctx context.Context, dev rdma.Device, addr string, thread int) (err error) {
	c.lanes = append(c.lanes, lane{})
	l := &c.lanes[thread]
	if l.qp, err = dev.Dial(ctx, addr, rdma.QPConfig{SendCQ: c.cq, RecvCQ: c.cq}, []byte{byte(thread)}); err != nil {
		return err
	}
	b := l.qp.PrivateData()
	if len(b) != privateBytes {
		return fmt.Errorf("%w: %d bytes at the connection's start, want %d", ErrProtocol, len(b), privateBytes)
	}
	at := func(i int) rdma.Remote {
		return rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b[i:])), Addr: binary.LittleEndian.Uint64(b[i+8:])}
	}
	l.requests, l.answers, c.maxBody = at(0), at(16), int(binary.LittleEndian.Uint32(b[32:]))
	if c.maxBody < 1 || c.maxBody > MaxBody {
		return fmt.Errorf("%w: bodies of at most %d bytes, want 1 to %d", ErrProtocol, c.maxBody, MaxBody)
	}
	l.mem, err = dev.Register(requestBytes(c.maxBody)+bufferBytes(c.maxBody), rdma.LocalWrite)
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
		if l := &c.lanes[i]; l.mem != nil {
			err = errors.Join(err, l.mem.Close())
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
		dst, there, err := c.fetch(ctx, l, dst)
		if err != nil || there {
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
	n := putRequest(l.mem.Bytes(), body)
	c.counts.Calls++
	c.counts.Sent += uint64(n)
	c.wr[0] = rdma.WorkRequest{Op: rdma.OpWrite, Local: rdma.Buffer{Region: l.mem, Len: n}, Remote: l.requests}
	return c.post(ctx, l)
}

// fetch reads the current buffer once, and the rest of an answer that it finds. It appends that to dst.
func (c *Client) fetch(ctx context.Context, l *lane, dst []byte) (_ []byte, there bool, err error) {
	size := bufferBytes(c.maxBody)
	asks := min(c.size.Read(0), size)
	if err := c.read(ctx, l, 0, asks); err != nil {
		return dst, false, err
	}
	fetched := l.mem.Bytes()[requestBytes(c.maxBody):]
	body, there := parse(binary.LittleEndian.Uint16(fetched))
	if !there {
		c.counts.Vain++
		return dst, false, nil
	}
	if body > c.maxBody {
		return dst, false, fmt.Errorf("%w: a result of %d bytes, at most %d go", ErrProtocol, body, c.maxBody)
	}
	if rest := headerBytes + body - asks; rest > 0 {
		c.counts.Rests++
		if err := c.read(ctx, l, asks, c.size.Read(rest)); err != nil {
			return dst, false, err
		}
	}
	l.current = (l.current + 1) % Buffers
	return append(dst, fetched[headerBytes:headerBytes+body]...), true, nil
}

// read reads n bytes of the current buffer, from an offset on.
func (c *Client) read(ctx context.Context, l *lane, from, n int) error {
	c.counts.Reads++
	c.counts.Fetched += uint64(n)
	c.wr[0] = rdma.WorkRequest{Op: rdma.OpRead,
		Local:  rdma.Buffer{Region: l.mem, Offset: requestBytes(c.maxBody) + from, Len: n},
		Remote: l.answers.At(uint64(l.current*bufferBytes(c.maxBody) + from))}
	return c.post(ctx, l)
}

// post posts a request and waits for its completion.
func (c *Client) post(ctx context.Context, l *lane) error {
	for {
		_, err := l.qp.Post(c.wr[:])
		if err == nil {
			break
		}
		if !errors.Is(err, rdma.ErrQueueFull) {
			return err
		}
		if err := c.cq.Wait(ctx, rdma.PeerTimeout); err != nil {
			return err
		}
	}
	for c.cq.Poll(c.got[:]) == 0 {
		if err := c.cq.Wait(ctx, rdma.PeerTimeout); err != nil {
			return fmt.Errorf("jakiro: %s: %w", c.wr[0].Op, err)
		}
	}
	return c.got[0].Err()
}
