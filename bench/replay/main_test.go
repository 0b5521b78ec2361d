package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/rstar"
)

// childArg makes this test binary a child process over a fake system:
// childArg ROLE FAULT.
const childArg = "replay-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == childArg {
		if err := fakeChild(child.Role(os.Args[2]), os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// fakeSpawn starts this test binary with a fault: "" for none.
func fakeSpawn(fault string) child.Spawn {
	return func(role child.Role, _ affinity.Set) *exec.Cmd {
		return exec.Command(os.Args[0], childArg, string(role), fault)
	}
}

func fakeChild(role child.Role, fault string) error {
	if fault == "panic-"+string(role) {
		panic("told to")
	}
	if role == bench.ServerRole {
		return bench.ServerMain(context.Background(), os.Stdin, os.Stdout,
			func(_ context.Context, job bench.ServerJob, note func(string)) (bench.Server, error) {
				if fault == "load" {
					return nil, errors.New("no such data set")
				}
				note("loading")
				return fakeServer{job}, nil
			})
	}
	conns := newScanConns(1, nil) // all of them are one
	return Main(context.Background(), os.Stdin, os.Stdout,
		func(_ context.Context, job Job) (Conn, error) {
			if fault == "dial" {
				return nil, errors.New("nobody there")
			}
			c := conns[0].(*scanConn)
			c.job = job.ClientJob
			return faultyConn{c, fault}, nil
		})
}

// faultyConn is a scanConn with a fault.
type faultyConn struct {
	*scanConn
	fault string
}

func (c faultyConn) SearchLimit(ctx context.Context, dst []rstar.Item, q rstar.Rect, limit int) ([]rstar.Item, error) {
	if c.fault == "search" {
		return dst, errors.New("connection lost")
	}
	dst, err := c.scanConn.SearchLimit(ctx, dst, q, limit)
	if c.fault == "misses" || c.fault == c.job.Policy+"-misses" {
		dst = dst[:len(dst)-1]
	}
	return dst, err
}

func (c faultyConn) InsertMany(ctx context.Context, items []rstar.Item) (int, error) {
	if c.fault == "insert" {
		return 10, errors.New("connection lost")
	}
	return c.scanConn.InsertMany(ctx, items)
}

type fakeServer struct{ job bench.ServerJob }

func (s fakeServer) Addr() string         { return "fake" }
func (s fakeServer) NodeBytes() int       { return 1984 }
func (s fakeServer) Len() int             { return s.job.Objects }
func (s fakeServer) Bounds() rstar.Rect   { return rstar.Rect{MaxX: 2, MaxY: 4} }
func (s fakeServer) Transports() []string { return []string{"fake"} }
func (s fakeServer) Close() error         { return nil }
