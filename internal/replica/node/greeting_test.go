package node

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
)

var errKey = errors.New("no valid key")

// guarded starts a member that admits peers with the key "k" alone. ended ends the key.
func guarded(t *testing.T) (n *Node, addr string, copies *atomic.Int64, ended func()) {
	t.Helper()
	db, err := disk.Open(filepath.Join(t.TempDir(), "data"), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &countingStore{logStore: logStore{db: db}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lost := make(chan func(), 16)
	n, err = Start(t.Context(), Options{
		Group: "g", Name: "n1", Addr: l.Addr().String(), Dir: t.TempDir(), StoreID: "s", Store: s, Coord: newDecider(), Lanes: l, Dial: dialTCP,
		Admit: func(key string, f func()) (func() bool, error) {
			if key != "k" {
				return nil, errKey
			}
			lost <- f
			return func() bool { return true }, nil
		},
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n, l.Addr().String(), &s.copies, func() { (<-lost)() }
}

type countingStore struct {
	logStore
	copies atomic.Int64
}

func (s *countingStore) Copy(dir string) error {
	s.copies.Add(1)
	return s.logStore.Copy(dir)
}

func shows(group, key string) Options {
	o := Options{Group: group, Dial: dialTCP}
	if key != "" {
		o.Key = func() (string, error) { return key, nil }
	}
	return o
}

// A stranger receives the reason, nothing else, and leaves no stream.
func TestStrangers(t *testing.T) {
	n, addr, copies, _ := guarded(t)
	for _, c := range []struct {
		name, group, key, says string
		from                   replica.ID
	}{
		{"no key", "g", "", errKey.Error(), 1},
		{"wrong key", "g", "K", errKey.Error(), 1},
		{"other group", "h", "k", `group \"h\"`, 1},
		{"no key of another group", "h", "", errKey.Error(), 1},
		{"no number of a member", "g", "k", "want one below", replica.MaxMembers},
	} {
		for _, wants := range []string{"a copy", "frames"} {
			o := shows(c.group, c.key)
			conn, err := dialTCP(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReaderSize(conn, lineBytes)
			err = o.greet(conn, r, greeting{From: c.from, Copy: wants == "a copy"})
			if !errors.Is(err, ErrNotAdmitted) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s wants %s: %v, want %q", c.name, wants, err, c.says)
			}
			_ = conn.SetReadDeadline(time.Now().Add(greetingTime))
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("%s wants %s, and gets %q, %v", c.name, wants, rest, err)
			}
			conn.Close()
		}
	}
	if err := FetchCopy(t.Context(), shows("g", "K"), addr, filepath.Join(t.TempDir(), "copy")); !errors.Is(err, ErrNotAdmitted) {
		t.Errorf("a copy with a wrong key: %v", err)
	}
	if copies.Load() > 0 {
		t.Errorf("the store was copied %d times", copies.Load())
	}
	n.lanes.mu.Lock()
	defer n.lanes.mu.Unlock()
	if len(n.lanes.in) > 0 {
		t.Errorf("streams %v", n.lanes.in)
	}
}

// Bytes that are no greeting end the stream.
func TestNoGreeting(t *testing.T) {
	_, addr, _, _ := guarded(t)
	for name, text := range map[string]string{"no JSON": "GET / HTTP/1.1\r\n", "endless": strings.Repeat("x", lineBytes), "an array": "[]\n"} {
		c, err := dialTCP(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); len(b) > 0 || err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		c.Close()
	}
}

// The streams of a key end with it.
func TestKeyEnds(t *testing.T) {
	_, addr, _, ended := guarded(t)
	c, err := dialTCP(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o, r := shows("g", "k"), bufio.NewReaderSize(c, lineBytes)
	if err := o.greet(c, r, greeting{From: 1}); err != nil {
		t.Fatal(err)
	}
	ended()
	_ = c.SetReadDeadline(time.Now().Add(greetingTime))
	if _, err := io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
}

// One copy is sent at a time. Another member gets ErrBusy meanwhile, and may ask again.
func TestCopiesOneByOne(t *testing.T) {
	n, addr, copies, _ := guarded(t)
	n.copying.Lock()
	if err := FetchCopy(t.Context(), shows("g", "k"), addr, filepath.Join(t.TempDir(), "c")); !errors.Is(err, ErrBusy) || errors.Is(err, ErrNotAdmitted) {
		t.Errorf("while another copy is sent: %v", err)
	}
	n.copying.Unlock()
	for i := range int64(2) { // A copy that has ended leaves it free.
		if err := FetchCopy(t.Context(), shows("g", "k"), addr, filepath.Join(t.TempDir(), "c")); err != nil {
			t.Error(err)
		}
		n.copying.Lock() // The source cleans up after the last byte.
		if is := copies.Load(); is != i+1 {
			t.Errorf("%d copies, want %d", is, i+1)
		}
		n.copying.Unlock()
	}
}

// A stream without a greeting does not delay the end of a member.
func TestCloseDuringGreeting(t *testing.T) {
	n, addr, _, _ := guarded(t)
	c, err := dialTCP(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > greetingTime/2 {
		t.Errorf("Close took %v", d)
	}
}

// A copy that stands still ends, at both sides.
func TestCopyStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, here := net.Pipe()
		go func() {
			r := bufio.NewReaderSize(there, lineBytes)
			_ = readLine(r, &greeting{})
			_, _ = there.Write([]byte("{}\n")) // and then nothing
		}()
		o := Options{Group: "g", Dial: func(context.Context, string) (net.Conn, error) { return here, nil }}
		began := time.Now()
		err := FetchCopy(t.Context(), o, "there", filepath.Join(t.TempDir(), "c"))
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, ErrCopy) || time.Since(began) != idleTime {
			t.Errorf("fetching: %v after %v", err, time.Since(began))
		}
		there.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		there, here := net.Pipe() // No peer reads there.
		n := &Node{o: Options{Dir: filepath.Join(t.TempDir(), "d"), Store: fileStore{}}, log: slog.New(slog.DiscardHandler)}
		n.copying.Lock()
		began := time.Now()
		n.sendCopy(here, bufio.NewReader(here), greeting{})
		if d := time.Since(began); d != idleTime {
			t.Errorf("sending ends after %v", d)
		}
		if !n.copying.TryLock() {
			t.Error("no other copy can be sent afterwards")
		}
		there.Close()
		here.Close()
	})
}

// fileStore is a store whose checkpoint is a file.
type fileStore struct{ Store }

func (fileStore) Copy(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "file"), make([]byte, 1<<20), 0o600)
}
