package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// need skips a test that this machine cannot run, with the reason; where no
// test may be skipped it fails.
func need(t *testing.T) {
	t.Helper()
	if err := Available(t.Context()); err != nil {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func all(t *testing.T) []string {
	t.Helper()
	n, err := list(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// names are this process's: tests of other packages have networks too.
func names(t *testing.T) []string {
	t.Helper()
	own := fmt.Sprintf("%s%d-", prefix, os.Getpid())
	return slices.DeleteFunc(all(t), func(name string) bool { return !strings.HasPrefix(name, own) })
}

// output runs a program within a side.
func output(t *testing.T, l *Link, side Side, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	if err := l.Enter(side, cmd); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// The bucket takes rates that 32 bits of bytes per second cannot hold, and
// its burst and queue grow with them.
func TestBucketOf40G(t *testing.T) {
	need(t)
	l, err := New(t.Context(), 40_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := Burst(l.Rate); got != 5_000_000 {
		t.Errorf("burst of %d bytes, want 5000000", got)
	}
	for _, side := range []Side{Server, Client} {
		out := output(t, l, side, "tc", "qdisc")
		// tc prints the burst as it was rounded to the kernel's ticks.
		for _, want := range []string{"rate 40Gbit", "lat 10ms", "burst 499"} {
			if !strings.Contains(out, want) {
				t.Errorf("side %s: no %q in\n%s", side, want, out)
			}
		}
	}
}

func TestLink(t *testing.T) {
	need(t)
	before := names(t)
	l, err := New(t.Context(), 1_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, side := range []Side{Server, Client} {
		out := output(t, l, side, "ip", "-o", "addr")
		ip := map[Side]string{Server: ServerIP, Client: ClientIP}[side]
		if !strings.Contains(out, ip+mask) {
			t.Errorf("side %s lacks %s:\n%s", side, ip, out)
		}
		if out := output(t, l, side, "tc", "qdisc"); !strings.Contains(out, "tbf") ||
			!strings.Contains(out, "rate 1Gbit") {
			t.Errorf("side %s has no bucket of 1 Gbit/s:\n%s", side, out)
		}
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := names(t); !slices.Equal(before, after) {
		t.Errorf("namespaces before %q, after %q", before, after)
	}
}

// A failure half-way, or an interrupt, leaves no namespaces.
func TestNewFails(t *testing.T) {
	need(t)
	before := names(t)
	// The name of the next link is taken.
	start, err := startOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	taken := fmt.Sprintf("%s%d-%d-%d-c", prefix, os.Getpid(), start, made.Load()+1)
	if err := run(t.Context(), "ip", "netns", "add", taken); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), 1_000_000); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("with %s taken: %v", taken, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, 1_000_000); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	for _, rate := range []int64{0, MinRate - 1, MaxRate + 1} {
		if _, err := New(t.Context(), rate); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprint(rate)) {
			t.Errorf("rate %d: %v", rate, err)
		}
	}
	if after := names(t); !slices.Equal(before, after) {
		t.Errorf("namespaces before %q, after %q", before, after)
	}
}

// Clean removes the namespaces of killed processes, and no others.
func TestClean(t *testing.T) {
	need(t)
	mine, err := New(t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	// Our own number with another start time: a dead process.
	left := fmt.Sprintf("%s%d-1-1-s", prefix, os.Getpid())
	foreign := fmt.Sprintf("other-%d-1-1-s", os.Getpid())
	for _, n := range []string{left, foreign} {
		if err := run(t.Context(), "ip", "netns", "add", n); err != nil {
			t.Fatal(err)
		}
	}
	defer remove(foreign)
	removed, err := Clean(t.Context())
	have := all(t)
	// Tests of other packages clean up, too, and may have been faster.
	if err != nil || slices.Contains(have, left) {
		t.Errorf("removed %q, %v; want %s among them", removed, err, left)
	}
	for _, n := range []string{foreign, mine.Namespace(Server), mine.Namespace(Client)} {
		if !slices.Contains(have, n) {
			t.Errorf("%s was removed, too", n)
		}
	}
}

// Of several concurrent Cleans, none fails for a namespace that another removed.
func TestCleanTogether(t *testing.T) {
	need(t)
	for i := range 4 {
		if err := run(t.Context(), "ip", "netns", "add", fmt.Sprintf("%s%d-1-%d-s", prefix, os.Getpid(), i)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := Clean(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if left := names(t); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestOrphan(t *testing.T) {
	start, err := startOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		fmt.Sprintf("catfish-%d-%d-1-s", os.Getpid(), start):   false,
		fmt.Sprintf("catfish-%d-%d-1-c", os.Getpid(), start+1): true,
		// Above the kernel's PID_MAX_LIMIT, 2^22.
		"catfish-5000000-1-1-s": true,
		"catfish-x-1-1-s":       false,
		"catfish-5000000":       false,
		"other-5000000-1-1-s":   false,
	} {
		if got := orphan(name); got != want {
			t.Errorf("orphan(%s) = %v", name, got)
		}
	}
}

func TestEnterKeepsTheProcess(t *testing.T) {
	need(t)
	l, err := New(t.Context(), 10_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command("sh", "-c", "echo $$")
	if err := l.Enter(Client, cmd); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != fmt.Sprint(cmd.Process.Pid) {
		t.Errorf("the program is process %s, cmd's is %d", got, cmd.Process.Pid)
	}
}
