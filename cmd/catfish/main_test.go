package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asProgram in the environment makes this test binary the program itself,
// for all processes that tests start and for the children of these
// processes.
const asProgram = "CATFISH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Setenv(asProgram, "1") // For children only: this process has passed the check above.
	goleak.VerifyTestMain(m)
}

// patience bounds every wait. It is far above the time of each on a busy
// machine, and only reached when something is broken.
const patience = 60 * time.Second

// program runs the program in this process.
func program(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// succeed is program, but must exit with 0.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errOut := program(t, args...)
	if code != exitOK {
		t.Fatalf("catfish %s: exit %d\n%s", strings.Join(args, " "), code, errOut)
	}
	return out
}

// fail is program, but must exit with code and print all of says on
// standard error, and nothing on standard output.
func fail(t *testing.T, code int, args []string, says ...string) {
	t.Helper()
	got, out, errOut := program(t, args...)
	if got != code || out != "" {
		t.Errorf("catfish %s: exit %d, want %d; printed %q\n%s",
			strings.Join(args, " "), got, code, out, errOut)
	}
	for _, s := range says {
		if !strings.Contains(errOut, s) {
			t.Errorf("catfish %s: does not say %q:\n%s", strings.Join(args, " "), s, errOut)
		}
	}
	if strings.Contains(errOut, "goroutine ") {
		t.Errorf("catfish %s: panicked", strings.Join(args, " "))
	}
}

// decode reads exactly one JSON object.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if d.More() {
		t.Fatalf("more than one object: %q", text)
	}
	return v
}

// process is the program as a separate process.
type process struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	errOut transcript
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	p := &process{cmd: exec.CommandContext(ctx, os.Args[0], args...)}
	p.errOut.grown = make(chan struct{}, 1)
	p.cmd.Stderr = &p.errOut
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// transcript is the output of a process so far.
type transcript struct {
	mu    sync.Mutex
	said  bytes.Buffer
	grown chan struct{} // has an element if output came since it was empty
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return s.said.Write(b)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// awaitError returns when the process has printed text on standard error.
func (p *process) awaitError(t *testing.T, text string) {
	t.Helper()
	late := time.After(patience)
	for !strings.Contains(p.errOut.String(), text) {
		select {
		case <-p.errOut.grown:
		case <-late:
			t.Fatalf("did not say %q; standard error:\n%s", text, p.errOut.String())
		}
	}
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		_ = p.cmd.Wait()
		t.Fatalf("%v instead of a line; standard error:\n%s", err, p.errOut.String())
	}
	return strings.TrimSuffix(line, "\n")
}

// interrupt sends Ctrl-C. It returns the rest of the output and the exit status.
func (p *process) interrupt(t *testing.T) (rest string, code int) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	return p.wait(t)
}

func (p *process) wait(t *testing.T) (rest string, code int) {
	t.Helper()
	var b bytes.Buffer
	_, _ = b.ReadFrom(p.out)
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		t.Fatalf("%v; standard error:\n%s", err, p.errOut.String())
	}
	return b.String(), p.cmd.ProcessState.ExitCode()
}

// serve starts a server and returns it, its address and its ready line.
func serve(t *testing.T, args ...string) (p *process, addr, ready string) {
	t.Helper()
	p = start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	ready = p.line(t)
	fields := strings.Fields(ready)
	if len(fields) < 2 || fields[0] != "ready" {
		t.Fatalf("first line is %q, want ready", ready)
	}
	return p, strings.TrimPrefix(fields[1], "addr="), ready
}

// file writes a file into a fresh directory.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
