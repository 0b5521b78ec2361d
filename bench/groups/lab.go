package groups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/members"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// lab starts what is measured.
type lab struct {
	cfg   *Config
	spawn child.Spawn
	note  func(string)
	done  func(Row)
	net   *netns.Switch // of namespaces; nil without
	cpus  affinity.Set  // of clients
}

// portClients is the namespace of clients: before it are the coordinator's and the members'.
const portClients = maxMembers + 1

// patience bounds the start of a process, and the time until all members are in sync: a copy
// of a large store takes long.
const patience = 15 * time.Minute

// group is one set-up that runs, with its clients.
type group struct {
	members.Group
	lab     *lab
	cell    cell
	args    []string // of each member
	clients *child.Process
}

// start starts a set-up, and its clients.
func (l *lab) start(ctx context.Context, c cell, s setup) (*group, error) {
	g, err := l.prepare(c)
	if err != nil {
		return nil, err
	}
	if s.members == 0 {
		err = g.StartAlone(ctx, g.Add(), g.args...)
	} else {
		if s.level == Durable {
			g.args = append(g.args, "--durable")
		}
		err = g.startGroup(ctx, s.members)
	}
	if err == nil {
		err = g.startClients(ctx)
	}
	if err != nil {
		return nil, g.closed(err)
	}
	return g, nil
}

// prepare makes a directory for processes.
func (l *lab) prepare(c cell) (*group, error) {
	dir, err := os.MkdirTemp(l.cfg.Dir, "catfish-bench-groups-")
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	g := &group{lab: l, cell: c, Group: members.Group{Program: l.cfg.Program, Dir: dir, CPUs: l.cfg.ServerCPUs, Patience: patience}}
	if c.network == Namespaces {
		g.Net = l.net
		l.delay(c.delay)
	}
	g.args = []string{"--transport", c.transport(), "--sync", l.cfg.Sync}
	return g, nil
}

func (g *group) startClients(ctx context.Context) (err error) {
	job := clientJob{Addrs: g.Addrs(), Transport: g.cell.transport()}
	g.clients, _, err = harness.Start[any](ctx, g.lab.inside(g.cell), ClientRole, g.lab.cpus, job, g.lab.note)
	return err
}

func (g *group) startGroup(ctx context.Context, n int) error {
	if err := g.StartCoordinator(ctx); err != nil {
		return err
	}
	for range n {
		args := slices.Concat(g.args, []string{"--lane-transport", g.cell.transport()})
		if err := g.StartMember(ctx, g.Add(), args...); err != nil {
			return err
		}
	}
	return g.Whole(ctx)
}

// delay lets packets between members and clients arrive late. The coordinator is no part of
// a write.
func (l *lab) delay(d time.Duration) {
	l.net.Heal()
	for from := 1; d > 0 && from <= portClients; from++ {
		for to := 1; to <= portClients; to++ {
			if from != to {
				l.net.Delay(from, to, d)
			}
		}
	}
}

// inside starts children in the namespace of clients.
func (l *lab) inside(c cell) child.Spawn {
	if c.network == NoNetwork {
		return l.spawn
	}
	return func(role child.Role, cpus affinity.Set) *exec.Cmd {
		cmd := l.spawn(role, cpus)
		all := netns.Inside(l.net.Namespace(portClients), cmd.Args...)
		return exec.Command(all[0], all[1:]...)
	}
}

// primary is the process of the primary, or of the server alone.
func (g *group) primary(ctx context.Context) (*members.Member, error) {
	if g.Coordinator == "" {
		return g.Members[0], nil
	}
	s, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	m := g.ByName(s.Primary)
	if m == nil {
		return nil, fmt.Errorf("groups: the group has no primary: %+v", s)
	}
	return m, nil
}

// cpu is the processor time that a member's process has used.
func cpu(m *members.Member) (time.Duration, error) {
	u, err := m.P.Usage(time.Now())
	return u.CPU, err
}

// closed ends everything, and adds what fails to an error.
func (g *group) closed(err error) error { return errors.Join(err, g.close()) }

func (g *group) close() error {
	if g.clients != nil {
		g.clients.Stop()
	}
	return errors.Join(g.Stop(), os.RemoveAll(g.Dir))
}
