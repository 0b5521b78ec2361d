package harness

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// TestRounds: each round has every thing once, the last in order, and no thing
// always follows the same one.
func TestRounds(t *testing.T) {
	var got []string
	for round, at := range Rounds(4, 3) {
		for len(got) <= round {
			got = append(got, "")
		}
		got[round] += string(rune('a' + at))
	}
	if want := []string{"cba", "cab", "bac", "abc"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for round, at := range Rounds(2, 2) {
		if round == 0 && at == 1 {
			break // A loop may end early.
		}
	}
}

func TestUtilisation(t *testing.T) {
	from := Usage{CPU: time.Second, Wall: 10 * time.Second, Cores: 2}
	for _, c := range []struct {
		to   Usage
		want float64
	}{
		{Usage{CPU: 2 * time.Second, Wall: 11 * time.Second, Cores: 2}, 0.5},
		{Usage{CPU: 9 * time.Second, Wall: 11 * time.Second, Cores: 2}, 1},
		{from, 0},
	} {
		if got := c.to.Since(from).Util; got != c.want {
			t.Errorf("%+v: %v, want %v", c.to, got, c.want)
		}
	}
	u, err := UsageSince(time.Now().Add(-time.Second))
	if err != nil || u.CPU <= 0 || u.Wall < time.Second || u.Cores < 1 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

func TestParseNetDev(t *testing.T) {
	const head = "Inter-|   Receive  |  Transmit\n face |bytes packets |bytes packets\n"
	in, out, err := parseNetDev([]byte(head +
		"    lo: 500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n" +
		"  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n" +
		"cfs:7 1 0 0 0 0 0 0 8 2 0 0 0 0 0 0\n"))
	if err != nil || in != 107 || out != 208 {
		t.Errorf("%d in, %d out, %v", in, out, err)
	}
	for _, bad := range []string{"eth0: 1 2\n", "eth0 1\n",
		"eth0: x 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n"} {
		if _, _, err := parseNetDev([]byte(head + bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// A child's line must be the wanted one, under its key of this build or of an earlier one.
func TestHear(t *testing.T) {
	for line, want := range map[string]string{
		`{"ready":"here"}`: "here", `{"server":"here"}`: "here", `{"answer":"here"}`: "", `{"ready":1}`: "",
	} {
		spawn := func(child.Role, affinity.Set) *exec.Cmd {
			return exec.Command("sh", "-c", "read job; echo '"+line+"'; read end")
		}
		c, got, err := Start[string](t.Context(), spawn, "test", nil, struct{}{}, func(string) {})
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, child.ErrFailed) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
		if err == nil {
			c.Stop()
		}
	}
}

// All connections are opened, or none stays open.
func TestDialAll(t *testing.T) {
	for _, failing := range []int{-1, 0, 50, 99} {
		var open atomic.Int64
		conns, err := DialAll(100, func(i int) (closer, error) {
			if i == failing {
				return nil, fmt.Errorf("connection %d", i)
			}
			open.Add(1)
			return func() { open.Add(-1) }, nil
		})
		if failing < 0 && (len(conns) != 100 || open.Load() != 100 || err != nil) {
			t.Errorf("%d connections, %d open: %v", len(conns), open.Load(), err)
		}
		if failing >= 0 && (open.Load() != 0 || err == nil || err.Error() != fmt.Sprintf("connection %d", failing)) {
			t.Errorf("%d failed: %d open, %v", failing, open.Load(), err)
		}
	}
}

type closer func()

func (c closer) Close() error { c(); return nil }
