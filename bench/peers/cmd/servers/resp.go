//go:build linux

package main

import (
	"context"
	"strconv"

	"github.com/catfish-index/catfish/bench/resp"
	"github.com/catfish-index/catfish/rstar"
)

// startRESP starts a server of Redis's protocol, and stores the objects by the commands of
// add, many at a time.
func startRESP(ctx context.Context, b *bench, s *server, add func(id string, r rstar.Rect) []string, args ...string) error {
	if err := s.place(); err != nil {
		return err
	}
	var c *resp.Conn
	if err := s.run(ctx, b, func() (err error) { c, err = resp.Dial(ctx, s.addr); return err }, args...); err != nil {
		return err
	}
	defer c.Close()
	const batch = 1000
	var commands [][]string
	for i, r := range b.rects {
		if commands = append(commands, add(strconv.Itoa(i), r)); len(commands) < batch && i < len(b.rects)-1 {
			continue
		}
		if err := c.Do(commands, func(int, *resp.Reply) {}); err != nil {
			return err
		}
		commands = commands[:0]
	}
	return nil
}

// connectRESP makes searches by the commands of search.
func connectRESP(search func(r rstar.Rect) []string) func(context.Context, *server) (searchFunc, func(), error) {
	return func(ctx context.Context, s *server) (searchFunc, func(), error) {
		c, err := resp.Dial(ctx, s.addr)
		if err != nil {
			return nil, nil, err
		}
		var one [1][]string
		return func(_ context.Context, r rstar.Rect) (found int, err error) {
			one[0] = search(r)
			err = c.Do(one[:], func(_ int, r *resp.Reply) { found = r.Strings })
			return found, err
		}, c.Close, nil
	}
}
