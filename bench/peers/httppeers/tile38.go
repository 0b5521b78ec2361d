//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/rueidis"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/places"
)

// Tile38
//
// Its server writes nothing to disk and listens on a unix socket. Its tiles
// have ids and no properties, and are not clipped. It can serve HTTP, but
// closes the connection after each answer; so a handler uses its own protocol.

// startTile38 starts the program, loads it and starts a handler.
func startTile38(ctx context.Context, s *setup) (_ *peer, err error) {
	p := handled("tile38")
	p.lax = true // Some of its lines have one point, which orb's decoder refuses.
	defer func() {
		if err != nil {
			err = withClosed(err, p)
		}
	}()
	out, err := exec.CommandContext(ctx, s.cfg.tile38, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s --version: %w", errMissing, s.cfg.tile38, err)
	}
	p.version = strings.TrimSpace(string(out))
	dir := filepath.Join(s.dir, "tile38")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	p.push(func() error { return os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	// Its port is not used.
	server, err := harness.StartProgram(s.cfg.serverCPUs, nil, dir, s.cfg.tile38, "-h", "127.0.0.1", "-p", "0", "-s", socket, "-d", dir, "--appendonly", "no", "-q")
	if err != nil {
		return nil, err
	}
	p.push(func() error { return server.Stop(syscall.SIGTERM) })
	if err := server.AwaitAddr(ctx, "unix", socket); err != nil {
		return nil, err
	}
	if err := loadTile38(ctx, socket, s.data.places); err != nil {
		return nil, err
	}
	return p, startHandler(ctx, p, s, "tile38", socket)
}

func dialTile38(socket string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{socket},
		DialCtxFn: func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
		ForceSingleClient: true, AlwaysRESP2: true, DisableCache: true, DisableRetry: true,
		ClientSetInfo: rueidis.DisableClientSetInfo, // Tile38 lacks CLIENT SETINFO.
	})
}

// loadBatch is how many commands are sent together.
const loadBatch = 1000

func loadTile38(ctx context.Context, socket string, all []places.Place) error {
	c, err := dialTile38(socket)
	if err != nil {
		return err
	}
	defer c.Close()
	var batch []rueidis.Completed
	for i := range all {
		text, err := places.AppendFeature(nil, all[i])
		if err != nil {
			return err
		}
		batch = append(batch, c.B().Arbitrary("SET", collection, all[i].ID, "OBJECT", string(text)).Build())
		if len(batch) < loadBatch && i < len(all)-1 {
			continue
		}
		for _, r := range c.DoMulti(ctx, batch...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
		batch = batch[:0]
	}
	return nil
}

// tile38 is the backend of a handler.
type tile38 struct{ rueidis.Client }

func openTile38(socket string) (backend, error) {
	c, err := dialTile38(socket)
	return tile38{c}, err
}

func (t tile38) close() { t.Close() }

// tile38Limit exceeds the objects of any tile: the default is 100.
const tile38Limit = "100000000"

var errTile38 = errors.New("unexpected answer of Tile38")

// items appends the objects unchanged: Tile38 stores features as text.
func (t tile38) items(ctx context.Context, dst []byte, b [4]float64, limit int) ([]byte, int, error) {
	n := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	found, err := t.ask(ctx, "LIMIT", strconv.Itoa(limit), "OBJECTS", "BOUNDS", n(b[1]), n(b[0]), n(b[3]), n(b[2]))
	if err != nil {
		return dst, 0, err
	}
	objects, err := found.ToArray()
	if err != nil {
		return dst, 0, err
	}
	for i := range objects {
		pair, err := objects[i].ToArray()
		if err != nil || len(pair) < 2 {
			return dst, 0, fmt.Errorf("%w: object %d has %d parts, %v", errTile38, i, len(pair), err)
		}
		text, err := pair[1].ToString()
		if err != nil {
			return dst, 0, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text...)
	}
	return dst, len(objects), nil
}

func (t tile38) tile(ctx context.Context, dst []byte, z, x, y int) ([]byte, error) {
	found, err := t.ask(ctx, "LIMIT", tile38Limit, "MVT", strconv.Itoa(x), strconv.Itoa(y), strconv.Itoa(z))
	if err != nil {
		return dst, err
	}
	text, err := found.ToString()
	return append(dst, text...), err
}

// ask is INTERSECTS of the places, whose answer is a cursor and the objects found.
func (t tile38) ask(ctx context.Context, args ...string) (*rueidis.RedisMessage, error) {
	parts, err := t.Do(ctx, t.B().Arbitrary("INTERSECTS", collection).Args(args...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	if len(parts) != 2 {
		return nil, fmt.Errorf("%w: %d parts, want a cursor and what was found", errTile38, len(parts))
	}
	return &parts[1], nil
}
