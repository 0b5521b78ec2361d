package shm

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// childEnv holds the socket path of a child process that serves one
// region, and answers no event, until its standard input ends.
const childEnv = "CATFISH_SHM_TEST_CHILD"

const childBytes = 1 << 20

func childMain(path string) error {
	d, err := Open(Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	r, err := d.Register(childBytes, everything)
	if err != nil {
		return err
	}
	for i := range childBytes / 8 {
		binary.LittleEndian.PutUint64(r.Bytes()[8*i:], uint64(i))
	}
	q, err := d.CreateCQ(0)
	if err != nil {
		return err
	}
	l, err := d.Listen(path)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	req, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	key := binary.LittleEndian.AppendUint64(nil, uint64(r.Key()))
	if _, err = req.Accept(rdma.QPConfig{SendCQ: q, RecvCQ: q, RecvDepth: 64}, key); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startChild runs the child and connects to it.
func startChild(t *testing.T, s *side) (cmd *exec.Cmd, key rdma.Key) {
	t.Helper()
	path := socketPath(t)
	exe, err := os.Executable()
	check(t, err)
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	q, err := s.dev.Dial(ctx, path, s.config(), nil)
	check(t, err)
	s.qp = q.(*queuePair)
	return cmd, rdma.Key(binary.LittleEndian.Uint64(q.PrivateData()))
}

// stop stops the child and waits until the kernel reports that it has
// stopped.
func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	eventually(t, "the child stops", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		check(t, err)
		state := b[strings.LastIndexByte(string(b), ')')+2]
		return state == 'T'
	})
}

// Reads and Writes are one-sided: they work even while the target's process
// does not run at all.
func TestStoppedTargetIsReadAndWritten(t *testing.T) {
	s := newSide(t, 4096)
	cmd, key := startChild(t, s)
	read := func(off, n int) {
		t.Helper()
		w := transfer(rdma.OpRead, s.mem, key, n)
		w.Remote.Addr = uint64(off)
		post(t, s.qp, w)
		check(t, errOf(next(t, s.cq)))
	}
	read(0, 8)
	stop(t, cmd)
	for i := range 5000 {
		off := i * 2048 % (childBytes / 2)
		read(off, 2048)
		for at := 0; at < 2048; at += 8 {
			if v := binary.LittleEndian.Uint64(s.mem.Bytes()[at:]); v != uint64(off+at)/8 {
				t.Fatalf("read %d at %d", v, off+at)
			}
		}
	}
	w := transfer(rdma.OpWrite, s.mem, key, 512)
	w.Remote.Addr = childBytes - 512
	copy(s.mem.Bytes(), "written while it was stopped")
	post(t, s.qp, w)
	check(t, errOf(next(t, s.cq)))
	clear(s.mem.Bytes())
	read(childBytes-512, 512)
	if got := string(s.mem.Bytes()[:28]); got != "written while it was stopped" {
		t.Errorf("read back %q", got)
	}
	// Events fill its ring, not more, and cause no harm.
	n := 0
	for ; n < 1000; n++ {
		if _, err := s.qp.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm, Unsignaled: true}}); err != nil {
			break
		}
	}
	if n != 64 {
		t.Errorf("%d events fit into a ring of 64", n)
	}
	read(0, 64)
}

// A killed target's memory lives as long as it is mapped; the socket shows
// the target's end.
func TestKilledTarget(t *testing.T) {
	s := newSide(t, 4096)
	cmd, key := startChild(t, s)
	post(t, s.qp, transfer(rdma.OpRead, s.mem, key, 64))
	check(t, errOf(next(t, s.cq)))
	check(t, cmd.Process.Kill())
	c := next(t, s.cq)
	if c.Op != rdma.OpRecv || c.Status != rdma.StatusPeerLost {
		t.Errorf("got %v %q", c.Op, c.Status)
	}
	if _, err := s.qp.Post([]rdma.WorkRequest{transfer(rdma.OpRead, s.mem, key, 64)}); err == nil {
		t.Error("Post to a dead peer succeeded")
	}
}
