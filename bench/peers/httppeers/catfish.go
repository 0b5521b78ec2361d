//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"

	"github.com/catfish-index/catfish/bench/harness"
)

// collection is the name of the places in all peers.
const collection = "places"

// startCatfish starts `catfish serve` with the places loaded. The other peers
// do not count matches beyond the page, so Catfish need not either; its pages
// are in the order of ids, unlike theirs.
func startCatfish(ctx context.Context, s *setup) (p *peer, err error) {
	p = &peer{
		name: "catfish",
		items: func(b orb.Bound, limit int) string {
			return fmt.Sprintf("/collections/%s/items?bbox=%s&limit=%d&numberMatched=false", collection, bbox(b), limit)
		},
		tile: func(t maptile.Tile) string {
			return fmt.Sprintf("/collections/%s/tiles/%d/%d/%d.mvt", collection, t.Z, t.X, t.Y)
		},
	}
	out, err := exec.CommandContext(ctx, s.cfg.catfish, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s version: %w (make build)", s.cfg.catfish, err)
	}
	p.version, _, _ = strings.Cut(string(out), "\n")
	c, err := harness.StartProgram(s.cfg.serverCPUs, nil, s.dir, s.cfg.catfish, "serve", "--listen", "127.0.0.1:0", "--transport", "tcp",
		"--http", "127.0.0.1:0", "--collection", collection, "--kind", "features", "--format", "geojsonseq", "--strict",
		"--load", s.data.file)
	if err != nil {
		return nil, err
	}
	p.push(func() error { return c.Stop(syscall.SIGTERM) })
	if p.addr, err = awaitReady(ctx, c); err != nil {
		return nil, withClosed(err, p)
	}
	return p, nil
}

// bbox formats a box as in URLs.
func bbox(b orb.Bound) string {
	return fmt.Sprintf("%.7f,%.7f,%.7f,%.7f", b.Min[0], b.Min[1], b.Max[0], b.Max[1])
}
