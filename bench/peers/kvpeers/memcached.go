//go:build linux

package kvpeers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// memcachedConn speaks memcached's meta commands (doc/protocol.txt of
// memcached 1.6, "Meta Commands"), which are answered in order:
//
//	mg KEY v               ->  VA SIZE, then the value; EN: missing
//	ms KEY SIZE, value     ->  HD
//	md KEY                 ->  HD; NF: missing
//
// Lines and values end with \r\n. It is a kv.Pipeliner.
type memcachedConn struct {
	dialer
	conn net.Conn
	r    *bufio.Reader
	out  []byte
	one  [1]kv.Request
}

// maxMemcachedValue is the longest value that memcached takes, by -I.
const maxMemcachedValue = 64 << 20

// memcachedBuffer takes the answers to a few hundred small requests.
const memcachedBuffer = 64 << 10

func dialMemcached(ctx context.Context, d dialer) (kv.Store, error) {
	conn, err := d.dial(ctx, new(net.Dialer))
	if err != nil {
		return nil, err
	}
	return &memcachedConn{dialer: d, conn: conn, r: bufio.NewReaderSize(conn, memcachedBuffer)}, nil
}

// Get is Do of one request.
func (c *memcachedConn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	r := &c.one[0]
	*r = kv.Request{Key: ycsb.Key(key), Value: dst[len(dst):]}
	if err := c.Do(ctx, c.one[:]); err != nil {
		return dst, err
	}
	if !r.Found {
		return dst, fmt.Errorf("%w: %s", kv.ErrNotFound, key)
	}
	return append(dst, r.Value...), nil // In place already, if dst had room.
}

// Put is Do of one request.
func (c *memcachedConn) Put(ctx context.Context, key, value []byte) error {
	c.one[0] = kv.Request{Key: ycsb.Key(key), Value: value, Put: true}
	return c.Do(ctx, c.one[:])
}

// Delete removes a key.
func (c *memcachedConn) Delete(ctx context.Context, key []byte) error {
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer stop()
	if _, err := fmt.Fprintf(c.conn, "md %s\r\n", key); err != nil {
		return fmt.Errorf("kvpeers: sending to memcached: %w", err)
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("%w: it begins with %.80q: %w", ErrAnswer, line, err)
	}
	switch string(line) {
	case "HD\r\n":
		return nil
	case "NF\r\n":
		return fmt.Errorf("%w: %s", kv.ErrNotFound, key)
	}
	return fmt.Errorf("%w: memcached says %.80q", ErrAnswer, line)
}

// Do pipelines.
func (c *memcachedConn) Do(ctx context.Context, rs []kv.Request) error {
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer stop()
	c.out = c.out[:0]
	sent := 0 // requests before this one are answered
	for i := range rs {
		if len(c.out) > 0 && len(c.out)+requestBytes(&rs[i]) > sendBytes {
			if err := c.exchange(rs[sent:i]); err != nil {
				return err
			}
			sent = i
		}
		c.add(&rs[i])
	}
	return c.exchange(rs[sent:])
}

const (
	// sendBytes are sent before answers are read. A server stops reading while
	// the client does not read its answers, so more than its socket takes
	// (Linux: 200 KiB) could not be sent. A larger request goes alone.
	sendBytes = 32 << 10
	// commandBytes exceeds a command's bytes beside its value.
	commandBytes = 64
)

// requestBytes is an upper bound of a request's size.
func requestBytes(r *kv.Request) int {
	if r.Put {
		return commandBytes + len(r.Value)
	}
	return commandBytes
}

// exchange sends c.out, the requests rs, and reads their answers.
func (c *memcachedConn) exchange(rs []kv.Request) error {
	if _, err := c.conn.Write(c.out); err != nil {
		return fmt.Errorf("kvpeers: sending to memcached: %w", err)
	}
	c.out = c.out[:0]
	for i := range rs {
		if err := c.reply(&rs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *memcachedConn) add(r *kv.Request) {
	if !r.Put {
		c.out = append(c.out, "mg "...)
		c.out = append(c.out, r.Key[:]...)
		c.out = append(c.out, " v\r\n"...)
		return
	}
	c.out = append(c.out, "ms "...)
	c.out = append(c.out, r.Key[:]...)
	c.out = append(c.out, ' ')
	c.out = strconv.AppendInt(c.out, int64(len(r.Value)), 10)
	c.out = append(c.out, "\r\n"...)
	c.out = append(c.out, r.Value...)
	c.out = append(c.out, "\r\n"...)
}

// reply reads the answer to a request.
func (c *memcachedConn) reply(r *kv.Request) error {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("%w: it begins with %.80q: %w", ErrAnswer, line, err)
	}
	line = bytes.TrimSuffix(line, []byte("\r\n"))
	switch {
	case r.Put && string(line) == "HD":
		return nil
	case !r.Put && string(line) == "EN":
		r.Found, r.Value = false, r.Value[:0]
		return nil
	case !r.Put && bytes.HasPrefix(line, []byte("VA ")):
		return c.value(r, line[len("VA "):])
	}
	return fmt.Errorf("%w: memcached says %.80q", ErrAnswer, line)
}

func (c *memcachedConn) value(r *kv.Request, size []byte) error {
	n := 0
	for _, d := range size { // strconv would want a string
		if d < '0' || d > '9' || n > maxMemcachedValue {
			return fmt.Errorf("%w: a value of %.80q bytes, want up to %d", ErrAnswer, size, maxMemcachedValue)
		}
		n = 10*n + int(d-'0')
	}
	if len(size) == 0 || n > maxMemcachedValue {
		return fmt.Errorf("%w: a value of %.80q bytes, want up to %d", ErrAnswer, size, maxMemcachedValue)
	}
	// Buffers grow with the bytes that arrive, not to the announced size.
	r.Found, r.Value = true, r.Value[:0]
	for left := n; left > 0; {
		part, err := c.r.Peek(min(left, memcachedBuffer))
		if err != nil {
			return fmt.Errorf("%w: a value ends %d bytes early: %w", ErrAnswer, left-len(part), noEOF(err))
		}
		r.Value = append(r.Value, part...)
		c.r.Discard(len(part))
		left -= len(part)
	}
	end, err := c.r.Peek(2)
	if err != nil || string(end) != "\r\n" {
		return fmt.Errorf("%w: %q behind a value: %w", ErrAnswer, end, noEOF(err))
	}
	c.r.Discard(2)
	return nil
}

// noEOF: the end of the stream within an answer is not a regular one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// GetMany is Do: memcached's developers advise against `get` of many keys.
func (c *memcachedConn) GetMany(ctx context.Context, rs []kv.Request) error { return c.Do(ctx, rs) }

// Close ends the connection.
func (c *memcachedConn) Close() error { return c.conn.Close() }
