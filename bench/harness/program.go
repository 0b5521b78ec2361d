//go:build linux

package harness

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Program is a running program of others, such as a server that Catfish is compared with.
type Program struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed when cmd has ended
	output output
}

// output is what a program has written.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// StartProgram starts a program in a directory, as a user (nil: this one's), on some cores
// (empty: those of this process).
func StartProgram(cpus string, as *syscall.Credential, dir string, args ...string) (*Program, error) {
	if cpus != "" {
		args = append([]string{"taskset", "-c", cpus}, args...)
	}
	p := &Program{cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.output, &p.output
	// A process group of its own: Ctrl-C reaches this process only, Stop ends the program
	// in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true, Pdeathsig: syscall.SIGINT}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: starting %s: %w", args[0], err)
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	return p, nil
}

// Output is all that the program has written.
func (p *Program) Output() string { return p.output.String() }

// Signal signals the program.
func (p *Program) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Ended is closed when the program has ended.
func (p *Program) Ended() <-chan struct{} { return p.ended }

// Await waits until ready has no error.
func (p *Program) Await(ctx context.Context, ready func() error) error {
	for ready() != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return fmt.Errorf("bench: %s ended: %v\n%s", p.cmd.Path, p.cmd.ProcessState, strings.TrimSpace(p.Output()))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// AwaitAddr waits until an address can be connected to.
func (p *Program) AwaitAddr(ctx context.Context, network, addr string) error {
	return p.Await(ctx, func() error {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// stopTime is how long a program may take to end: a database that was measured without
// a disk has nothing to write.
const stopTime = time.Minute

// Stop signals the program, and waits until it has ended.
func (p *Program) Stop(with syscall.Signal) error {
	_ = p.cmd.Process.Signal(with)
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("bench: %s did not end in %v", p.cmd.Path, stopTime)
	}
}

// Usage is UsageSince, with the processor time of the program, not of this process, which
// only waits.
func (p *Program) Usage(began time.Time) (Usage, error) {
	u, err := UsageSince(began)
	if err != nil {
		return u, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return u, fmt.Errorf("bench: %w", err)
	}
	if u.CPU, err = parseStat(b); err == nil {
		u.Resident, err = p.Resident()
	}
	return u, err
}

// parseStat reads utime and stime of proc_pid_stat(5), fields 14 and 15. The
// second field is the name in parentheses, which may have anything in it.
func parseStat(b []byte) (time.Duration, error) {
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return 0, fmt.Errorf("bench: /proc/PID/stat is %.80q", b)
	}
	ticks := int64(0)
	for _, field := range f[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("bench: /proc/PID/stat: %w", err)
		}
		ticks += n
	}
	const perSecond = 100 // USER_HZ, on all that Go runs on
	return time.Duration(ticks) * time.Second / perSecond, nil
}

// Resident is the memory of the program.
func (p *Program) Resident() (int64, error) { return Resident(fmt.Sprint(p.cmd.Process.Pid)) }

// FreeAddr is an address of the loopback interface with an unused port.
func FreeAddr() (addr, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	addr = l.Addr().String()
	_, port, err = net.SplitHostPort(addr)
	return addr, port, err
}
