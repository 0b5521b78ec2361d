//go:build linux

package kvpeers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
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
	args    func(at place, job kv.ServerJob) []string
	keeps   bool // it can keep on disk what it stores
	dial    func(context.Context, dialer) (kv.Store, error)
}

// place is a server's address: a port, or a socket in its directory.
type place struct{ network, addr, port, dir string }

// In the peers' favour: they keep nothing on disk, unless the job says so; then Redis has its log, and
// does not write it again. Both have one thread for requests: Redis always, memcached by an option.
func redisArgs(at place, job kv.ServerJob) []string {
	args := []string{"--save", "", "--dir", at.dir, "--port", at.port, "--bind", "127.0.0.1"}
	switch job.Sync {
	case "":
		args = append(args, "--appendonly", "no")
	case kv.SyncAlways:
		args = append(args, "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
	default:
		args = append(args, "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0")
	}
	if at.network == Unix {
		args = append(args, "--unixsocket", at.addr)
	}
	return args
}

func memcachedArgs(at place, job kv.ServerJob) []string {
	args := []string{
		"-t", "1", "-U", "0", "-m", strconv.FormatInt(memoryOf(job)>>20, 10), "-I", strconv.Itoa(maxMemcachedValue),
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
	{name: "redis", program: "redis-server", debian: "redis-server", args: redisArgs, keeps: true, dial: dialRedisPipeline},
	{name: "redis-auto", program: "redis-server", debian: "redis-server", args: redisArgs, keeps: true, dial: dialRedis},
	{name: "memcached", program: "memcached", debian: "memcached", args: memcachedArgs, dial: dialMemcached},
}

// Schemes lists what Dial and StartServer know: each peer with each transport,
// such as redis-unix. With a sync (kv.Config) it lists those that can keep what they store.
func Schemes(sync string) (names []string) {
	for _, p := range peers {
		if sync == "" || p.keeps {
			names = append(names, p.name+"-"+Unix, p.name+"-"+TCP)
		}
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
	return nil, "", fmt.Errorf("%w: %q, want one of %s", ErrScheme, scheme, strings.Join(Schemes(""), ", "))
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
	*harness.Program
	place   place
	version string
	began   time.Time
}

// StartServer is the kv.StartServer of the peers: it starts a peer's program, on
// the cores of this process, and waits until it answers. Errors wrap ErrMissing if
// there is no such program.
func StartServer(ctx context.Context, job kv.ServerJob, note func(string)) (kv.Server, error) {
	p, transport, err := find(job.Scheme)
	if err != nil {
		return nil, err
	}
	if job.Sync != "" && !p.keeps {
		return nil, fmt.Errorf("%w: %s keeps nothing on disk: sync is %s", ErrScheme, p.name, job.Sync)
	}
	program, err := exec.LookPath(p.program)
	if err != nil {
		return nil, fmt.Errorf("%w: %s (apt-get install %s)", ErrMissing, p.program, p.debian)
	}
	note("starting " + program)
	s := &server{began: time.Now()}
	if s.version, err = version(ctx, program); err == nil {
		if s.place, err = findPlace(transport, job.Dir); err == nil {
			err = s.run(ctx, append([]string{program}, p.args(s.place, job)...))
		}
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("kvpeers: starting %s: %w", job.Scheme, err)
	}
	return s, nil
}

// run starts the program and waits until it can be connected to.
func (s *server) run(ctx context.Context, args []string) (err error) {
	if s.Program, err = harness.StartProgram("", nil, s.place.dir, args...); err != nil {
		return err
	}
	return s.AwaitAddr(ctx, s.place.network, s.place.addr)
}

// Addr is the address, of the scheme's transport.
func (s *server) Addr() string { return s.place.addr }

// Version is the program's version.
func (s *server) Version() string { return s.version }

// Index is zero: peers do not report it.
func (s *server) Index() (kv.Index, error) { return kv.Index{}, nil }

// Usage is that of the server's program.
func (s *server) Usage() (harness.Usage, error) { return s.Program.Usage(s.began) }

// Close ends the server and removes its files.
func (s *server) Close() error {
	var err error
	if s.Program != nil {
		err = s.Stop(syscall.SIGTERM)
	}
	if s.place.dir != "" {
		_ = os.RemoveAll(s.place.dir) // Leftovers are in the temporary directory.
	}
	return err
}

// findPlace makes a directory in dir, and finds a free port or names a socket. Redis
// wants port 0 for none.
func findPlace(transport, dir string) (at place, err error) {
	at.network, at.port = transport, "0"
	if at.dir, err = os.MkdirTemp(dir, "kvpeers-"); err != nil {
		return at, err
	}
	if transport == Unix {
		at.addr = filepath.Join(at.dir, "socket")
		return at, nil
	}
	at.addr, at.port, err = harness.FreeAddr()
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
