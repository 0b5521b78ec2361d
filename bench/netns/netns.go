package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ErrUnavailable is wrapped when this process cannot make networks; the
// text says what is missing.
var ErrUnavailable = errors.New("no network namespaces")

// Side is an end of a Link.
type Side string

// The two ends.
const (
	Server Side = "s"
	Client Side = "c"
)

const (
	// ServerIP is the server's address within a Link, ClientIP the
	// clients'.
	ServerIP = "198.18.0.1"
	ClientIP = "198.18.0.2"
	mask     = "/30"

	// Device is the name of the interface at both ends, so that both sides are
	// configured alike.
	Device = "wire"

	// prefix of the names of namespaces: catfish-PID-START-NUMBER-SIDE.
	prefix = "catfish-"

	// burstTime is how long a full bucket sends at once: long enough that
	// a busy core refills it in time (a scheduler's tick is 1 to 4 ms; the
	// bucket has a timer of its own), short beside any run. At 40 Gbit/s it
	// is 5 MB.
	burstTime = time.Millisecond
	// minBurst passes one of TCP's large segments, 64 KiB and headers,
	// which tbf would have to cut up otherwise.
	minBurst = 128 << 10
	// queueTime is how long a packet may wait before the queue drops: as deep
	// as a shallow switch's, 1.2 MB at 1 Gbit/s, 50 MB at 40, which is more
	// than the kernel's default window of a TCP connection, 6 MiB: at 40
	// Gbit/s one connection loses nothing.
	queueTime = 10 * time.Millisecond

	// MinRate and MaxRate, in bits per second: below, one packet takes
	// more than a second; above, no core keeps up with the bucket.
	MinRate = 10_000
	MaxRate = 400_000_000_000

	// patience is the timeout of ip and tc, which take milliseconds.
	patience = 10 * time.Second
)

// Available returns nil if this process can make a Link, else an error
// that wraps ErrUnavailable. It tries the namespaces and the bucket, since
// a container's root may lack the right, and a kernel the module.
func Available(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: needs root, runs as user %d", ErrUnavailable, os.Geteuid())
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: program %s is missing (install iproute2)", ErrUnavailable, tool)
		}
	}
	l, err := New(ctx, 1_000_000_000)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return l.Close()
}

// Link is two namespaces and the wire between them.
type Link struct {
	// Rate in bits per second, of each direction.
	Rate int64
	name string // of the namespaces, without side
}

// New makes a Link. It leaves nothing when it fails or ctx is done.
func New(ctx context.Context, rate int64) (*Link, error) {
	if rate < MinRate || rate > MaxRate {
		return nil, fmt.Errorf("netns: rate is %d bit/s, want %d to %d", rate, MinRate, int64(MaxRate))
	}
	name, err := newName()
	if err != nil {
		return nil, err
	}
	l := &Link{Rate: rate, name: name}
	burst := Burst(rate)
	s, c := l.Namespace(Server), l.Namespace(Client)
	bucket := []string{
		"root", "tbf", "rate", strconv.FormatInt(rate, 10) + "bit",
		"burst", strconv.FormatInt(burst, 10), "latency", queueTime.String(),
	}
	for _, args := range [][]string{
		{"ip", "netns", "add", s},
		{"ip", "netns", "add", c},
		{"ip", "-n", s, "link", "add", Device, "type", "veth", "peer", "name", Device, "netns", c},
		{"ip", "-n", s, "addr", "add", ServerIP + mask, "dev", Device},
		{"ip", "-n", c, "addr", "add", ClientIP + mask, "dev", Device},
		append([]string{"tc", "-n", s, "qdisc", "add", "dev", Device}, bucket...),
		append([]string{"tc", "-n", c, "qdisc", "add", "dev", Device}, bucket...),
		{"ip", "-n", s, "link", "set", "lo", "up"},
		{"ip", "-n", c, "link", "set", "lo", "up"},
		{"ip", "-n", s, "link", "set", Device, "up"},
		{"ip", "-n", c, "link", "set", Device, "up"},
	} {
		if err := run(ctx, args...); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// Burst is how many bytes a full bucket of a rate, in bits per second, lets
// through at once: the bytes that a run may move beyond the rate.
func Burst(rate int64) int64 {
	return max(minBurst, int64(float64(rate)/8*burstTime.Seconds()))
}

// made numbers the links and switches of this process.
var made atomic.Int64

// newName begins the names of the namespaces of a link or a switch.
func newName() (string, error) {
	start, err := startOf(os.Getpid())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%d-%d-%d-", prefix, os.Getpid(), start, made.Add(1)), nil
}

// Namespace is the name of a side's namespace.
func (l *Link) Namespace(side Side) string { return l.name + string(side) }

// Enter makes cmd, before its start, run within a side.
func (l *Link) Enter(side Side, cmd *exec.Cmd) error {
	ip, err := exec.LookPath("ip")
	if err != nil {
		return fmt.Errorf("netns: %w", err)
	}
	// ip replaces itself by the program, so the process is still cmd's.
	cmd.Args = append(Inside(l.Namespace(side), cmd.Path), cmd.Args[1:]...)
	cmd.Path = ip
	return nil
}

// Inside is the command line that runs a program in a namespace. The process of ip is that
// of the program.
func Inside(namespace string, args ...string) []string {
	return append([]string{"ip", "netns", "exec", namespace}, args...)
}

// Close removes the namespaces, and with them devices and buckets, once
// the last process inside has ended. It may be called again.
func (l *Link) Close() error {
	var failed error
	names, err := list(context.Background())
	if err != nil {
		return err
	}
	for _, side := range []Side{Server, Client} {
		for _, n := range names {
			if n == l.Namespace(side) {
				failed = errors.Join(failed, remove(n))
			}
		}
	}
	return failed
}

// Clean removes the namespaces of dead processes and returns their names.
// Several processes may call it at the same time.
func Clean(ctx context.Context) ([]string, error) {
	names, err := list(ctx)
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, n := range names {
		if !orphan(n) {
			continue
		}
		if err := remove(n); err != nil {
			now, listErr := list(ctx)
			if listErr != nil || slices.Contains(now, n) {
				return removed, errors.Join(err, listErr)
			}
			continue // Another process removed it.
		}
		removed = append(removed, n)
	}
	return removed, nil
}

// orphan reports whether a namespace is Catfish's and its process is dead. The
// start time distinguishes a process from a later one with its number.
func orphan(name string) bool {
	rest, ours := strings.CutPrefix(name, prefix)
	if !ours {
		return false
	}
	f := strings.Split(rest, "-")
	if len(f) != 4 {
		return false
	}
	pid, err1 := strconv.Atoi(f[0])
	start, err2 := strconv.ParseUint(f[1], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	now, err := startOf(pid)
	return errors.Is(err, os.ErrNotExist) || err == nil && now != start
}

// startOf is when a process started, in ticks since boot: field 22 of
// /proc/PID/stat (proc(5)), counted from the name's closing bracket, since the
// name may hold spaces.
func startOf(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("netns: %w", err)
	}
	text := string(b)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const at = 22 - 3 // the first field after the bracket is the third
	if len(f) <= at {
		return 0, fmt.Errorf("netns: /proc/%d/stat has %d fields", pid, len(f)+2)
	}
	start, err := strconv.ParseUint(f[at], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("netns: /proc/%d/stat: %w", pid, err)
	}
	return start, nil
}

// list returns the names of all namespaces.
func list(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ip", "netns", "list").Output()
	if err != nil {
		return nil, fmt.Errorf("netns: listing namespaces: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 0 { // "NAME (id: 0)"
			names = append(names, f[0])
		}
	}
	return names, nil
}

// remove is not bound to a caller's context: it also runs after that is done.
func remove(name string) error {
	return run(context.Background(), "ip", "netns", "del", name)
}

func run(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("netns: %s: %w: %s", strings.Join(args, " "), err,
			strings.TrimSpace(string(out)))
	}
	return nil
}
