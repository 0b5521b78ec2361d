package client

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
)

var leaseStops = flag.Int("lease-stops", 2, "rounds of TestStoppedLease on each transport: a round stops one client")

const (
	leaseChild = "CATFISH_TEST_LEASED" // of a test's client process: address, transport, file of its ledger
	sideBySide = 8                     // clients that are stopped at the same time, each in a round of its own
	// Filling keys take the places of the dead. Clients do not read them.
	fillFrom, fillTo = stopKeys, 256
	fillVersion      = 1 << 40
)

// ledger says which version of each key is acknowledged, and which one begun: the writer stores them, all
// processes map them.
type ledger struct{ begun, acked []atomic.Uint64 }

func openLedger(file string) (l ledger, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return l, err
	}
	defer f.Close()
	const bytes = 2 * 8 * stopKeys
	if err := f.Truncate(bytes); err != nil {
		return l, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return l, err
	}
	// Pages begin at multiples of 8, and stay mapped until the process ends.
	words := unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&mem[0])), 2*stopKeys)
	return ledger{words[:stopKeys], words[stopKeys:]}, nil
}

// removes reports whether this version of a key is its removal.
func removes(key int, version uint64) bool { return key%4 == 3 && version%2 == 0 }

// judge says what is wrong with an answer for a key whose version acked was acknowledged before the Get
// began, while none after begun had begun when it ended; "": nothing.
func judge(key int, value []byte, err error, acked, begun uint64) string {
	switch {
	case errors.Is(err, kv.ErrNotFound):
		for v := acked; v <= begun; v++ {
			if removes(key, v) {
				return ""
			}
		}
		return fmt.Sprintf("key %d is not found, at a version of %d to %d", key, acked, begun)
	case err != nil:
		return fmt.Sprintf("key %d: %v", key, err)
	case len(value) < 8:
		return fmt.Sprintf("key %d: %d bytes", key, len(value))
	}
	v := binary.LittleEndian.Uint64(value)
	if v < acked || v > begun || removes(key, v) || !bytes.Equal(value, stopValue(key, v)) {
		return fmt.Sprintf("key %d: version %d, want one of %d to %d: %x", key, v, acked, begun, value)
	}
	return ""
}

// TestStoppedLease: client processes are stopped while they have leases of several seconds. Meanwhile each
// record is updated or removed, and its place used again, which takes until the leases have ended. When a
// client goes on it never gets the old value, nor another key's.
func TestStoppedLease(t *testing.T) {
	if args := os.Getenv(leaseChild); args != "" {
		if err := json.NewEncoder(os.Stdout).Encode(readLeased(t, strings.Fields(args))); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, tr := range oneSided {
		t.Run(tr, func(t *testing.T) {
			t.Parallel()
			testLeases(t, tr)
		})
	}
}

func testLeases(t *testing.T, transport string) {
	w := newLeaseWriter(t)
	var clients []*leasedClient
	for range min(*leaseStops, sideBySide) {
		clients = append(clients, startLeased(t, w, transport))
	}
	rounds, longest := 0, time.Duration(0)
	for group := 0; rounds < *leaseStops; group++ {
		if group > 0 {
			w.all() // What was removed is there again.
		}
		least := time.Duration(2+group%4) * time.Second
		for _, c := range clients {
			c.tell(fmt.Sprint("lease ", least))
		}
		for _, c := range clients {
			longest = max(longest, c.leased())
		}
		for _, c := range clients {
			c.stop()
		}
		old := w.refs()
		w.all() // updates and removals
		took := w.reuse(old)
		for _, c := range clients {
			c.signal(syscall.SIGCONT)
			c.tell("pass")
		}
		for _, c := range clients {
			c.expect("passed")
		}
		rounds += len(clients)
		t.Logf("%d clients: leases of %v and more; all places were used again %v after the deaths", len(clients), least, took.Round(time.Millisecond))
	}
	var sum leaseReport
	for _, c := range clients {
		r := c.end()
		sum.Gets, sum.Hits, sum.Across = sum.Gets+r.Gets, sum.Hits+r.Hits, sum.Across+r.Across
		if r.Wrong != "" {
			t.Error(r.Wrong)
		}
	}
	t.Logf("%d rounds, leases with up to %v left: %d gets, %d by kept references, %d across a stop", rounds, longest, sum.Gets, sum.Hits, sum.Across)
}

// leaseWriter writes at the server.
type leaseWriter struct {
	t    *testing.T
	m    *server.Map
	addr string
	ledger
	file string // of the ledger
}

func newLeaseWriter(t *testing.T) *leaseWriter {
	// Little memory, so that places are used again as soon as they may be.
	s := startRecords(t, server.Options{SlabBytes: 4 << 20})
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	w := &leaseWriter{t: t, m: m, addr: s.Addr(), file: filepath.Join(t.TempDir(), "ledger")}
	if w.ledger, err = openLedger(w.file); err != nil {
		t.Fatal(err)
	}
	w.all()
	return w
}

// all writes the next version of each key.
func (w *leaseWriter) all() {
	for key := range stopKeys {
		v := w.begun[key].Add(1)
		if removes(key, v) {
			if err := w.m.Delete(testKey(key), kv.Condition{}); err != nil {
				w.t.Fatal(err)
			}
		} else {
			eventually(w.t, "room for a record", func() bool { return w.put(key, v) })
		}
		w.acked[key].Store(v)
	}
}

// put reports whether there was room.
func (w *leaseWriter) put(key int, version uint64) bool {
	_, err := w.m.Put(kv.Entry{Key: testKey(key), Value: stopValue(key, version)}, kv.Condition{})
	if err != nil && !errors.Is(err, record.ErrFull) {
		w.t.Fatal(err)
	}
	return err == nil
}

// refs are the references of all keys.
func (w *leaseWriter) refs() (refs []record.Ref) {
	var b kv.Buffer
	for key := range stopKeys {
		_, ref, err := w.m.Get(testKey(key), &b)
		if err != nil {
			w.t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	return refs
}

// reuse writes other keys of the same sizes until other records lie in all places of refs. It returns how long
// that took.
func (w *leaseWriter) reuse(refs []record.Ref) time.Duration {
	began := time.Now()
	var b kv.Buffer
	for version := uint64(fillVersion); len(refs) > 0; version++ {
		if time.Since(began) > 2*time.Minute {
			w.t.Fatalf("%d places are not used again", len(refs))
		}
		for key := fillFrom; key < fillTo; key++ {
			w.put(key, version)
		}
		refs = slices.DeleteFunc(refs, func(ref record.Ref) bool {
			_, err := w.m.Read(ref, &b)
			return err != nil && !errors.Is(err, record.ErrDead)
		})
	}
	return time.Since(began)
}

// leasedClient is a client process, as its parent sees it.
type leasedClient struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

func startLeased(t *testing.T, w *leaseWriter, transport string) *leasedClient {
	c := &leasedClient{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStoppedLease$", "-test.timeout=1h")}
	c.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", leaseChild, w.addr, transport, w.file))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.in, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewReader(out)
	return c
}

func (c *leasedClient) tell(line string) {
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.t.Fatal(err)
	}
}

func (c *leasedClient) expect(word string) (rest string) {
	line, err := c.lines.ReadString('\n')
	rest, ok := strings.CutPrefix(line, word)
	if err != nil || !ok {
		c.t.Fatalf("%q, %v; want %q", line, err, word)
	}
	return strings.TrimSpace(rest)
}

// leased waits until the client has its leases, and returns what is left of the longest.
func (c *leasedClient) leased() time.Duration {
	d, err := time.ParseDuration(c.expect("leased "))
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

func (c *leasedClient) signal(s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// stop returns when the process has stopped.
func (c *leasedClient) stop() {
	c.signal(syscall.SIGSTOP)
	eventually(c.t, "a process that has stopped", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
		return err == nil && bytes.Contains(b, []byte(") T "))
	})
}

func (c *leasedClient) end() (r leaseReport) {
	c.in.Close()
	if err := json.NewDecoder(c.lines).Decode(&r); err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Error(err)
	}
	return r
}
