//go:build linux

package kvpeers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
)

// Transports of the peers.
const (
	TCP  = "tcp"  // loopback
	Unix = "unix" // a unix socket
)

// peer is a server with a way to talk to it.
type peer struct {
	name    string
	program string
	debian  string // package that has the program
	args    func(at place, bytes int64) []string
	dial    func(ctx context.Context, network, addr string) (Conn, error)
	shared  bool // a client's operations come from goroutines of their own
}

// place is where a server is: a port, or a socket in its directory.
type place struct{ network, addr, port, dir string }

// In their favour: nothing is kept on disk. Both have one thread for
// requests: Redis has no choice, memcached an option.
func redisArgs(at place, _ int64) []string {
	args := []string{"--save", "", "--appendonly", "no", "--dir", at.dir, "--port", at.port, "--bind", "127.0.0.1"}
	if at.network == Unix {
		args = append(args, "--unixsocket", at.addr)
	}
	return args
}

func memcachedArgs(at place, bytes int64) []string {
	args := []string{
		"-t", "1", "-U", "0", "-m", strconv.FormatInt(bytes>>20, 10), "-I", strconv.Itoa(maxMemcachedValue),
		"-M", // An error, not silence, when memory is full.
	}
	if u, err := user.Current(); err == nil {
		args = append(args, "-u", u.Username) // As root it insists.
	}
	if at.network == Unix {
		return append(args, "-s", at.addr)
	}
	return append(args, "-l", "127.0.0.1", "-p", at.port)
}

var peers = []*peer{
	{name: "redis", program: "redis-server", debian: "redis-server", args: redisArgs, dial: dialRedis(false)},
	{name: "redis-auto", program: "redis-server", debian: "redis-server", args: redisArgs, dial: dialRedis(true), shared: true},
	{name: "memcached", program: "memcached", debian: "memcached", args: memcachedArgs, dial: dialMemcached},
}

// Names returns the names of all peers.
func Names() (names []string) {
	for _, p := range peers {
		names = append(names, p.name)
	}
	return names
}

func find(name string) (*peer, error) {
	i := slices.IndexFunc(peers, func(p *peer) bool { return p.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: peer %q, want one of %s", ErrConfig, name, strings.Join(Names(), ", "))
	}
	return peers[i], nil
}

func checkTransport(t string) error {
	if t != TCP && t != Unix {
		return fmt.Errorf("%w: transport %q, want %s or %s", ErrConfig, t, TCP, Unix)
	}
	return nil
}

// Server is a running server. Stop ends it.
type Server struct {
	peer    *peer
	place   place
	version string
	cmd     *exec.Cmd
	ended   chan struct{} // cmd has
	output  bytes.Buffer  // of cmd
}

// Start starts the server of a peer on cores of its own, all if there are
// none, and waits until it answers. It is sized for so many bytes. Errors wrap
// ErrMissing if there is no such program.
func Start(ctx context.Context, name, transport string, cpus affinity.Set, bytes int64) (_ *Server, err error) {
	p, err := find(name)
	if err != nil {
		return nil, err
	}
	if err := checkTransport(transport); err != nil {
		return nil, err
	}
	program, err := exec.LookPath(p.program)
	if err != nil {
		return nil, fmt.Errorf("%w: %s (apt-get install %s)", ErrMissing, p.program, p.debian)
	}
	s := &Server{peer: p}
	defer func() {
		if err != nil {
			err = fmt.Errorf("kvpeers: starting %s: %w", name, err)
			s.Stop()
		}
	}()
	if s.version, err = version(ctx, program); err != nil {
		return nil, err
	}
	if s.place, err = findPlace(transport); err != nil {
		return nil, err
	}
	args := append([]string{program}, p.args(s.place, bytes)...)
	if len(cpus) > 0 {
		taskset, err := exec.LookPath("taskset")
		if err != nil {
			return nil, fmt.Errorf("%w: taskset (apt-get install util-linux)", ErrMissing)
		}
		args = append([]string{taskset, "-c", cpus.String()}, args...)
	}
	return s, s.run(ctx, args)
}

// run starts the program and waits until it can be connected to.
func (s *Server) run(ctx context.Context, args []string) error {
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.place.dir, &s.output, &s.output
	// A group of its own: Ctrl-C is ours, Stop ends it in order.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	for {
		c, err := new(net.Dialer).DialContext(ctx, s.place.network, s.place.addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return fmt.Errorf("it ended: %v\n%s", s.cmd.ProcessState, s.output.Bytes())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Dial connects. Each connection is for one goroutine, but those of
// redis-auto are for several.
func (s *Server) Dial(ctx context.Context) (Conn, error) {
	return s.peer.dial(ctx, s.place.network, s.place.addr)
}

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	if s.ended != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
	}
	if s.place.dir != "" {
		_ = os.RemoveAll(s.place.dir) // What stays is in the temporary directory.
	}
}

// cpuTime is the processor time of the server, in clock ticks.
func (s *Server) cpuTime() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("kvpeers: %w", err)
	}
	return parseStat(b)
}

// parseStat reads utime and stime of proc_pid_stat(5), fields 14 and 15. The
// second field is the name in parentheses, which may have anything in it.
func parseStat(b []byte) (time.Duration, error) {
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, fmt.Errorf("kvpeers: /proc/PID/stat is %.80q", b)
	}
	ticks := int64(0)
	for _, field := range f[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("kvpeers: /proc/PID/stat: %w", err)
		}
		ticks += n
	}
	const perSecond = 100 // USER_HZ, on all that Go runs on
	return time.Duration(ticks) * time.Second / perSecond, nil
}

// findPlace makes a directory, and finds a free port or names a socket. Redis
// wants port 0 for none.
func findPlace(transport string) (at place, err error) {
	at.network, at.port = transport, "0"
	if at.dir, err = os.MkdirTemp("", "kvpeers-"); err != nil {
		return at, err
	}
	if transport == Unix {
		at.addr = filepath.Join(at.dir, "socket")
		return at, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return at, err
	}
	defer l.Close()
	at.addr = l.Addr().String()
	_, at.port, err = net.SplitHostPort(at.addr)
	return at, err
}

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+`)

func version(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	return versionNumber.FindString(string(out)), nil
}
