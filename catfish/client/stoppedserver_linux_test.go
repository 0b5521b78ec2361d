package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(b), ") ")
	return err == nil && strings.HasPrefix(after, "T")
}

// TestStoppedServerAnswers: clients whose answers are written, and clients that fetch
// them, wait while the server's process is stopped. They get each answer when it
// continues, and continue with another process if it was killed meanwhile. Over shm, and
// over verbs, clients that fetch still read the memory of the stopped process.
func TestStoppedServerAnswers(t *testing.T) {
	ps := []path{{name: "tcp", transport: model.TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "fetch"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
	}
	k := newKilledServer(t, disk.SyncAlways)
	k.start()
	defer func() { k.kill() }()
	k.ready()
	var all []*stopClient
	for i, p := range ps {
		o := p.options()
		o.Logger, o.DialTimeout = quiet(), time.Minute
		o.OnRestart = func(context.Context, ServerInfo, ServerInfo) error { return nil } // the server has kept all data
		c, err := Dial(t.Context(), k.addr, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		of, err := c.Collection(testKept)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			for n := range stopSquares {
				if err := of.Insert(t.Context(), square(float64(n), 0), uint64(n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		all = append(all, &stopClient{path: p, c: of})
	}
	const rounds = 4 // the last one kills the server
	for round := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		var searching sync.WaitGroup
		for _, c := range all {
			c.begin(ctx, t, &searching)
		}
		k.wait(all)
		if err := k.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for !stopped(k.cmd.Process.Pid) {
			runtime.Gosched()
		}
		if round == rounds-1 {
			k.kill()
			k.start()
			k.ready()
		} else if err := k.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		k.wait(all)
		cancel()
		searching.Wait()
	}
	for _, c := range all {
		n := c.c.Counters()
		t.Logf("%s: %d searches, %d repeated, %d reads of answers, %d in vain, %d changes", c.name, c.done.Load(),
			n.Retried, n.AnswerReads, n.AnswersMissed, n.AnswerChanges)
		checkWays(t, c.path, c.c)
	}
}

const stopSquares = 100

// stopClient searches among stopSquares.
type stopClient struct {
	path
	c    *Client
	done atomic.Int64 // searches
}

// begin starts four goroutines, which search until ctx is done.
func (c *stopClient) begin(ctx context.Context, t *testing.T, searching *sync.WaitGroup) {
	for range 4 {
		searching.Go(func() {
			for ctx.Err() == nil {
				q, want := square(float64(rand.IntN(stopSquares-1))+0.5, 0.5), 2
				if rand.IntN(8) == 0 { // many lines
					q, want = rstar.Rect{MaxX: stopSquares, MaxY: 1}, stopSquares
				}
				items, err := c.c.Search(ctx, q)
				if ctx.Err() != nil {
					return
				}
				if errors.Is(err, model.ErrNotReady) { // the server is loading its data
					continue
				}
				if err != nil || len(items) != want {
					t.Errorf("%s: %d squares, want %d, %v", c.name, len(items), want, err)
					return
				}
				c.done.Add(1)
			}
		})
	}
}

// wait waits until each client has made some more searches.
func (k *killedServer) wait(all []*stopClient) {
	k.t.Helper()
	for _, c := range all {
		from := c.done.Load()
		eventually(k.t, c.name+" has answers", func() bool { return k.t.Failed() || c.done.Load() >= from+20 })
	}
}
