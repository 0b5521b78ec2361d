//go:build linux && servers

package kvpeers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/catfish-index/catfish/datasets/ycsb"
	"github.com/catfish-index/catfish/internal/affinity"
)

// Whoever gives tag servers asks for the servers: that one is not there is a
// failure, which says what to install.

func each(t *testing.T, test func(t *testing.T, name, transport string)) {
	for _, name := range Names() {
		for _, transport := range []string{TCP, Unix} {
			t.Run(name+"/"+transport, func(t *testing.T) { test(t, name, transport) })
		}
	}
}

func TestConn(t *testing.T) {
	each(t, func(t *testing.T, name, transport string) {
		cores, err := affinity.Available()
		if err != nil {
			t.Fatal(err)
		}
		s, err := Start(t.Context(), name, transport, cores[:1], 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		dir := s.place.dir
		defer func() {
			s.Stop()
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s remains: %v", dir, err)
			}
		}()
		if s.version == "" {
			t.Error("no version")
		}
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		var keys ycsb.Config
		for i, size := range []int{1, 2, 32, 1024, 100_000, 5 << 20} {
			k := keys.Key(uint64(i))
			if v, err := Get(t.Context(), conn, k); err != nil || v != nil {
				t.Fatalf("a new key: %d bytes, %v", len(v), err)
			}
			for seq := range uint64(2) {
				want := ycsb.Value(k, seq, size)
				if err := Set(t.Context(), conn, k, want); err != nil {
					t.Fatal(err)
				}
				if v, err := Get(t.Context(), conn, k); err != nil || !bytes.Equal(v, want) {
					t.Fatalf("%d bytes: %d, %v", size, len(v), err)
				}
			}
		}

		// In order; and neither side waits for the other when requests and
		// answers are more than sockets take.
		var rs []Request
		for i := range 2000 {
			k := keys.Key(uint64(100 + i/2))
			rs = append(rs, Request{Key: k, Value: ycsb.Value(k, 1, 1000+i), Set: true}, Request{Key: k},
				Request{Key: keys.Key(4)}, Request{Key: keys.Key(1 << 30)})
			if i%500 == 0 {
				rs = append(rs, Request{Key: k, Value: ycsb.Value(k, 1, 1<<20), Set: true}, Request{Key: k})
			}
		}
		if err := conn.Do(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
		written := 0
		for i, r := range rs {
			switch {
			case r.Set:
				written = len(r.Value)
			case r.Key == keys.Key(4):
				if _, err := ycsb.CheckValue(r.Key, r.Value); !r.Found || err != nil {
					t.Fatal(i, err)
				}
			case r.Found != (r.Key != keys.Key(1<<30)) || r.Found && len(r.Value) != written:
				t.Fatalf("request %d: found %v, %d bytes, want %d", i, r.Found, len(r.Value), written)
			}
		}

		many := []Request{{Key: keys.Key(2)}, {Key: keys.Key(1 << 30), Value: []byte("room")}, {Key: keys.Key(0)}}
		if err := conn.GetMany(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		if !many[0].Found || many[1].Found || !many[2].Found || len(many[0].Value) != 32 || len(many[2].Value) != 1 {
			t.Errorf("%v", many)
		}
	})
}

// Every mix runs on every peer, and every value that was read was right.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		mix       string
		transport string
		batch     int
	}{{"A", Unix, 1}, {"A", TCP, 1}, {"B", TCP, 1}, {"C", Unix, 1}, {"C", Unix, 64}, {"D", Unix, 1}, {"F", TCP, 1}} {
		t.Run(fmt.Sprintf("%s/%s/batch=%d", c.mix, c.transport, c.batch), func(t *testing.T) {
			cfg := testConfig(t, c.mix)
			cfg.Transport, cfg.Batch = c.transport, c.batch
			if c.batch > 1 {
				cfg.InFlight = 1
			}
			notes := 0
			rows, err := Run(t.Context(), cfg, func(string) { notes++ })
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != len(Names()) || notes != len(rows)*(1+cfg.Repeat) {
				t.Fatalf("%d rows, %d notes", len(rows), notes)
			}
			for i, r := range rows {
				if r.Scheme != Names()[i] || r.OpsPerS <= 0 || len(r.Runs) != cfg.Repeat || r.ByOp["read"].Count == 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// A server that dies during a run ends it with an error.
func TestServerDies(t *testing.T) {
	each(t, func(t *testing.T, name, transport string) {
		cfg := testConfig(t, "A")
		s, err := Start(t.Context(), name, transport, nil, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		if err := load(t.Context(), s, &cfg.Workload); err != nil {
			t.Fatal(err)
		}
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c, err := newClient(&cfg, conn, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.once(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Process.Kill()
		<-s.ended
		if err := c.once(t.Context()); err == nil {
			t.Error("a dead server answers")
		}
	})
}
