//go:build linux && servers

package kvpeers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Tag servers requires the servers: a missing one is a failure, which says
// what to install.

// childArg makes this test binary a child: childArg ROLE CPUS.
const childArg = "kvpeers-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == childArg {
		set, err := affinity.Parse(os.Args[3])
		if err == nil {
			err = affinity.Reexec(set)
		}
		if err == nil && child.Role(os.Args[2]) == kv.ServerRole {
			err = kv.ServerMain(context.Background(), os.Stdin, os.Stdout, StartServer)
		} else if err == nil {
			err = kv.ClientMain(context.Background(), os.Stdin, os.Stdout, Dial)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func spawn(string) child.Spawn {
	return func(role child.Role, cpus affinity.Set) *exec.Cmd {
		return exec.Command(os.Args[0], childArg, string(role), cpus.String())
	}
}

func each(t *testing.T, test func(t *testing.T, s *server, dial func() kv.Store)) {
	for _, scheme := range Schemes("") {
		t.Run(scheme, func(t *testing.T) {
			s, err := StartServer(t.Context(), kv.ServerJob{Scheme: scheme, Keys: 1000, ValueBytes: 1 << 20}, nothing)
			if err != nil {
				t.Fatal(err)
			}
			dir := s.(*server).place.dir
			defer func() {
				s.Close()
				if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s remains: %v", dir, err)
				}
			}()
			test(t, s.(*server), func() kv.Store {
				c, err := Dial(t.Context(), kv.ClientJob{Scheme: scheme, Addr: s.Addr()})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				return c
			})
		})
	}
}

func TestStores(t *testing.T) {
	each(t, func(t *testing.T, s *server, dial func() kv.Store) {
		if s.Version() == "" {
			t.Error("no version")
		}
		if u, err := s.Usage(); err != nil || u.Cores < 1 || u.Wall <= 0 {
			t.Errorf("%+v, %v", u, err)
		}
		c := dial()
		if i := c.Info(); i.Transport != s.place.network {
			t.Errorf("%+v", i)
		}
		var keys ycsb.Config
		for i, size := range []int{1, 2, 32, 1024, 100_000, 5 << 20} {
			k := keys.Key(uint64(i))
			if v, err := c.Get(t.Context(), k[:], []byte("before")); !errors.Is(err, kv.ErrNotFound) || string(v) != "before" {
				t.Fatalf("a new key: %d bytes, %v", len(v), err)
			}
			for seq := range uint64(2) {
				want := ycsb.Value(k, seq, size)
				if err := c.Put(t.Context(), k[:], want); err != nil {
					t.Fatal(err)
				}
				for _, room := range []int{6, 1000} {
					v, err := c.Get(t.Context(), k[:], append(make([]byte, 0, room), "before"...))
					if rest, ok := bytes.CutPrefix(v, []byte("before")); err != nil || !ok || !bytes.Equal(rest, want) {
						t.Fatalf("%d bytes: %d, %v", size, len(v), err)
					}
				}
			}
		}
		gone := keys.Key(5)
		if err := c.Delete(t.Context(), gone[:]); err != nil {
			t.Error(err)
		}
		if err := c.Delete(t.Context(), gone[:]); !errors.Is(err, kv.ErrNotFound) {
			t.Error(err)
		}
		many := []kv.Request{{Key: keys.Key(2)}, {Key: gone, Value: []byte("room")}, {Key: keys.Key(0)}}
		if err := c.GetMany(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		if !many[0].Found || many[1].Found || !many[2].Found || len(many[0].Value) != 32 || len(many[2].Value) != 1 {
			t.Errorf("%v", many)
		}
	})
}

// Requests are executed in order; and neither side waits for the other when
// requests and answers exceed the sockets' buffers.
func TestPipelines(t *testing.T) {
	each(t, func(t *testing.T, _ *server, dial func() kv.Store) {
		c, ok := dial().(kv.Pipeliner)
		if auto := strings.Contains(t.Name(), "redis-auto"); ok == auto {
			t.Fatalf("is a pipeliner: %v", ok)
		} else if auto {
			return
		}
		var keys ycsb.Config
		var rs []kv.Request
		for i := range 2000 {
			k := keys.Key(uint64(100 + i/2))
			rs = append(rs, kv.Request{Key: k, Value: ycsb.Value(k, 1, 1000+i), Put: true}, kv.Request{Key: k},
				kv.Request{Key: keys.Key(1 << 30)})
			if i%500 == 0 {
				rs = append(rs, kv.Request{Key: k, Value: ycsb.Value(k, 1, 1<<20), Put: true}, kv.Request{Key: k})
			}
		}
		if err := c.Do(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
		written := 0
		for i, r := range rs {
			if r.Put {
				written = len(r.Value)
			} else if r.Found != (r.Key != keys.Key(1<<30)) || r.Found && len(r.Value) != written {
				t.Fatalf("request %d: found %v, %d bytes, want %d", i, r.Found, len(r.Value), written)
			}
		}
	})
}

// Every mix runs on every peer, and all values that it read are right.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		mix   string
		batch int
	}{{"A", 1}, {"B", 1}, {"C", 1}, {"C", 64}, {"D", 1}, {"F", 1}} {
		t.Run(fmt.Sprintf("%s/batch=%d", c.mix, c.batch), func(t *testing.T) {
			w, err := kv.Workload(c.mix, "")
			if err != nil {
				t.Fatal(err)
			}
			w.Keys, w.ValueBytes, w.LargestValueBytes, w.Seed = 200, 28, 200, 1
			cfg := kv.Config{
				Schemes: Schemes(""), Workload: w, Clients: 2, InFlight: 8, Batch: c.batch, Repeat: 1,
				Warmup: 10 * time.Millisecond, Duration: 200 * time.Millisecond,
			}
			if c.batch > 1 {
				cfg.InFlight = 1
			}
			rows, err := kv.Run(t.Context(), []kv.Config{cfg}, spawn, Schemes(""), nothing, func(kv.Row) {})
			if err != nil || len(rows) != len(Schemes("")) {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			for i, r := range rows {
				if r.Scheme != Schemes("")[i] || !strings.HasSuffix(r.Scheme, r.Transport) || r.Version == "" || r.OpsPerS <= 0 ||
					r.ByOp["read"].Count == 0 || r.Checked == 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// A client detects that its server has died.
func TestServerDies(t *testing.T) {
	each(t, func(t *testing.T, s *server, dial func() kv.Store) {
		c, k := dial(), new(ycsb.Config).Key(1)
		if err := c.Put(t.Context(), k[:], []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if v, err := c.Get(t.Context(), k[:], nil); err == nil || errors.Is(err, kv.ErrNotFound) {
			t.Errorf("a dead server answers %q, %v", v, err)
		}
		if _, err := s.Usage(); err == nil {
			t.Error("a dead server uses time")
		}
	})
}
