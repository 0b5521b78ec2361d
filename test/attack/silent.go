package attack

import (
	"context"
	"net"
	"time"
)

// silentOpen is how many connections each goroutine of a flood keeps open.
const silentOpen = 200

// flood dials at the rate of a flood, and closes only connections opened long ago.
func (e *Enemy) flood(ctx context.Context, dial func(ctx context.Context, i int) (net.Conn, error)) error {
	return e.each(ctx, e.size(8, 2), func(ctx context.Context, i int) error {
		open := make([]net.Conn, e.size(silentOpen, 40))
		defer func() {
			for _, c := range open {
				if c != nil {
					c.Close()
				}
			}
		}()
		for n := 0; ctx.Err() == nil; n++ {
			e.pace.wait(ctx)
			c, err := dial(ctx, i)
			if err != nil {
				e.count("dial failed", 1)
				pause(ctx, time.Millisecond) // The backlog is full.
				continue
			}
			e.count("silent", 1)
			if old := open[n%len(open)]; old != nil {
				old.Close()
			}
			open[n%len(open)] = c
		}
		return nil
	})
}

// dialSilent connects and sends b.
func (e *Enemy) dialSilent(ctx context.Context, i int, b []byte) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}}
	c, err := d.DialContext(ctx, "tcp", e.target.Addr)
	if err != nil {
		return nil, err
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	if len(b) > 0 {
		_, _ = c.Write(b) // The server may have shed it already.
	}
	return c, nil
}

var silentStreams = Attack{
	Name: "silent-streams", shows: "silent", flood: true,
	What: "connections to the TCP port that say nothing",
	run: func(ctx context.Context, e *Enemy) error {
		return e.flood(ctx, func(ctx context.Context, i int) (net.Conn, error) {
			return e.dialSilent(ctx, i, nil)
		})
	},
}

var silentHandshakes = Attack{
	Name: "silent-handshakes", shows: "silent", flood: true,
	What: "connections to the TCP port that ask for a queue pair of soft and say nothing more",
	run: func(ctx context.Context, e *Enemy) error {
		return e.flood(ctx, func(ctx context.Context, i int) (net.Conn, error) {
			return e.dialSilent(ctx, i, preamble(streamSoft))
		})
	},
}

var silentSockets = Attack{
	Name: "silent-sockets", shows: "silent", flood: true,
	What: "connections to shm's socket that say nothing",
	run: func(ctx context.Context, e *Enemy) error {
		return e.flood(ctx, func(ctx context.Context, _ int) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unixpacket", e.target.Socket)
		})
	},
}
