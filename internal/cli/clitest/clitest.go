// Package clitest runs a program's commands in tests: in the test's process, and as
// processes of their own, which are the test binary once more.
package clitest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
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

// Run is the program under test: its main, with its surroundings as parameters. A
// TestMain hands it to Main.
type Run func(args []string, in io.Reader, out, errOut io.Writer) int

var run Run

// Main is a package's TestMain.
func Main(m *testing.M, r Run) {
	if os.Getenv(asProgram) != "" {
		os.Exit(r(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	// For children only: this process has passed the check above.
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	run = r
	goleak.VerifyTestMain(m)
}

// Patience bounds every wait. It is far above the time of each on a busy
// machine, and only reached when something is broken.
const Patience = 60 * time.Second

// Program runs the program in this process.
func Program(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// Succeed is Program, but must exit with 0.
func Succeed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errOut := Program(t, args...)
	if code != 0 {
		t.Fatalf("catfish %s: exit %d\n%s", strings.Join(args, " "), code, errOut)
	}
	return out
}

// Fail is Program, but must exit with code and print all of says on
// standard error, and nothing on standard output.
func Fail(t *testing.T, code int, args []string, says ...string) {
	t.Helper()
	got, out, errOut := Program(t, args...)
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

// Decode reads exactly one JSON object.
func Decode[T any](t *testing.T, text string) T {
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

// Process is the program as a separate process.
type Process struct {
	Cmd    *exec.Cmd
	Out    *bufio.Reader
	ErrOut Transcript
}

// Start starts the program, and kills it at the end of the test.
func Start(t *testing.T, args ...string) *Process {
	t.Helper()
	p := &Process{Cmd: exec.Command(os.Args[0], args...)}
	p.ErrOut.grown = make(chan struct{}, 1)
	p.Cmd.Stderr = &p.ErrOut
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Out = bufio.NewReader(out)
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		_ = p.Cmd.Wait()
	})
	return p
}

// Transcript is the output of a process so far.
type Transcript struct {
	mu    sync.Mutex
	said  bytes.Buffer
	grown chan struct{} // has an element if output came since it was empty
}

func (s *Transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return s.said.Write(b)
}

func (s *Transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// AwaitError returns when the process has printed text on standard error.
func (p *Process) AwaitError(t *testing.T, text string) {
	t.Helper()
	late := time.After(Patience)
	for !strings.Contains(p.ErrOut.String(), text) {
		select {
		case <-p.ErrOut.grown:
		case <-late:
			t.Fatalf("did not say %q; standard error:\n%s", text, p.ErrOut.String())
		}
	}
}

// impatient kills the process after Patience, unless stop is called before.
func (p *Process) impatient() (stop func() bool) {
	return time.AfterFunc(Patience, func() { _ = p.Cmd.Process.Kill() }).Stop
}

// Line is the next line of the output.
func (p *Process) Line(t *testing.T) string {
	t.Helper()
	defer p.impatient()()
	line, err := p.Out.ReadString('\n')
	if err != nil {
		_ = p.Cmd.Wait()
		t.Fatalf("%v instead of a line; standard error:\n%s", err, p.ErrOut.String())
	}
	return strings.TrimSuffix(line, "\n")
}

// Interrupt sends Ctrl-C. It returns the rest of the output and the exit status.
func (p *Process) Interrupt(t *testing.T) (rest string, code int) {
	t.Helper()
	if err := p.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	return p.Wait(t)
}

// Wait returns the rest of the output and the exit status.
func (p *Process) Wait(t *testing.T) (rest string, code int) {
	t.Helper()
	defer p.impatient()()
	var b bytes.Buffer
	_, _ = b.ReadFrom(p.Out)
	err := p.Cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		t.Fatalf("%v; standard error:\n%s", err, p.ErrOut.String())
	}
	return b.String(), p.Cmd.ProcessState.ExitCode()
}

// Serve starts a server and returns it, its address and its ready line.
func Serve(t *testing.T, args ...string) (p *Process, addr, ready string) {
	t.Helper()
	p = Start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	ready = p.Line(t)
	fields := strings.Fields(ready)
	if len(fields) < 2 || fields[0] != "ready" {
		t.Fatalf("first line is %q, want ready", ready)
	}
	return p, strings.TrimPrefix(fields[1], "addr="), ready
}

// File writes a file into a fresh directory.
func File(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ReadFile returns the content of a file.
func ReadFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Ask returns the answer to a GET with a key.
func Ask(t *testing.T, url, key string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}
