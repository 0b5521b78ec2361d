//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/catfish-index/catfish/rstar"
)

// resp is a connection that speaks Redis's protocol, as far as searches need it.
type resp struct {
	net.Conn
	r   *bufio.Reader
	out []byte
}

func dialRESP(ctx context.Context, addr string) (*resp, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return &resp{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, err
}

// add queues a command.
func (c *resp) add(args ...string) {
	c.out = fmt.Appendf(c.out, "*%d\r\n", len(args))
	for _, a := range args {
		c.out = append(strconv.AppendInt(append(c.out, '$'), int64(len(a)), 10), "\r\n"...)
		c.out = append(append(c.out, a...), "\r\n"...)
	}
}

// flush sends the queued commands.
func (c *resp) flush() error {
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

// do runs one command, and returns the number of strings in its answer.
func (c *resp) do(args ...string) (int, error) {
	c.add(args...)
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.reply()
}

// reply counts the strings of an answer, those of nested arrays included.
func (c *resp) reply() (strings int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil || len(line) < 4 {
		return 0, fmt.Errorf("answer begins with %q: %w", line, err)
	}
	kind, text, n := line[0], line[1:len(line)-2], 0
	switch {
	case kind == '+', kind == ':', text[0] == '-': // or there is none
		return 0, nil
	case kind != '$' && kind != '*':
		return 0, fmt.Errorf("the server says: %s", text)
	}
	for _, d := range text { // strconv would want a string
		n = 10*n + int(d-'0')
	}
	if kind == '$' {
		_, err = c.r.Discard(n + len("\r\n"))
		return 1, err
	}
	for range n {
		more, err := c.reply()
		if err != nil {
			return 0, err
		}
		strings += more
	}
	return strings, nil
}

// startRESP starts a server and calls add to store the objects, many at a time.
func startRESP(ctx context.Context, b *bench, s *server, add func(c *resp, id string, r rstar.Rect), args ...string) error {
	if err := s.place(); err != nil {
		return err
	}
	var c *resp
	if err := s.run(ctx, b, nil, func() (err error) { c, err = dialRESP(ctx, s.addr); return err }, args...); err != nil {
		return err
	}
	defer c.Close()
	const batch = 1000
	for i := 0; i < len(b.rects); i += batch {
		some := b.rects[i:min(i+batch, len(b.rects))]
		for j, r := range some {
			add(c, strconv.Itoa(i+j), r)
		}
		if err := c.flush(); err != nil {
			return err
		}
		for range some {
			if _, err := c.reply(); err != nil {
				return err
			}
		}
	}
	return nil
}

func connectRESP(search func(c *resp, r rstar.Rect) (int, error)) func(context.Context, *server) (searchFunc, func(), error) {
	return func(ctx context.Context, s *server) (searchFunc, func(), error) {
		c, err := dialRESP(ctx, s.addr)
		if err != nil {
			return nil, nil, err
		}
		return func(_ context.Context, r rstar.Rect) (int, error) { return search(c, r) }, func() { c.Close() }, nil
	}
}
