package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/rstar"
)

// childArg makes this test binary a child process over a fake system:
// childArg ROLE FAULT CPUS.
const childArg = "bench-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == childArg {
		if err := fakeChild(child.Role(os.Args[2]), os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// fakeSpawn starts this test binary with a fault: "" for none.
func fakeSpawn(fault string) child.Spawn {
	return func(role child.Role, cpus affinity.Set) *exec.Cmd {
		return exec.Command(os.Args[0], childArg, string(role), fault, cpus.String())
	}
}

func fakeChild(role child.Role, fault, cpus string) error {
	set, err := affinity.Parse(cpus)
	if err == nil {
		err = affinity.Reexec(set)
	}
	if err != nil {
		return err
	}
	if fault == "panic-"+string(role) {
		panic("told to")
	}
	if role == ServerRole {
		return ServerMain(context.Background(), os.Stdin, os.Stdout,
			func(_ context.Context, job ServerJob, note func(string)) (Server, error) {
				if fault == "load" {
					return nil, errors.New("no such data set")
				}
				note("loading")
				return fakeServer{job}, nil
			})
	}
	return ClientMain(context.Background(), os.Stdin, os.Stdout,
		func(_ context.Context, job ClientJob) (Conn, error) {
			if fault == "dial" {
				return nil, errors.New("nobody there")
			}
			return newFakeConn(job, fault), nil
		})
}

type fakeServer struct{ job ServerJob }

func (s fakeServer) Addr() string         { return "fake" }
func (s fakeServer) NodeBytes() int       { return 1984 }
func (s fakeServer) Len() int             { return s.job.Objects }
func (s fakeServer) Bounds() rstar.Rect   { return rstar.Rect{MaxX: 2, MaxY: 4} }
func (s fakeServer) Transports() []string { return []string{"fake"} }
func (s fakeServer) Close() error         { return nil }

// fakeConn answers every search with three objects that depend on the
// query only, and keeps what was inserted in a map.
type fakeConn struct {
	job      ClientJob
	fault    string
	searches atomic.Uint64
	mu       sync.Mutex
	objects  map[uint64]rstar.Rect
}

func newFakeConn(job ClientJob, fault string) *fakeConn {
	return &fakeConn{job: job, fault: fault, objects: map[uint64]rstar.Rect{}}
}

func (c *fakeConn) SearchAppend(ctx context.Context, dst []rstar.Item, q rstar.Rect) ([]rstar.Item, error) {
	n := c.searches.Add(1)
	if err := q.Validate(); err != nil {
		return dst, err
	}
	if !c.job.Bounds.Contains(q) {
		return dst, fmt.Errorf("%v lies outside %v", q, c.job.Bounds)
	}
	if c.fault == "search" && n > 20 {
		return dst, errors.New("connection lost")
	}
	for i := range uint64(3) {
		dst = append(dst, rstar.Item{Rect: q, ID: i})
	}
	if c.fault == "flicker" && n > 200 ||
		c.fault == "offload-misses" && c.job.Policy == "offload" {
		dst = dst[:len(dst)-1]
	}
	return dst, ctx.Err()
}

func (c *fakeConn) Nearest(ctx context.Context, x, y float64, k int) (int, error) {
	return k, ctx.Err()
}

func (c *fakeConn) Insert(_ context.Context, r rstar.Rect, id uint64) error {
	if c.fault == "late" {
		<-time.After(100 * time.Millisecond) // five measurements
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.objects[id]; ok {
		return fmt.Errorf("id %d inserted twice", id)
	}
	c.objects[id] = r
	return r.Validate()
}

func (c *fakeConn) Delete(_ context.Context, r rstar.Rect, id uint64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have, ok := c.objects[id]
	delete(c.objects, id)
	return ok && have == r, nil
}

func (c *fakeConn) Update(_ context.Context, from, to rstar.Rect, id uint64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have, ok := c.objects[id]
	c.objects[id] = to
	return ok && have == from, nil
}

// Counters: offload needs 2 round trips, 5 reads, 700 bytes a search;
// everything else 1, 0 and 100.
func (c *fakeConn) Counters() Counters {
	n := c.searches.Load()
	if c.job.Policy == "offload" {
		return Counters{Offloaded: n, RoundTrips: 2 * n, Reads: 5 * n, Bytes: 700 * n}
	}
	return Counters{Fast: n, RoundTrips: n, Bytes: 100 * n}
}

func (c *fakeConn) Gauges() Gauges { return Gauges{Busy: 1, Left: 2, ServerUtil: 0.5} }

func (c *fakeConn) Info() Info {
	return Info{Transport: c.job.Transport, Policy: c.job.Policy, NodeBytes: 1984}
}

func (c *fakeConn) Close() error { return nil }
