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
)

// memcachedConn speaks memcached's meta commands (doc/protocol.txt of
// memcached 1.6, "Meta Commands"), which are answered in their order:
//
//	mg KEY v               ->  VA SIZE, then the value; EN: not there
//	ms KEY SIZE, value     ->  HD
//
// Lines and values end with \r\n. For one goroutine.
type memcachedConn struct {
	conn net.Conn
	r    *bufio.Reader
	out  []byte
}

// maxMemcachedValue is the longest value that memcached takes, by -I.
const maxMemcachedValue = 64 << 20

// memcachedBuffer takes the answers to a few hundred small requests.
const memcachedBuffer = 64 << 10

func dialMemcached(ctx context.Context, network, addr string) (Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return newMemcachedConn(conn), nil
}

func newMemcachedConn(conn net.Conn) *memcachedConn {
	return &memcachedConn{conn: conn, r: bufio.NewReaderSize(conn, memcachedBuffer)}
}

func (c *memcachedConn) Do(ctx context.Context, rs []Request) error {
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer stop()
	c.out = c.out[:0]
	sent := 0 // requests before this one are answered
	for i := range rs {
		if len(c.out) > 0 && len(c.out)+rs[i].bytes() > sendBytes {
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
	// sendBytes are sent before answers are read. A server whose answers
	// nobody reads stops reading, so more than its socket takes (Linux: 200 KiB)
	// could not be sent. A larger request goes alone.
	sendBytes = 32 << 10
	// commandBytes is more than a command has beside its value.
	commandBytes = 64
)

// bytes are at most what a request takes.
func (r *Request) bytes() int {
	if r.Set {
		return commandBytes + len(r.Value)
	}
	return commandBytes
}

// exchange sends what is in c.out, the requests rs, and reads their answers.
func (c *memcachedConn) exchange(rs []Request) error {
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

func (c *memcachedConn) add(r *Request) {
	if !r.Set {
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
func (c *memcachedConn) reply(r *Request) error {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("%w: it begins with %.80q: %w", ErrAnswer, line, err)
	}
	line = bytes.TrimSuffix(line, []byte("\r\n"))
	switch {
	case r.Set && string(line) == "HD":
		return nil
	case !r.Set && string(line) == "EN":
		r.Found, r.Value = false, r.Value[:0]
		return nil
	case !r.Set && bytes.HasPrefix(line, []byte("VA ")):
		return c.value(r, line[len("VA "):])
	}
	return fmt.Errorf("%w: memcached says %.80q", ErrAnswer, line)
}

func (c *memcachedConn) value(r *Request, size []byte) error {
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
	// Room is made for what arrives, not for what is announced.
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
func (c *memcachedConn) GetMany(ctx context.Context, rs []Request) error { return c.Do(ctx, rs) }

func (c *memcachedConn) Close() error { return c.conn.Close() }
