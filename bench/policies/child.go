package policies

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// childExit is how long a call may take to end its own children and exit
	// after an interrupt, before it is killed.
	childExit = 30 * time.Second
	// lastLines is how many last lines of a call's standard error are in its error.
	lastLines = 8
)

// call runs a binary and returns its standard output.
func call(ctx context.Context, limit time.Duration, binary string, args []string) ([]byte, error) {
	ctx, cancel := withLimit(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	// A process group of its own: Ctrl-C reaches this program only, which
	// interrupts the call so that it can end in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = childExit
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w%s\nof: %s %s", err, tail(errOut.String()), binary, strings.Join(args, " "))
	}
	return out.Bytes(), nil
}

// withLimit bounds the time of calls with this context.
func withLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
}

// tail is the last lines of a text, on lines of their own.
func tail(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return ":\n" + strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}

// measure makes a candidate run a cell once, and returns all values by their
// labels.
func measure(ctx context.Context, c *Candidate, cell *Cell, args []string, limit time.Duration) (map[string]float64, error) {
	var rows []row
	if cell.Gbits > 0 {
		var err error
		if rows, err = throughNetwork(ctx, limit, c.Binary, cell.Gbits, args); err != nil {
			return nil, err
		}
	} else {
		out, err := call(ctx, limit, c.Binary, args)
		if err != nil {
			return nil, err
		}
		if rows, err = readRows(out); err != nil {
			return nil, err
		}
	}
	values := map[string]float64{}
	for i := range cell.Metrics {
		m := &cell.Metrics[i]
		v, err := m.read(rows)
		if err != nil {
			return nil, err
		}
		values[m.Label] = v
	}
	return values, nil
}
