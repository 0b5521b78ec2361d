package jakiro

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// rfp is RFP's protocol, in the layout of layout.go.
type rfp struct{}

func (rfp) ask(rdma.Device, *lane, int) ([]byte, error) { return nil, nil }
func (rfp) askBytes() int                               { return 0 }
func (rfp) refuses([]byte, int) string                  { return "" }

func (rfp) buffers(dev rdma.Device, c *slot, _ []byte, maxBody int) (err error) {
	if c.requests, err = dev.Register(requestBytes(maxBody), rdma.RemoteWrite); err != nil {
		return err
	}
	size := bufferBytes(maxBody)
	if c.answers, err = dev.Register(Buffers*size, rdma.RemoteRead); err != nil {
		return err
	}
	c.responses = responses{mem: c.answers.Bytes(), size: size}
	return nil
}

// laneBytes: the request, then the fetched bytes.
func (rfp) laneBytes(maxBody int) int                      { return requestBytes(maxBody) + bufferBytes(maxBody) }
func (rfp) put(b, body []byte) int                         { return putRequest(b, body) }
func (rfp) find(mem []byte) (body []byte, there, bad bool) { return request(mem) }
func (rfp) rest(idle int, emulated bool)                   { rest(idle, emulated) }

// answer leaves the result where the client reads it.
func (rfp) answer(_ context.Context, c *slot, asked int, result []byte) error {
	clearRequest(c.requests.Bytes(), asked)
	c.responses.put(result)
	return nil
}

// take reads the current buffer once, and the rest of an answer that it finds. It appends that to dst.
func (p rfp) take(ctx context.Context, c *Client, l *lane, dst []byte) (_ []byte, there bool, err error) {
	size := bufferBytes(c.maxBody)
	asks := min(c.size.Read(0), size)
	if err := p.read(ctx, c, l, 0, asks); err != nil {
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
		if err := p.read(ctx, c, l, asks, c.size.Read(rest)); err != nil {
			return dst, false, err
		}
	}
	l.current = (l.current + 1) % Buffers
	return append(dst, fetched[headerBytes:headerBytes+body]...), true, nil
}

// read reads n bytes of the current buffer, from an offset on.
func (rfp) read(ctx context.Context, c *Client, l *lane, from, n int) error {
	c.counts.Reads++
	c.counts.Fetched += uint64(n)
	c.wr[0] = rdma.WorkRequest{Op: rdma.OpRead,
		Local:  rdma.Buffer{Region: l.mem, Offset: requestBytes(c.maxBody) + from, Len: n},
		Remote: l.answers.At(uint64(l.current*bufferBytes(c.maxBody) + from))}
	return c.post(ctx, l)
}
