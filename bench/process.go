package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
)

// Role is what a child process does.
type Role string

// The roles of children.
const (
	ServerRole Role = "server"
	ClientRole Role = "client"
	ReplayRole Role = "replay" // a client that works off a list of queries
)

// Spawn returns the command of a child that confines itself to cpus and
// then calls ServerMain or ClientMain. Its pipes are not set.
type Spawn func(role Role, cpus affinity.Set) *exec.Cmd

// ErrChild is wrapped when a child process fails; the text is the
// child's own.
var ErrChild = errors.New("bench: child process")

// childExit is how long a child may take to go away after its input was
// closed before it is killed: a loaded server unmaps its slab well within.
const childExit = 10 * time.Second

// child is a running child process, used by one goroutine.
type child struct {
	role   Role
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan fromChild // closed at the end of the child's output
	note   func(string)
	stderr tail
}

// startChild starts a process and sends it its job.
func startChild(spawn Spawn, role Role, cpus affinity.Set, job any, note func(string)) (*child, error) {
	c := &child{
		role: role, cmd: spawn(role, cpus), note: note,
		lines: make(chan fromChild),
	}
	c.cmd.Stderr = &c.stderr
	// A process group of its own: Ctrl-C reaches the parent only, which
	// ends its children in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrChild, role, err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrChild, role, err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrChild, role, err)
	}
	go func() {
		defer close(c.lines)
		c.readLines(out)
	}()
	if err := c.send(job); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) readLines(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m fromChild
		if err := json.Unmarshal(line, &m); err != nil {
			m = fromChild{Error: fmt.Sprintf("spoke no JSON: %q", line)}
		}
		c.lines <- m
	}
}

func (c *child) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		c.stop()
		return fmt.Errorf("%w (%s): %w%s", ErrChild, c.role, err, c.stderr.text())
	}
	return nil
}

// next returns the child's next line; an error line, the end of the
// output and a cancelled context are errors.
func (c *child) next(ctx context.Context) (fromChild, error) {
	for {
		select {
		case <-ctx.Done():
			return fromChild{}, context.Cause(ctx)
		case m, ok := <-c.lines:
			switch {
			case !ok:
				c.stop() // Only then all of its standard error is here.
				return m, fmt.Errorf("%w (%s) ended early%s",
					ErrChild, c.role, c.stderr.text())
			case m.Error != "":
				return m, fmt.Errorf("%w (%s): %s", ErrChild, c.role, m.Error)
			case m.Note != "":
				c.note(m.Note)
			default:
				return m, nil
			}
		}
	}
}

// stop ends the child: its input is closed, later it is killed. It may
// be called again.
func (c *child) stop() {
	c.in.Close()
	kill := time.AfterFunc(childExit, func() { _ = c.cmd.Process.Kill() })
	for range c.lines {
	}
	_ = c.cmd.Wait() // What it had to say, it has said.
	kill.Stop()
}

// tail keeps the end of what a child writes to standard error.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailBytes fits a panic's message and the top of its stack.
const tailBytes = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := bytes.TrimSpace(t.buf); len(b) > 0 {
		return ":\n" + string(b)
	}
	return ""
}
