package members

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/netns"
)

// Name is that of a group that has no other one.
const Name = "g"

// Group is a coordinator and the members of a group. One goroutine uses it.
type Group struct {
	Name    string   // empty: Name
	Program []string // the command of catfish
	Dir     string   // has the directories of all, each by its name
	CPUs    string   // cores of all, as taskset knows them; empty: any
	// Net, if not nil, has a namespace for each process: 0 the coordinator, i the member ni.
	Net         *netns.Switch
	Coordinator string // its address, once it was started; several groups may have one
	Members     []*Member
	// Patience bounds the start of a process, and the time until all members are in sync; 0:
	// a minute.
	Patience time.Duration

	coordinator *harness.Program
}

// Member is a server, also one that is in no group.
type Member struct {
	Name string
	Addr string // by which clients reach it; before its first start empty: any port
	HTTP string // the same; empty: not served
	P    *harness.Program
	at   int // its place
}

func (g *Group) wait(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(g.Patience, time.Minute))
}

// place is the IP address of process i, and the command line that runs another one there.
func (g *Group) place(i int, args []string) (string, []string) {
	if g.Net == nil {
		return "127.0.0.1", args
	}
	return g.Net.Addr(i), netns.Inside(g.Net.Namespace(i), args...)
}

func (g *Group) run(i int, args ...string) (*harness.Program, error) {
	_, all := g.place(i, append(slices.Clone(g.Program), args...))
	return harness.StartProgram(g.CPUs, nil, "", all...)
}

// DataDir is the directory of a process.
func (g *Group) DataDir(name string) string { return filepath.Join(g.Dir, name) }

// StartCoordinator starts it, and waits until it serves.
func (g *Group) StartCoordinator(ctx context.Context) (err error) {
	host, _ := g.place(0, nil)
	if g.coordinator, err = g.run(0, "coordinator", "--data-dir", g.DataDir("coordinator"), "--listen", net.JoinHostPort(host, "0")); err == nil {
		g.Coordinator, err = g.await(ctx, g.coordinator, "coordinator")
	}
	return err
}

func (g *Group) name() string { return cmp.Or(g.Name, Name) }

// Add adds a member, which is not started.
func (g *Group) Add() *Member {
	m := &Member{Name: fmt.Sprintf("n%d", len(g.Members)+1), at: len(g.Members) + 1}
	g.Members = append(g.Members, m)
	return m
}

// StartMember starts a member of the group, again perhaps, and waits until it listens.
func (g *Group) StartMember(ctx context.Context, m *Member, args ...string) error {
	return g.StartMemberOf(ctx, g.name(), m, args...)
}

// StartMemberOf is StartMember of one of several groups.
func (g *Group) StartMemberOf(ctx context.Context, group string, m *Member, args ...string) error {
	return g.StartAlone(ctx, m, append([]string{"--coordinators", g.Coordinator, "--group", group, "--node", m.Name}, args...)...)
}

// StartAlone starts a server that is in no group.
func (g *Group) StartAlone(ctx context.Context, m *Member, args ...string) (err error) {
	host, _ := g.place(m.at, nil)
	if m.Addr == "" {
		m.Addr = net.JoinHostPort(host, "0")
	}
	all := []string{"serve", "--data-dir", g.DataDir(m.Name), "--listen", m.Addr}
	if g.Net == nil { // In namespaces, shared memory would be a way around the network.
		all = append(all, "--socket", g.DataDir(m.Name+".sock"))
	}
	if m.HTTP != "" {
		all = append(all, "--http", m.HTTP)
	}
	if m.P, err = g.run(m.at, append(all, args...)...); err == nil {
		m.Addr, err = g.await(ctx, m.P, "addr")
	}
	if err == nil && m.HTTP != "" {
		m.HTTP, err = g.await(ctx, m.P, "http")
	}
	return err
}

// await waits for the line that a server prints when it is ready, and returns a word of it.
func (g *Group) await(ctx context.Context, p *harness.Program, name string) (value string, err error) {
	ctx, cancel := g.wait(ctx)
	defer cancel()
	err = p.Await(ctx, func() error {
		for line := range strings.Lines(p.Output()) {
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "ready" || !strings.HasSuffix(line, "\n") {
				continue
			}
			for _, w := range words {
				if v, ok := strings.CutPrefix(w, name+"="); ok {
					value = v
					return nil
				}
			}
		}
		return errNotYet
	})
	if err != nil {
		return "", fmt.Errorf("members: %w: %s", err, strings.TrimSpace(p.Output()))
	}
	return value, nil
}

var errNotYet = errors.New("members: not yet")

// Addrs are those that clients name.
func (g *Group) Addrs() string {
	var all []string
	for _, m := range g.Members {
		if m.P != nil {
			all = append(all, m.Addr)
		}
	}
	return strings.Join(all, ",")
}

// Command runs a command of catfish to its end, where the coordinator is.
func (g *Group) Command(ctx context.Context, args ...string) ([]byte, error) {
	_, all := g.place(0, append(slices.Clone(g.Program), args...))
	out, err := exec.CommandContext(ctx, all[0], all[1:]...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("members: catfish %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// Status is a part of 'cluster status --json'.
type Status struct {
	Name    string   `json:"name"`
	Primary string   `json:"primary"`
	InSync  []string `json:"in_sync"`
}

// Status asks for it.
func (g *Group) Status(ctx context.Context) (Status, error) {
	var all struct {
		Groups []Status `json:"groups"`
	}
	out, err := g.Command(ctx, "cluster", "status", "--json", "--coordinators", g.Coordinator)
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	i := slices.IndexFunc(all.Groups, func(s Status) bool { return s.Name == g.name() })
	if err == nil && i < 0 {
		err = fmt.Errorf("members: no group %q", g.name())
	}
	if err != nil {
		return Status{}, err
	}
	return all.Groups[i], nil
}

// Whole waits until all members are in sync.
func (g *Group) Whole(ctx context.Context) error {
	ctx, cancel := g.wait(ctx)
	defer cancel()
	for {
		s, err := g.Status(ctx)
		if err == nil && len(s.InSync) == len(g.Members) {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("members: members that are in sync: %v, want %d: %w", s.InSync, len(g.Members), errors.Join(err, context.Cause(ctx)))
		}
	}
}

// ByName is the member of a name, or nil.
func (g *Group) ByName(name string) *Member {
	for _, m := range g.Members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Stop kills all: their directories are about to be removed.
func (g *Group) Stop() error {
	var err error
	for _, m := range g.Members {
		if m.P != nil {
			err = errors.Join(err, m.P.Stop(syscall.SIGKILL))
		}
	}
	if g.coordinator != nil {
		err = errors.Join(err, g.coordinator.Stop(syscall.SIGKILL))
	}
	return err
}
