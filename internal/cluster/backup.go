package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/wire"
)

// askTime bounds a question to the coordinators.
const askTime = 10 * time.Second

// busyPause is between attempts at a member that sends another copy.
const busyPause = 200 * time.Millisecond

// Access is what members want of a process that asks for copies of their stores.
type Access struct {
	Key    func() (string, error) // of role replica for all groups; nil: they want none
	Certs  *certs.Server          // nil: without TLS
	Logger *slog.Logger
}

// Backup copies the stores of all groups of the map into a directory that is missing or empty, all at the
// same time, each from its primary as a new member gets it, and checks the copies. After an
// error nothing of it is left. ErrRefused: there is no map, or slots had another owner meanwhile.
func Backup(ctx context.Context, c *coord.Client, dir string, a Access) (_ *Manifest, err error) {
	is, groups, err := state(ctx, c)
	if err != nil {
		return nil, err
	}
	if is == nil {
		return nil, fmt.Errorf("%w: there is no map: each group has a store of its own, whose primary makes a backup of it", ErrRefused)
	}
	made, err := makeEmpty(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, empty(dir, made))
		}
	}()
	m := &Manifest{Format: manifestFormat, Groups: make([]GroupCopy, len(is.Groups)), is: is}
	if m.Map, err = is.Encode(); err != nil {
		return nil, err
	}
	// The first that fails ends the others.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i, g := range is.Groups {
		m.Groups[i].Name = g.Name
		all.Go(func() {
			if err := m.Groups[i].fetch(ctx, groups, filepath.Join(dir, g.Name), &a); err != nil {
				cancel(fmt.Errorf("group %q: %w", g.Name, err))
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	switch now, _, err := state(ctx, c); {
	case err != nil:
		return nil, err
	case now == nil || now.Epoch != is.Epoch:
		return nil, fmt.Errorf("%w: slots have moved between groups while these were copied: try again", ErrRefused)
	}
	m.Taken = time.Now().UTC().Truncate(time.Second)
	return m, m.write(dir)
}

func state(ctx context.Context, c *coord.Client) (*placement.Map, []*node.Group, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	m, err := Read(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	groups, err := node.Groups(ctx, c)
	return m, groups, err
}

// fetch copies the store of a group from its primary.
func (g *GroupCopy) fetch(ctx context.Context, groups []*node.Group, dir string, a *Access) error {
	i := slices.IndexFunc(groups, func(of *node.Group) bool { return of.Name == g.Name })
	if i < 0 {
		return fmt.Errorf("%w: it has not been started yet", node.ErrNoGroup)
	}
	from := groups[i].Member(groups[i].Primary)
	if from == nil {
		return fmt.Errorf("%w: it has no primary", ErrRefused)
	}
	// One that was the primary and does not know better would give what is old.
	switch h, err := wire.AskHello(ctx, from.Addr); {
	case err != nil:
		return err
	case h.Group == nil || h.Group.Name != g.Name || h.Group.Role != wire.RolePrimary:
		return fmt.Errorf("%w: the server at %s is not its primary", ErrRefused, from.Addr)
	}
	o := node.Options{Group: g.Name, Key: a.Key, Logger: a.Logger, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		return Dial(ctx, addr, wire.StreamReplica, a.Certs)
	}}
	err := node.FetchCopy(ctx, o, from.Addr, dir)
	for errors.Is(err, node.ErrBusy) { // One copy is sent at a time.
		select {
		case <-time.After(busyPause):
			err = node.FetchCopy(ctx, o, from.Addr, dir)
		case <-ctx.Done():
			return err
		}
	}
	if err != nil {
		return err
	}
	r, err := disk.Check(dir)
	if err != nil {
		return err
	}
	return g.measure(dir, r)
}

// makeEmpty makes a directory, unless there is an empty one.
func makeEmpty(dir string) (made bool, err error) {
	l, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, os.MkdirAll(dir, 0o700)
	case err == nil && len(l) > 0:
		err = fmt.Errorf("%w: %s", disk.ErrExists, dir)
	}
	return false, err
}

// empty removes what is in a directory, and the directory if it was made.
func empty(dir string, made bool) error {
	if made {
		return os.RemoveAll(dir)
	}
	l, err := os.ReadDir(dir)
	for _, e := range l {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
