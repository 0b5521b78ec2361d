package child

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

// Role is what a child does. The packages that start children name theirs.
type Role string

// Spawn returns the command of a child that confines itself to cpus and then
// plays its role over a Pipe. Its pipes are not set.
type Spawn func(role Role, cpus affinity.Set) *exec.Cmd

// ErrFailed is wrapped when a child process fails; the text is the
// child's own.
var ErrFailed = errors.New("child process")

// ExitTime is how long a child may take to exit after its input was closed,
// before it is killed: a loaded server unmaps its slab well within this time.
const ExitTime = 10 * time.Second

// Process is a running child process, used by one goroutine.
type Process struct {
	role   Role
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan []byte // closed at the end of the child's output
	note   func(string)
	stderr tail
}

// Start starts a process and sends it its job. Notes of the child go to
// note, from the goroutine that calls Next.
func Start(spawn Spawn, role Role, cpus affinity.Set, job any, note func(string)) (*Process, error) {
	c := &Process{
		role: role, cmd: spawn(role, cpus), note: note,
		lines: make(chan []byte),
	}
	c.cmd.Stderr = &c.stderr
	// A process group of its own: Ctrl-C reaches the parent only, which
	// ends its children in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrFailed, role, err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrFailed, role, err)
	}
	// A child may get cores that its parent lacks.
	if err := affinity.Start(c.cmd, cpus); err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrFailed, role, err)
	}
	go func() {
		defer close(c.lines)
		c.readLines(out)
	}()
	if err := c.Send(job); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Process) readLines(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		c.lines <- line
	}
}

// Send writes one line to the child.
func (c *Process) Send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		c.Stop()
		return fmt.Errorf("%w (%s): %w%s", ErrFailed, c.role, err, c.stderr.text())
	}
	return nil
}

// Next decodes the child's next line into v, which must be empty. A note is
// passed on and does not count. The child's error, the end of its output
// and a cancelled context are errors.
func (c *Process) Next(ctx context.Context, v any) error {
	for {
		var line []byte
		ok := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case line, ok = <-c.lines:
		}
		if !ok {
			c.Stop() // Completes its standard error.
			return fmt.Errorf("%w (%s) ended early%s", ErrFailed, c.role, c.stderr.text())
		}
		var s said
		switch err := json.Unmarshal(line, &s); {
		case err != nil:
			return fmt.Errorf("%w (%s): spoke no JSON: %q", ErrFailed, c.role, line)
		case s.Error != "":
			return fmt.Errorf("%w (%s): %s", ErrFailed, c.role, s.Error)
		case s.Note != "":
			c.note(s.Note)
			continue
		}
		if err := json.Unmarshal(line, v); err != nil {
			return fmt.Errorf("%w (%s): %w", ErrFailed, c.role, err)
		}
		return nil
	}
}

// Stop closes the child's input, and later kills the child. It may be called
// again.
func (c *Process) Stop() {
	c.in.Close()
	kill := time.AfterFunc(ExitTime, func() { _ = c.cmd.Process.Kill() })
	for range c.lines {
	}
	_ = c.cmd.Wait() // The child has reported its errors already.
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
