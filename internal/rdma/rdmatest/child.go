package rdmatest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// A child is this test binary run again, as the other side of a connection,
// so that it can be killed and stopped like a real peer. Its role comes from
// the environment; it prints one line when it is ready, and ends when its
// standard input does, also when the parent dies.
const (
	envRole    = "RDMATEST_ROLE"
	envAddr    = "RDMATEST_ADDR"
	envVariant = "RDMATEST_VARIANT"
)

// The roles of a child.
const (
	roleServe = "serve" // listen, answer every event with one
	roleFlood = "flood" // dial, then read, write and send without end
	roleIdle  = "idle"  // dial, then do nothing
)

const childBytes = 64 << 10 // of each side's region

var childReady bool

// Child makes the test binary able to act as a peer in a process of its own.
// TestMain calls it first; it returns at once, except in a child, where it
// never does. Open opens the provider; variant is Config.Variant.
func Child(open func(variant string) (rdma.Device, error)) {
	role := os.Getenv(envRole)
	if role == "" {
		childReady = true
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	err := runChild(role, os.Getenv(envAddr), func() (rdma.Device, error) {
		return open(os.Getenv(envVariant))
	})
	fmt.Println("error:", err)
	os.Exit(1)
}

// runChild returns only with an error.
func runChild(role, addr string, open func() (rdma.Device, error)) error {
	d, err := open()
	if err != nil {
		return err
	}
	cq, err := d.CreateCQ(rdma.DefaultDepth)
	if err != nil {
		return err
	}
	mem, err := d.Register(childBytes, allAccess)
	if err != nil {
		return err
	}
	key := placeBytes(mem.Remote())
	cfg := rdma.QPConfig{SendCQ: cq, RecvCQ: cq}
	if role == roleServe {
		return childServe(d, addr, cfg, key)
	}
	if role == roleIdle {
		fmt.Println("ready") // the parent may let it wait for an answer
	}
	q, err := d.Dial(context.Background(), addr, cfg, key)
	if err != nil {
		return err
	}
	if role == roleIdle {
		select {}
	}
	return childFlood(q, cq, mem, placeOf(q.PrivateData()))
}

// placeBytes encodes a region's key and address for a peer.
func placeBytes(r rdma.Remote) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(r.Key))
	return binary.LittleEndian.AppendUint64(b, r.Addr)
}

func placeOf(b []byte) rdma.Remote {
	return rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b)), Addr: binary.LittleEndian.Uint64(b[8:])}
}

// childServe accepts every connection and answers events.
func childServe(d rdma.Device, addr string, cfg rdma.QPConfig, key []byte) error {
	l, err := d.Listen(addr)
	if err != nil {
		return err
	}
	fmt.Println("ready", l.Addr())
	go func() {
		for {
			req, err := l.Accept(context.Background())
			if err != nil {
				return
			}
			_, _ = req.Accept(cfg, key) // the dialer sees a failure
		}
	}()
	for {
		cs, err := collect(cfg.RecvCQ, 1, time.Hour)
		if err != nil {
			return err
		}
		switch c := cs[0]; {
		case c.Status != rdma.StatusOK:
			_ = c.QP.Close()
		case c.Op == rdma.OpRecv:
			_, _ = c.QP.Post([]rdma.WorkRequest{event(0, c.Imm)}) // as above
		}
	}
}

// childFlood keeps its queue pair as full as it can.
func childFlood(q rdma.QueuePair, cq rdma.CompletionQueue, mem rdma.Region, remote rdma.Remote) error {
	one := func(op rdma.Op, n int) rdma.WorkRequest {
		return rdma.WorkRequest{Op: op, Remote: remote,
			Local: rdma.Buffer{Region: mem, Len: n}}
	}
	wrs := []rdma.WorkRequest{one(rdma.OpWrite, 5000), one(rdma.OpRead, 3000), one(rdma.OpWriteImm, 100)}
	for first := true; ; first = false {
		if err := postAll(q, cq, wrs, time.Hour, nil); err != nil {
			return err
		}
		if first {
			fmt.Println("ready")
		}
	}
}

// child is a running peer.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string // where roleServe listens
}

// child starts a peer and waits until it is ready. The case's end kills
// it.
func (e *env) child(role, addr string) *child {
	e.Helper()
	exe, err := os.Executable()
	e.must(err)
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), envRole+"="+role, envAddr+"="+addr,
		envVariant+"="+e.cfg.Variant, "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	e.must(err)
	stdout, err := cmd.StdoutPipe()
	e.must(err)
	e.must(cmd.Start())
	c := &child{cmd: cmd, stdin: stdin}
	e.Cleanup(c.kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready") {
		e.Fatalf("child %s: %q %v", role, line, err)
	}
	c.addr = strings.TrimSpace(strings.TrimPrefix(line, "ready"))
	return c
}

// signal sends s, and for SIGSTOP waits until the child has stopped.
func (e *env) signal(c *child, s syscall.Signal) {
	e.Helper()
	e.must(c.cmd.Process.Signal(s))
	if s != syscall.SIGSTOP {
		return
	}
	stat := fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid)
	stopped := func() bool { // the state follows the name in brackets
		b, err := os.ReadFile(stat)
		if errors.Is(err, os.ErrNotExist) {
			return true // no such file system: assume it
		}
		_, after, _ := strings.Cut(string(b), ") ")
		return strings.HasPrefix(after, "T")
	}
	if !poll(e.cfg.Patience, stopped) {
		e.Fatal("the child did not stop")
	}
}

// kill ends the child by SIGKILL and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.stdin.Close()
}
