//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/netns"
)

// Ports of a round's network: namespaces of the coordinator, of clients, and of members.
const (
	portCoordinator = 0
	portClients     = 1
	crews           = 2
	portMember      = portClients + crews // of n1; others follow
)

// maxMembers is how many members there may be, with those that come later.
func (o *Options) maxMembers() int {
	if o.Groups > 1 {
		return (o.Groups + 1) * membersOfGroup
	}
	return 4
}

func (o *Options) ports() int { return portMember + o.maxMembers() }

// member is one of a group, and its process.
type member struct {
	Server
	group   string
	port    int
	home    string // has the data directory, and is a disk of its own
	mounted bool
	p       atomic.Pointer[harness.Program] // nil: it was not started
	removed atomic.Bool                     // from the group
	copies  int                             // how often its directory was removed, because it was damaged
}

// cluster is the servers of a round.
type cluster struct {
	o           *Options
	net         *netns.Switch
	dir         string
	coordinator *harness.Program
	members     []*member
}

// diskBytes is the size of a member's disk: the store's logs, of which up to three of 64 MiB exist
// at a time, and its files need it.
const diskBytes = 320 << 20

// clockStep is how far apart the clocks of two members are.
const clockStep = 26 * time.Hour

func newCluster(o *Options, net *netns.Switch, dir string) *cluster {
	c := &cluster{o: o, net: net, dir: dir}
	for i := range o.maxMembers() {
		name, group := fmt.Sprintf("n%d", i+1), "g"
		if o.Groups > 1 {
			group = groupName(i / membersOfGroup)
		}
		addr := net.Addr(portMember + i)
		c.members = append(c.members, &member{
			Server: Server{Node: name, Addr: addr + ":7130", HTTP: addr + ":8080"},
			group:  group, port: portMember + i, home: filepath.Join(dir, name),
		})
	}
	return c
}

// startTime bounds the start of a process, and the time until a group is whole.
const startTime = time.Minute

func (c *cluster) coordinatorAddr() string { return c.net.Addr(portCoordinator) + ":7120" }

func (c *cluster) startCoordinator(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	p, err := harness.StartProgram("", nil, c.dir, netns.Inside(c.net.Namespace(portCoordinator), filepath.Join(c.o.Bin, "catfish-coordinator"),
		"coordinator", "--data-dir", filepath.Join(c.dir, "coordinator"), "--listen", c.coordinatorAddr())...)
	if err != nil {
		return err
	}
	c.coordinator = p
	return p.Await(ctx, ready(p))
}

func ready(p *harness.Program) func() error {
	return func() error {
		if strings.Contains(p.Output(), "ready ") {
			return nil
		}
		return errors.New("rounds: not ready yet")
	}
}

// start starts a member's process, which may be ready later.
func (c *cluster) start(m *member) error {
	if !m.mounted {
		if err := os.MkdirAll(m.home, 0o700); err != nil {
			return err
		}
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", diskBytes), "catfish-rounds", m.home).CombinedOutput(); err != nil {
			return fmt.Errorf("rounds: a disk for %s: %w: %s", m.Node, err, out)
		}
		m.mounted = true
	}
	var args []string
	if c.o.clocks {
		step := strconv.Itoa(int(clockStep/time.Second) * (m.port - portMember))
		args = []string{"unshare", "--time", "--monotonic", step, "--boottime", step}
	}
	// Shared memory would be a way between members that no fault of the network cuts.
	args = append(args, filepath.Join(c.o.Bin, "catfish"), "serve", "--lane-transport", "soft", "--coordinators", c.coordinatorAddr(), "--group", m.group, "--node", m.Node,
		"--listen", m.Addr, "--http", m.HTTP, "--transport", "shm,soft,tcp", "--socket", filepath.Join(m.home, "shm"),
		"--data-dir", m.data(), "--memory-limit", "256MiB", "--workers", "1")
	if c.o.Trace != nil {
		args = append(args, "--verbose")
	}
	p, err := harness.StartProgram("", nil, c.dir, netns.Inside(c.net.Namespace(m.port), args...)...)
	if err == nil {
		m.p.Store(p)
	}
	return err
}

func (m *member) data() string { return filepath.Join(m.home, "data") }

func (m *member) runs() bool {
	p := m.p.Load()
	if p == nil {
		return false
	}
	select {
	case <-p.Ended():
		return false
	default:
		return true
	}
}

// kill ends a member at once, and returns when it has ended.
func (m *member) kill() error {
	if !m.runs() {
		return nil
	}
	return m.p.Load().Stop(syscall.SIGKILL)
}

// tail is the end of what a member has said.
func (m *member) tail() string {
	if p := m.p.Load(); p != nil {
		return lastLines(p.Output(), 3)
	}
	return ""
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

func (c *cluster) byName(node string) *member {
	i := slices.IndexFunc(c.members, func(m *member) bool { return m.Node == node })
	return c.members[i]
}

// present are the members that were started, and not removed.
func (c *cluster) present() []*member {
	var all []*member
	for _, m := range c.members {
		if m.p.Load() != nil && !m.removed.Load() {
			all = append(all, m)
		}
	}
	return all
}

// of are those of a group.
func (c *cluster) of(group string) []*member {
	return slices.DeleteFunc(c.present(), func(m *member) bool { return m.group != group })
}

func (c *cluster) close() error {
	var err error
	for _, m := range c.members {
		err = errors.Join(err, m.kill())
		if m.mounted {
			if e := syscall.Unmount(m.home, 0); e != nil {
				err = errors.Join(err, fmt.Errorf("rounds: disk of %s: %w", m.Node, e))
			}
		}
	}
	if c.coordinator != nil {
		err = errors.Join(err, c.coordinator.Stop(syscall.SIGKILL))
	}
	return err
}
