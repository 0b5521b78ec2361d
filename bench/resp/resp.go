// Package resp speaks RESP 2, the protocol of Redis and Tile38, as a client that sends many
// requests together. Of answers it keeps only the measured parts, so that a server does not
// wait for the client.
package resp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// Conn is a connection, for one goroutine.
type Conn struct {
	c   net.Conn
	in  *bufio.Reader
	out *bufio.Writer
}

// Reply is the answer to one request. Searches of Tile38 answer with a cursor and a list,
// which has a list for each object.
type Reply struct {
	Objects int // lists in the list
	Strings int // at any depth
	texts   []string
}

// ErrReply: the server's answer is an error, or is malformed.
var ErrReply = errors.New("bench: bad answer")

const bufferBytes = 1 << 18 // of 100 features, several answers

// Dial connects to a server.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{c, bufio.NewReaderSize(c, bufferBytes), bufio.NewWriterSize(c, bufferBytes)}, nil
}

// Close ends the connection.
func (c *Conn) Close() { _ = c.c.Close() }

// Do sends requests together, and calls yield with the answer to each.
func (c *Conn) Do(requests [][]string, yield func(i int, r *Reply)) error {
	return c.do(requests, false, yield)
}

// Texts sends a request, and returns the strings of its answer, a flat list.
func (c *Conn) Texts(request ...string) (texts []string, err error) {
	err = c.do([][]string{request}, true, func(_ int, r *Reply) { texts = r.texts })
	return texts, err
}

func (c *Conn) do(requests [][]string, keep bool, yield func(i int, r *Reply)) error {
	for _, args := range requests {
		c.head('*', len(args))
		for _, a := range args {
			c.head('$', len(a))
			_, _ = c.out.WriteString(a) // A bufio.Writer keeps its error for Flush.
			_, _ = c.out.WriteString("\r\n")
		}
	}
	if err := c.out.Flush(); err != nil {
		return err
	}
	for i := range requests {
		var r Reply
		if err := c.read(&r, 0, keep); err != nil {
			return fmt.Errorf("%w: %.80q", err, requests[i])
		}
		yield(i, &r)
	}
	return nil
}

func (c *Conn) head(kind byte, n int) {
	b := append(c.out.AvailableBuffer(), kind)
	b = strconv.AppendInt(b, int64(n), 10)
	_, _ = c.out.Write(append(b, '\r', '\n'))
}

// mostBytes is RESP's own limit of a string.
const mostBytes = 512 << 20

// mostDepth is how deep lists may be: those of searches have three levels.
const mostDepth = 8

// read takes one value, at this depth in lists.
func (c *Conn) read(r *Reply, depth int, keep bool) error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 3 || depth > mostDepth {
		return fmt.Errorf("%w: %.80q", ErrReply, line)
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+', ':':
		return nil
	case '-':
		return fmt.Errorf("%w: %s", ErrReply, text)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n > mostBytes {
		return fmt.Errorf("%w: length %.80q", ErrReply, text)
	}
	switch {
	case n < 0:
		return nil
	case kind == '$' && keep:
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.in, b)
		r.texts = append(r.texts, string(b[:n]))
		return err
	case kind == '$':
		r.Strings++
		_, err := c.in.Discard(n + 2)
		return err
	case kind == '*':
		if depth == 2 {
			r.Objects++
		}
		for range n {
			if err := c.read(r, depth+1, keep); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%w: %.80q", ErrReply, line)
}
