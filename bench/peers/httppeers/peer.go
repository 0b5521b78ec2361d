//go:build linux

package main

import (
	"context"
	"errors"
	"regexp"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"

	"github.com/catfish-index/catfish/bench/harness"
)

// peer is a running server of places, with its helper processes.
type peer struct {
	name, version string
	addr          string // of HTTP
	// items is the path of a request for up to limit places of a box; tile
	// that of a vector tile.
	items     func(b orb.Bound, limit int) string
	tile      func(maptile.Tile) string
	lax       bool // tiles may be malformed: they are counted
	malformed int
	stack     // closed by Close, the last first
}

// stack has the ends of all that has been started.
type stack []func() error

func (s *stack) push(end func() error) { *s = append(*s, end) }

// Close ends everything, in the reverse order.
func (s *stack) Close() (err error) {
	for i := len(*s) - 1; i >= 0; i-- {
		err = errors.Join(err, (*s)[i]())
	}
	*s = nil
	return err
}

// setup has the inputs of starting a peer.
type setup struct {
	cfg  *config
	dir  string // for their files
	data *dataset
	note func(string)
}

// awaitReady waits for a line such as "ready http=ADDR", and returns the address.
func awaitReady(ctx context.Context, p *harness.Program) (addr string, err error) {
	err = p.Await(ctx, func() error {
		m := readyLine.FindStringSubmatch(p.Output())
		if m == nil {
			return errMissing
		}
		addr = m[1]
		return nil
	})
	return addr, err
}

var readyLine = regexp.MustCompile(`(?m)^ready .*\bhttp=(\S+).*$`)
