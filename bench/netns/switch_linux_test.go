package netns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/longer"
)

func needSwitch(t *testing.T, n int) *Switch {
	t.Helper()
	if err := SwitchAvailable(t.Context()); err != nil {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s, err := NewSwitch(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// moment is how long a datagram may take.
const moment = 100 * time.Millisecond

// A packet is a datagram from one namespace to another, which bash sends.
func send(t *testing.T, s *Switch, from, to int, text string) {
	t.Helper()
	args := Inside(s.Namespace(from), "bash", "-c", "echo "+text+" >/dev/udp/"+s.Addr(to)+"/9")
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// tap receives datagrams in a namespace, and returns those that came within a moment.
func tap(t *testing.T, s *Switch, at int) (words func(within time.Duration) []string) {
	t.Helper()
	args := Inside(s.Namespace(at), "python3", "-u", "-c", `
import socket
l = socket.socket(type=socket.SOCK_DGRAM); l.bind(("`+s.Addr(at)+`", 9)); print("ready")
while True: print(l.recv(100).decode().strip())`)
	p := exec.Command(args[0], args[1:]...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout = w
	if err := errors.Join(p.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait() // It was killed.
		r.Close()
	})
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return func(within time.Duration) []string {
		_ = r.SetReadDeadline(time.Now().Add(within))
		var got []string
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return got
			}
			got = append(got, strings.TrimSpace(line))
		}
	}
}

// one waits for the next datagram, which should be text.
func one(t *testing.T, words func(time.Duration) []string, text string) {
	t.Helper()
	var got []string
	for began := time.Now(); len(got) == 0 && time.Since(began) < 10*time.Second; {
		got = words(moment)
	}
	if !slices.Equal(got, []string{text}) {
		t.Errorf("%q arrived, want %s", got, text)
	}
}

// Of two directions one may be cut, and what is cut can be healed.
func TestSwitchCutsOneWay(t *testing.T) {
	s := needSwitch(t, 2)
	words := tap(t, s, 1)
	send(t, s, 0, 1, "first")
	one(t, words, "first")
	s.Cut(0, 1)
	send(t, s, 0, 1, "second")
	if got := words(moment); len(got) > 0 {
		t.Errorf("through the cut came %q", got)
	}
	s.Heal()
	s.Cut(1, 0)
	send(t, s, 0, 1, "third")
	one(t, words, "third") // The other direction is cut.
	if s.Packets(0) < 3 {
		t.Errorf("%d packets were sent", s.Packets(0))
	}
}

// A delayed packet comes, and not at once.
func TestSwitchDelays(t *testing.T) {
	s := needSwitch(t, 2)
	words := tap(t, s, 1)
	const d = 300 * time.Millisecond
	s.Delay(0, 1, d)
	began := time.Now()
	send(t, s, 0, 1, "first")
	one(t, words, "first")
	if took := time.Since(began); took < d {
		t.Errorf("it arrived after %v, want %v", took, d)
	}
	longer.Measure(t, d, func(d time.Duration) error {
		s.Heal()
		s.Delay(0, 1, d)
		began := time.Now()
		send(t, s, 0, 1, "second")
		s.Cut(0, 1)
		if took := time.Since(began); took >= d {
			words(d)
			return fmt.Errorf("the cut came after %v", took)
		}
		if got := words(2 * d); len(got) > 0 {
			t.Errorf("%q was on the way when the cut came, and arrived", got)
		}
		return nil
	})
}

// Processes in different namespaces talk over TCP, and Close leaves nothing.
func TestSwitchCarriesTCP(t *testing.T) {
	s := needSwitch(t, 3)
	args := Inside(s.Namespace(2), "python3", "-c", `
import socket, sys
l = socket.socket(); l.bind(("`+s.Addr(2)+`", 7)); l.listen(); print("ready", flush=True)
c, _ = l.accept(); c.sendall(c.recv(100)); c.close()`)
	server := exec.Command(args[0], args[1:]...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	c, err := s.Dial(t.Context(), 0, s.Addr(2)+":7")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if from, _, _ := net.SplitHostPort(c.LocalAddr().String()); from != s.Addr(0) {
		t.Errorf("the connection is from %s, not from %s", from, s.Addr(0))
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if echo, err := io.ReadAll(c); err != nil || string(echo) != "hello" {
		t.Errorf("%q, %v", echo, err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := names(t); len(left) > 0 {
		t.Errorf("namespaces are left: %q", left)
	}
}

// A short delay is short: a quarter of some sleeps takes no longer than a fraction of the
// millisecond that Go's timers take in a process that does nothing else.
func TestShortSleeps(t *testing.T) {
	const d = 25 * time.Microsecond
	longer.Measure(t, 100*d, func(all time.Duration) error {
		var took []time.Duration
		for range all / d {
			began := time.Now()
			sleepUntil(began.Add(d))
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		if took[0] < d {
			t.Errorf("a sleep of %v took %v", d, took[0])
		}
		if took[len(took)/4] > 20*d {
			return fmt.Errorf("a quarter of %d sleeps of %v took up to %v, the longest %v", len(took), d, took[len(took)/4], took[len(took)-1])
		}
		return nil
	})
}
