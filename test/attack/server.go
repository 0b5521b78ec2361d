package attack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

// ServerConfig says which server to attack.
type ServerConfig struct {
	Binary  string // catfish
	CPUs    string // that it may use, as for taskset; empty: all of this process
	Objects int64
	Flags   []string // more for 'catfish serve'
	Log     io.Writer
	web     bool // HTTP, with TLS
}

// slabBytes bounds each collection. By default one may take all of the memory
// limit, and a client that fills it leaves no room for writes of others.
const slabBytes = "1GiB"

// server is a running 'catfish serve'.
type server struct {
	Target
	cmd   *exec.Cmd
	dir   string // of its socket
	log   counter
	ended chan struct{} // closed when the process has ended; then err is set
	err   error
}

// counter counts the written bytes, and passes them on.
type counter struct {
	n atomic.Int64
	w io.Writer
}

func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.w.Write(b)
}

// startServer starts a server with the data set, and waits until it is ready.
func startServer(ctx context.Context, cfg ServerConfig) (_ *server, err error) {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	args := append([]string{
		"serve", "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--transport", "shm,soft,tcp",
		"--socket", filepath.Join(dir, "shm"),
		"--records", recordsName, "--slab-bytes", slabBytes,
		"--load", "uniform", "--objects", strconv.FormatInt(cfg.Objects, 10), "--seed", strconv.Itoa(seed),
	}, cfg.Flags...)
	if cfg.web {
		cert, key, err := writeCertificate(dir)
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		args = append(args, "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	}
	cmd := exec.Command(cfg.Binary, args...)
	if cfg.CPUs != "" { // which the affinity of this process, and with it 'serve --cpus', may exclude
		cmd = exec.Command("taskset", append([]string{"-c", cfg.CPUs, cfg.Binary}, args...)...)
	}
	s := &server{cmd: cmd, dir: dir, ended: make(chan struct{})}
	s.log.w = io.Discard
	if cfg.Log != nil {
		s.log.w = cfg.Log
	}
	s.cmd.Stderr = &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the parent
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attack: server: %w", err), os.RemoveAll(dir))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		ready <- line
		_, _ = io.Copy(io.Discard, r)
		s.err = s.cmd.Wait()
	}()
	select {
	case line := <-ready:
		addr, grpc := word(line, "addr"), word(line, "grpc")
		if addr == "" || grpc == "" {
			return nil, fmt.Errorf("attack: server says %q instead of that it is ready", line)
		}
		s.Target, err = NewTarget(ctx, addr, grpc)
		s.HTTP = word(line, "http")
		return s, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// word returns the value of NAME=VALUE in a line.
func word(line, name string) string {
	for _, w := range strings.Fields(line) {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v
		}
	}
	return ""
}

// stop ends the server. It returns an error if it had ended before, or failed.
func (s *server) stop() (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if err := s.died(); err != nil {
		return err
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	// If it does not end, the stacks in its log show what its goroutines wait for.
	quit := time.AfterFunc(patience, func() { _ = s.cmd.Process.Signal(syscall.SIGQUIT) })
	defer quit.Stop()
	kill := time.AfterFunc(2*patience, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.ended
	if s.err != nil {
		return fmt.Errorf("attack: server, when it was told to end: %w", s.err)
	}
	return nil
}

// errDied: the server ended without a signal from this process.
var errDied = errors.New("attack: the server died")

// died reports whether the server has ended, and how.
func (s *server) died() error {
	select {
	case <-s.ended:
		return fmt.Errorf("%w: %s", errDied, s.cmd.ProcessState)
	default:
		return nil
	}
}

// Sample is the state of the server's process at one time.
type Sample struct {
	Seconds     float64 `json:"seconds"` // since the first one
	Resident    int64   `json:"resident"`
	Peak        int64   `json:"peak"` // of Resident, since the process began
	Descriptors int     `json:"descriptors"`
	Threads     int     `json:"threads"`
	Goroutines  int     `json:"goroutines,omitempty"`
	Live        int64   `json:"live,omitempty"` // of Go's heap
	LogBytes    int64   `json:"log_bytes"`
}

// sample reads the values of the kernel.
func (s *server) sample() (m Sample, err error) {
	proc := "/proc/" + strconv.Itoa(s.cmd.Process.Pid)
	b, err := os.ReadFile(proc + "/status")
	if err != nil {
		return m, fmt.Errorf("attack: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64) // Other lines have no numbers.
		switch f[0] {
		case "VmRSS:":
			m.Resident = n << 10
		case "VmHWM:":
			m.Peak = n << 10
		case "Threads:":
			m.Threads = int(n)
		}
	}
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return m, fmt.Errorf("attack: %w", err)
	}
	m.Descriptors, m.LogBytes = len(fds), s.log.n.Load()
	return m, nil
}

// status queries the server as a client.
func (s *server) status(ctx context.Context) (catfish.ServerStats, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := catfish.Dial(ctx, s.Addr, catfish.Options{Transport: "tcp", Logger: discard()})
	if err != nil {
		return catfish.ServerStats{}, fmt.Errorf("attack: status: %w", err)
	}
	defer c.Close()
	return c.Stats(ctx)
}
