//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"
)

// peer is a running server of places, with its helper processes.
type peer struct {
	name, version string
	addr          string // of HTTP
	// items is the path of a request for up to limit places of a box; tile
	// that of a vector tile.
	items     func(b orb.Bound, limit int) string
	tile      func(maptile.Tile) string
	lax       bool // tiles may be malformed: they are counted
	malformed int
	stack     // closed by Close, the last first
}

// stack has the ends of all that has been started.
type stack []func() error

func (s *stack) push(end func() error) { *s = append(*s, end) }

// Close ends everything, in the reverse order.
func (s *stack) Close() (err error) {
	for i := len(*s) - 1; i >= 0; i-- {
		err = errors.Join(err, (*s)[i]())
	}
	*s = nil
	return err
}

// setup has the inputs of starting a peer.
type setup struct {
	cfg  *config
	dir  string // for their files
	data *dataset
	note func(string)
}

// process is a program that was started.
type process struct {
	name  string
	cmd   *exec.Cmd
	out   io.ReadCloser
	ended chan struct{}
	said  tail // on standard error
}

// start starts a program on some cores; empty: on all.
func start(cpus string, who *syscall.Credential, dir, program string, args ...string) (*process, error) {
	p := &process{name: program, ended: make(chan struct{})}
	if cpus != "" {
		program, args = "taskset", append([]string{"-c", cpus, program}, args...)
	}
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Stderr = dir, &p.said
	// A process group of its own: Ctrl-C reaches this process only, Close ends
	// it in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM, Credential: who}
	var err error
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	return p, nil
}

// ready waits for a line such as "ready http=ADDR", and returns the address.
// It keeps reading the output until the process ends.
func (p *process) ready(ctx context.Context) (addr string, err error) {
	lines := bufio.NewScanner(p.out)
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				for _, field := range strings.Fields(rest) {
					if addr, ok := strings.CutPrefix(field, "http="); ok {
						found <- addr
					}
				}
			}
		}
		p.wait()
	}()
	select {
	case addr, ok := <-found:
		if !ok {
			return "", p.failed()
		}
		return addr, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// answers waits until connecting succeeds.
func (p *process) answers(ctx context.Context, network, addr string) error {
	go func() {
		_, _ = io.Copy(io.Discard, p.out)
		p.wait()
	}()
	for {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return p.failed()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// wait is called once, when the output has ended.
func (p *process) wait() {
	_ = p.cmd.Wait()
	close(p.ended)
}

func (p *process) failed() error {
	<-p.ended
	return fmt.Errorf("%s ended, %v: %s", p.name, p.cmd.ProcessState, p.said.String())
}

// end signals the process, and waits. The caller has called ready or answers.
func (p *process) end(with os.Signal) error {
	_ = p.cmd.Process.Signal(with)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end in a minute", p.name)
	}
	return nil
}

// tail keeps the last bytes that were written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf) - tailBytes; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
