package features

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// respConn speaks RESP 2, Redis' protocol, as a client that sends many
// requests together. Of answers it keeps only the measured parts, so that
// Tile38 does not wait for the client.
type respConn struct {
	c   net.Conn
	in  *bufio.Reader
	out *bufio.Writer
}

// reply is the answer to one request. Searches answer with a cursor and a list,
// which has a list for each object.
type reply struct {
	objects int      // lists in the list
	texts   []string // strings of a flat list
}

// errReply: the server's answer is an error, or is malformed.
var errReply = errors.New("bench: bad answer")

const respBuffer = 1 << 18 // of 100 features, several answers

func dialRESP(ctx context.Context, addr string) (*respConn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &respConn{c, bufio.NewReaderSize(c, respBuffer), bufio.NewWriterSize(c, respBuffer)}, nil
}

func (c *respConn) close() { _ = c.c.Close() }

// do sends requests together, and calls yield with the answer to each.
func (c *respConn) do(requests [][]string, yield func(i int, r *reply)) error {
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
		var r reply
		if err := c.read(&r, 0); err != nil {
			return fmt.Errorf("%w: %.80q", err, requests[i])
		}
		yield(i, &r)
	}
	return nil
}

func (c *respConn) head(kind byte, n int) {
	b := append(c.out.AvailableBuffer(), kind)
	b = strconv.AppendInt(b, int64(n), 10)
	_, _ = c.out.Write(append(b, '\r', '\n'))
}

// respMost is RESP's own limit of a string.
const respMost = 512 << 20

// respDepth is how deep lists may be: those of searches have three levels.
const respDepth = 8

// read takes one value, at this depth in lists.
func (c *respConn) read(r *reply, depth int) error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 3 || depth > respDepth {
		return fmt.Errorf("%w: %.80q", errReply, line)
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+', ':':
		return nil
	case '-':
		return fmt.Errorf("%w: %s", errReply, text)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n > respMost {
		return fmt.Errorf("%w: length %.80q", errReply, text)
	}
	switch {
	case n < 0:
		return nil
	case kind == '$' && depth == 1:
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.in, b)
		r.texts = append(r.texts, string(b[:n]))
		return err
	case kind == '$':
		_, err := c.in.Discard(n + 2)
		return err
	case kind == '*':
		if depth == 2 {
			r.objects++
		}
		for range n {
			if err := c.read(r, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%w: %.80q", errReply, line)
}
