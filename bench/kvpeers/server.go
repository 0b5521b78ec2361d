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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/kv"
)

// Transports of the peers.
const (
	TCP  = "tcp"  // loopback
	Unix = "unix" // a unix socket
)

// peer is a kind of server and its client.
type peer struct {
	name    string
	program string
	debian  string // package that has the program
	args    func(at place, bytes int64) []string
	dial    func(context.Context, dialer) (kv.Store, error)
}

// place is a server's address: a port, or a socket in its directory.
type place struct{ network, addr, port, dir string }

// In the peers' favour: they keep nothing on disk. Both have one thread for
// requests: Redis always, memcached by an option.
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
		args = append(args, "-u", u.Username) // Required for root.
	}
	if at.network == Unix {
		return append(args, "-s", at.addr)
	}
	return append(args, "-l", "127.0.0.1", "-p", at.port)
}

var peers = []*peer{
	{name: "redis", program: "redis-server", debian: "redis-server", args: redisArgs, dial: dialRedisPipeline},
	{name: "redis-auto", program: "redis-server", debian: "redis-server", args: redisArgs, dial: dialRedis},
	{name: "memcached", program: "memcached", debian: "memcached", args: memcachedArgs, dial: dialMemcached},
}

// Schemes lists what Dial and StartServer know: each peer with each transport,
// such as redis-unix.
func Schemes() (names []string) {
	for _, p := range peers {
		names = append(names, p.name+"-"+Unix, p.name+"-"+TCP)
	}
	return names
}

func find(scheme string) (p *peer, transport string, err error) {
	for _, transport := range []string{Unix, TCP} {
		for _, p := range peers {
			if scheme == p.name+"-"+transport {
				return p, transport, nil
			}
		}
	}
	return nil, "", fmt.Errorf("%w: %q, want one of %s", ErrScheme, scheme, strings.Join(Schemes(), ", "))
}

// memoryOf bounds what a server holds. An item of memcached has 56 bytes and
// its key beside the value, in a slab of a class at most 1.25 times as large,
// and a hash table's pointer; twice that and a gigabyte are for inserts. It is
// a limit, not allocated at once.
func memoryOf(job kv.ServerJob) int64 {
	return int64(job.Keys)*int64(job.ValueBytes+100)*5/2 + 1<<30
}

// server is a running server, a kv.Server.
type server struct {
	place   place
	version string
	cmd     *exec.Cmd
	began   time.Time
	ended   chan struct{} // closed when cmd has ended
	output  bytes.Buffer  // of cmd
}

// StartServer is the kv.StartServer of the peers: it starts a peer's program, on
// the cores of this process, and waits until it answers. Errors wrap ErrMissing if
// there is no such program.
func StartServer(ctx context.Context, job kv.ServerJob, note func(string)) (kv.Server, error) {
	p, transport, err := find(job.Scheme)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath(p.program)
	if err != nil {
		return nil, fmt.Errorf("%w: %s (apt-get install %s)", ErrMissing, p.program, p.debian)
	}
	note("starting " + program)
	s := &server{began: time.Now()}
	if s.version, err = version(ctx, program); err == nil {
		if s.place, err = findPlace(transport); err == nil {
			err = s.run(ctx, append([]string{program}, p.args(s.place, memoryOf(job))...))
		}
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("kvpeers: starting %s: %w", job.Scheme, err)
	}
	return s, nil
}

// run starts the program and waits until it can be connected to.
func (s *server) run(ctx context.Context, args []string) error {
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.place.dir, &s.output, &s.output
	// A process group of its own: Ctrl-C reaches this process only, Stop ends
	// the server in order.
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

// Addr is the address, of the scheme's transport.
func (s *server) Addr() string { return s.place.addr }

// Version is the program's version.
func (s *server) Version() string { return s.version }

// Index is zero: peers do not report it.
func (s *server) Index() (kv.Index, error) { return kv.Index{}, nil }

// Usage is that of the server's program; this process only waits.
func (s *server) Usage() (u bench.Usage, err error) {
	if u, err = bench.UsageSince(s.began); err == nil {
		u.CPU, err = s.cpuTime()
	}
	return u, err
}

// Close ends the server and removes its files.
func (s *server) Close() error {
	if s.ended != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
	}
	if s.place.dir != "" {
		_ = os.RemoveAll(s.place.dir) // Leftovers are in the temporary directory.
	}
	return nil
}

// cpuTime is the processor time of the server, in clock ticks.
func (s *server) cpuTime() (time.Duration, error) {
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
