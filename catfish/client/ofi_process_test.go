//go:build ofi

package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/rstar"
)

// envServe makes this test binary a server, in a separate process that can
// be stopped and killed.
const envServe = "CATFISH_TEST_SERVE"

// serveChild serves 500 squares over ofi until its standard input ends.
func serveChild() {
	if os.Getenv(envServe) == "" {
		return
	}
	err := func() error {
		s, err := server.NewServer(server.Options{
			Transports: []string{model.TransportOFI}, Fabric: testFabric, SlabBytes: 16 << 20, Logger: quiet(),
		})
		if err != nil {
			return err
		}
		defer s.Close()
		tr, err := s.Collection(model.DefaultCollection)
		if err != nil {
			return err
		}
		for i := range 500 {
			if err := tr.Insert(square(float64(i), 0), uint64(i)); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
		fmt.Println("ready", s.Addr())
		return s.Serve(ctx)
	}()
	fmt.Println("ended:", err)
	os.Exit(0)
}

// startChild starts serveChild in a process and returns the server's address.
func startChild(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), envServe+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ok {
		t.Fatalf("child said %q, %v", line, err)
	}
	return cmd, addr
}

func dialChild(t *testing.T, addr, policy string) *Client {
	t.Helper()
	c, err := Dial(t.Context(), addr, Options{Transport: model.TransportOFI, Policy: policy, Fabric: testFabric, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestStoppedServer: over verbs, offloaded searches complete while the
// whole server process is stopped: the card serves them. Over libfabric's
// tcp they wait for the process, whose CPU serves the reads.
func TestStoppedServer(t *testing.T) {
	cmd, addr := startChild(t)
	c := dialChild(t, addr, "offload")
	search := func(i int) error {
		items, err := c.Search(t.Context(), square(float64(i)+0.5, 0.5))
		if err == nil && len(items) != 2 {
			err = fmt.Errorf("%d items, want 2", len(items))
		}
		return err
	}
	if err := search(0); err != nil { // opens the read channel, which needs the server
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	for !stopped(cmd.Process.Pid) {
		runtime.Gosched()
	}
	const searches = 200
	var done atomic.Int64
	ended := make(chan error, 1)
	go func() {
		for i := range searches {
			if err := search(i); err != nil {
				ended <- err
				return
			}
			done.Add(1)
		}
		ended <- nil
	}()
	if testFabric.Provider == "verbs" {
		if err := <-ended; err != nil {
			t.Errorf("while the server was stopped: %v", err)
		}
		if !stopped(cmd.Process.Pid) {
			t.Error("the server runs")
		}
		signal(syscall.SIGCONT)
		return
	}
	select {
	case err := <-ended:
		t.Errorf("%d searches done over a stopped server's sockets: %v", done.Load(), err)
	case <-time.After(100 * time.Millisecond): // time for a wrong answer to arrive
	}
	signal(syscall.SIGCONT)
	if err := <-ended; err != nil {
		t.Errorf("after the server went on: %v", err)
	}
}

// TestKilledServer kills the server in the middle of reads and messages:
// every call ends with an error that the package documents.
func TestKilledServer(t *testing.T) {
	for _, policy := range []string{"fast", "fetch", "offload"} {
		cmd, addr := startChild(t)
		c := dialChild(t, addr, policy)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var calls atomic.Int64
		errs := make(chan error)
		for i := range 8 {
			go func() {
				for {
					_, err := c.Search(ctx, rstar.Rect{MinX: float64(i), MaxX: 500, MaxY: 1})
					if calls.Add(1); err != nil {
						errs <- err
						return
					}
				}
			}()
		}
		for calls.Load() < 50 {
			runtime.Gosched()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*time.Second, cancel) // the calls wait for the server to come back
		for range 8 {
			err := <-errs
			if !errors.Is(err, model.ErrNoServer) && !errors.Is(err, context.Canceled) && !RetrySafe(err) {
				t.Errorf("%s: %v", policy, err)
			}
		}
		cancel()
		c.Close()
	}
}
